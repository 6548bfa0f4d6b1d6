"""Conversion of rotation matrices to SciPy's rotations."""

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import Array


def from_matrices(R: Array) -> Rotation:
    """Make rotations of one matrix (3, 3) or of several (T, 3, 3), also of frozen arrays.

    SciPy before 1.15 takes no read-only array.
    """
    return Rotation.from_matrix(np.array(R))
