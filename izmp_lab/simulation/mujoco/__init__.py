"""MuJoCo: the robot as a model, and walks that it executes."""
