"""Dynamics and imaginary zero-moment point of legged robots from noisy, unfiltered sensors."""

__version__ = '0.1.0'
