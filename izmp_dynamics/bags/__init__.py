"""Reading and writing rosbag2 recordings without a ROS installation."""
