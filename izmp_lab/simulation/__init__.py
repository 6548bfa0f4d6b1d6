"""The simulated robot with its sensors and the truth."""
