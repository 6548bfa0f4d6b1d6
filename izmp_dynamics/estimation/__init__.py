"""What the motion says that no sensor measures: which feet carry load, and how much of it."""
