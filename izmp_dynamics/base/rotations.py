"""Conversion of rotations: matrices, quaternions, roll-pitch-yaw, SciPy's rotations.

SciPy's are imported where they are needed: that takes 40 MB and as long as numpy and numba do.
"""

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import kernel

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


def from_matrices(R: Array) -> 'Rotation':
    """Make rotations of one matrix (3, 3) or of several (T, 3, 3), also of frozen arrays.

    SciPy before 1.15 takes no read-only array, and its `from_matrix` looks for matrices that are
    none, which takes several times as long.
    """
    from scipy.spatial.transform import Rotation

    one = R.ndim == 2
    return Rotation.from_quat(quaternion_of_matrix(R) if one else quaternions_of_matrices(R))


def from_rpy(rpy: npt.ArrayLike) -> Array:
    """Make the matrix (3, 3) of URDF's roll, pitch, yaw (3,) [rad]."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a), math.cos(a)) for a in np.asarray(rpy).tolist())
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotated(R: Array, vectors: Array) -> Array:
    """R v (K, d) of matrices (K, d, 3) and vectors (K, 3); np.einsum takes longer."""
    found: Array = R[:, :, 0] * vectors[:, :1]
    found += R[:, :, 1] * vectors[:, 1:2]
    found += R[:, :, 2] * vectors[:, 2:]
    return found


def rotated_back(R: Array, vectors: Array) -> Array:
    """Rᵀ v (K, d) of matrices (K, 3, d) and vectors (K, 3)."""
    return rotated(R.swapaxes(1, 2), vectors)


def angles(R: Array) -> Array:
    """Angles (T,) by which matrices (T, 3, 3) turn [rad], 0 to π."""
    twice_sine = np.linalg.norm(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=0
    )
    turned: Array = np.arctan2(twice_sine, np.trace(R, axis1=1, axis2=2) - 1.0)
    return turned


def to_rpy(R: Array) -> tuple[float, float, float]:
    """Return URDF's roll, pitch, yaw [rad] of a rotation matrix (3, 3)."""
    with warnings.catch_warnings():  # a pitch of 90°: one of many answers, and it is right
        warnings.simplefilter('ignore', UserWarning)
        roll, pitch, yaw = from_matrices(R).as_euler('xyz').tolist()
    return roll, pitch, yaw


def quaternion_of_matrix(R: Array) -> tuple[float, float, float, float]:
    """Convert a rotation matrix (3, 3) to x, y, z, w; the largest of them is positive."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    squares = (1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i)
    largest = max(range(4), key=squares.__getitem__)
    x, y, z, w = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )[largest]
    scale = 0.5 / math.sqrt(squares[largest])
    return scale * x, scale * y, scale * z, scale * w


def quaternions_of_matrices(R: Array) -> Array:
    """Convert matrices (…, 3, 3) to quaternions (…, 4); `quaternion_of_matrix` for many."""
    (a, b, c), (d, e, f), (g, h, i) = np.moveaxis(np.asarray(R), (-2, -1), (0, 1))
    rows = np.array(
        [
            [1.0 + a - e - i, b + d, c + g, h - f],
            [b + d, 1.0 - a + e - i, f + h, c - g],
            [c + g, f + h, 1.0 - a - e + i, d - b],
            [h - f, c - g, d - b, 1.0 + a + e + i],
        ]
    )
    largest = np.argmax([rows[k, k] for k in range(4)], axis=0)
    chosen = np.take_along_axis(rows, largest[None, None], axis=0)[0]
    quaternions: Array = np.moveaxis(chosen / np.linalg.norm(chosen, axis=0), 0, -1)
    return quaternions


def matrices_from_quaternions(quaternions_xyzw: Array) -> Array:
    """Convert quaternions (T, 4), of any length but zero, to rotation matrices (T, 3, 3)."""
    matrices = np.empty((len(quaternions_xyzw), 3, 3))
    _write(quaternions_xyzw, matrices)
    return matrices


@kernel
def _write(quaternions_xyzw: Array, matrices: Array) -> None:
    for t in range(len(quaternions_xyzw)):
        matrix = matrices[t]
        a, b, c, d = quaternions_xyzw[t]
        length = np.sqrt(a * a + b * b + c * c + d * d)
        x, y, z, w = a / length, b / length, c / length, d / length
        matrix[0, 0] = 1.0 - 2.0 * (y * y + z * z)
        matrix[0, 1] = 2.0 * (x * y - w * z)
        matrix[0, 2] = 2.0 * (x * z + w * y)
        matrix[1, 0] = 2.0 * (x * y + w * z)
        matrix[1, 1] = 1.0 - 2.0 * (x * x + z * z)
        matrix[1, 2] = 2.0 * (y * z - w * x)
        matrix[2, 0] = 2.0 * (x * z - w * y)
        matrix[2, 1] = 2.0 * (y * z + w * x)
        matrix[2, 2] = 1.0 - 2.0 * (x * x + y * y)
