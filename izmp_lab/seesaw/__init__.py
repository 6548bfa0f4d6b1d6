"""Balancing on a moving ground (Nava et al.): dynamics, controllers, plants, nodes, study."""
