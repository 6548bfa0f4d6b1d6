"""Webots: worlds made from a URDF, and the controller that lets the robot in them move."""
