"""Conversion of rotations: matrices, quaternions, roll-pitch-yaw, SciPy's rotations."""

import warnings

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import Array
from izmp_dynamics.kernel import kernel


def from_matrices(R: Array) -> Rotation:
    """Make rotations of one matrix (3, 3) or of several (T, 3, 3), also of frozen arrays.

    SciPy before 1.15 takes no read-only array.
    """
    return Rotation.from_matrix(np.array(R))


def from_rpy(rpy: npt.ArrayLike) -> Array:
    """Make the matrix (3, 3) of URDF's roll, pitch, yaw (3,) [rad]."""
    matrix: Array = Rotation.from_euler('xyz', np.asarray(rpy, dtype=np.float64)).as_matrix()
    return matrix


def to_rpy(R: Array) -> tuple[float, float, float]:
    """Return URDF's roll, pitch, yaw [rad] of a rotation matrix (3, 3)."""
    with warnings.catch_warnings():  # a pitch of 90°: one of many answers, and it is right
        warnings.simplefilter('ignore', UserWarning)
        roll, pitch, yaw = from_matrices(R).as_euler('xyz').tolist()
    return roll, pitch, yaw


@kernel
def matrices_from_quaternions(quaternions_xyzw: Array) -> Array:
    """Convert quaternions (T, 4), of any length but zero, to rotation matrices (T, 3, 3)."""
    matrices = np.empty((len(quaternions_xyzw), 3, 3))
    for t in range(len(quaternions_xyzw)):
        x, y, z, w = quaternions_xyzw[t] / np.sqrt(np.sum(quaternions_xyzw[t] ** 2))
        matrices[t, 0, 0] = 1.0 - 2.0 * (y * y + z * z)
        matrices[t, 0, 1] = 2.0 * (x * y - w * z)
        matrices[t, 0, 2] = 2.0 * (x * z + w * y)
        matrices[t, 1, 0] = 2.0 * (x * y + w * z)
        matrices[t, 1, 1] = 1.0 - 2.0 * (x * x + z * z)
        matrices[t, 1, 2] = 2.0 * (y * z - w * x)
        matrices[t, 2, 0] = 2.0 * (x * z - w * y)
        matrices[t, 2, 1] = 2.0 * (y * z + w * x)
        matrices[t, 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return matrices
