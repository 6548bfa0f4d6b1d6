"""Samples of the IMU on the root link: orientations, and gravity added back.

An accelerometer measures the specific force φ = a - g: 9.81 m/s² upwards at rest. The functions
are pure and work on one row as on many, with the same numbers. `sensor_check` judges beforehand
whether the signals are what they should be.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.signals.differences import Mask

NORM_TOLERANCE = 0.01
"""How far the norm of a quaternion may be from one; drivers round to two or three digits."""


def rotations(quaternions_xyzw: Array) -> tuple[Array, Mask]:
    """Convert quaternions to rotation matrices.

    Args:
        quaternions_xyzw: (T, 4), normalised here if nearly of norm one.

    Returns:
        (T, 3, 3), NaN where there is none; (T,) False where the norm is off by more than
        `NORM_TOLERANCE` or a number is not finite.
    """
    quaternions = np.asarray(quaternions_xyzw, dtype=np.float64)
    with np.errstate(over='ignore', invalid='ignore'):  # what overflows is no rotation either
        norms = np.sqrt(np.sum(quaternions * quaternions, axis=1))
    good = np.abs(norms - 1.0) <= NORM_TOLERANCE
    matrices = np.full((len(quaternions), 3, 3), np.nan)
    if good.any():
        matrices[good] = matrices_from_quaternions(quaternions[good])
    return matrices, good


def with_gravity(linear_acceleration: Array, world_R_sensor: Array, gravity: float) -> Array:
    """Add gravity back to accelerations without it: φ = a - g, in sensor axes (T, 3) [m/s²]."""
    upward: Array = world_R_sensor[:, 2, :]
    return linear_acceleration + gravity * upward
