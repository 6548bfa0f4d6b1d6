"""Plant and controller of the seesaw as ROS 2 nodes."""
