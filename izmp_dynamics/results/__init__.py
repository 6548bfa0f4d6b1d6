"""What an evaluation gives, and how it is stored."""
