"""What every room uses: errors, conventions, vectors, rotations, kernels and their cache."""
