"""Walks and other motions as values: arrays with units that a plant or a robot executes."""
