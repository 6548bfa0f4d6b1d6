"""The command `izmp`."""
