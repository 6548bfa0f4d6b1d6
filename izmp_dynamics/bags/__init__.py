"""Reading and writing rosbag2 recordings without a ROS installation.

`reader` and `messages` turn a bag into arrays, `writer` turns arrays into a bag; `examples` makes
messages to write. Below them: `cdr_decoder`, `cdr_layout` and `cdr_walk` (messages ↔ arrays),
`spans` (order in time), `bag_files`, `metadata`, `mcap_*` and `sqlite_*` (containers, whole or
damaged), `typestores` (message types), `bag_place` (complete or not at all).
"""
