"""URDF and robot file in, frozen arrays for the kernels out."""
