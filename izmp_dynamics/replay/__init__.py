"""A recorded bag through the stages: sensing, dynamics, stability."""
