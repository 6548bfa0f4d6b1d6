"""Quadrupeds on ball feet."""
