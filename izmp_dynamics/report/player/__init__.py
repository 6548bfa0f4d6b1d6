"""The interactive report: a 3-D scene of the robot and linked time series in the page."""
