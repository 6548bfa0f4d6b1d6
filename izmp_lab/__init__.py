"""The laboratory: walking patterns, simulated robots, the seesaw, the studies of the papers."""
