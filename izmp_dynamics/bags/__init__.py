"""Reading and writing rosbag2 recordings without a ROS installation.

`reader` and `messages` turn a bag into arrays, `writer` turns arrays into a bag. Below them:
`cdr_decoder` and `cdr_layout` (messages ↔ arrays), `bag_files`,
`metadata`, `mcap_*` and `sqlite_*` (containers, whole or damaged), `typestores` (message types).
"""
