"""Figures and tables of papers, made again from simulated walks; metrics for recordings."""
