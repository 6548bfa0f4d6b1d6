"""The nodes of the laboratory: walking patterns and simulated robots."""
