"""Balancing on a moving ground: seesaw, coupled dynamics, momentum controllers (Nava et al.)."""
