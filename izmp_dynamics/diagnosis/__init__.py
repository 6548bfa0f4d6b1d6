"""What is wrong with inputs and results."""
