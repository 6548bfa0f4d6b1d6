"""Samples that cannot be true whatever the robot does: their size gives them away.

Nothing here judges motion: a gate that knew how fast a robot may move would hide what the report
is to show. Only what no sensor of the kind can read is left out. `clock` does so for stamps.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags

LARGEST_JOINT_POSITION = 1e4
"""[rad] or [m]; 1600 turns of a wheel."""

LARGEST_RATE = 100.0
"""[rad/s]; the fastest gyroscopes end at 4000 °/s = 70 rad/s."""

LARGEST_ACCELERATION = 2000.0
"""[m/s²]; 200 g."""

LARGEST_MOTION = np.repeat([LARGEST_RATE, LARGEST_ACCELERATION], 3)
"""Angular velocity [rad/s] and specific force [m/s²] of an IMU (6,)."""

LARGEST_POSITION = 1e8
"""[m]; ECEF coordinates reach 6.4e6."""

LARGEST_POSE = np.repeat([LARGEST_POSITION, np.inf], [3, 4])
"""Position [m] and quaternion (7,)."""

LARGEST_LOAD = 100.0
"""Force and moment of a foot as a multiple of the robot's weight in N and N·m."""


def too_large(values: Array, largest: Array | float) -> Flags:
    """(T,) which samples (T, m) hold a finite number larger than `largest`, one or (m,)."""
    numbers = np.isfinite(values) & (np.abs(values) > largest)
    return np.asarray(numbers.any(axis=1))
