"""From raw sensor samples to the kinematic state of the robot."""
