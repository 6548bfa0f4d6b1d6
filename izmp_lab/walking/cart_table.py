"""The cart-table model: which motion of the centre of mass has a given ZMP.

A point mass on a massless table (Kajita et al., 2003) has its ZMP p where

    (z − p_z) ẍ = (g + z̈) (x − p_x),    likewise in y.

Written down for all instants of a plan, with the second difference in the place of ẍ, these are
tridiagonal systems: the solution looks ahead over the whole plan (full preview).
"""

import numpy as np
from scipy.linalg import solve_banded

from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_dynamics.base.errors import ShapeError


def com_over_zmp(zmp: Array, height: Array, time_step: float, gravity: float = GRAVITY) -> Array:
    """Find the horizontal motion of the centre of mass that has a ZMP.

    It starts above the first ZMP and ends above the last one.

    Args:
        zmp: (T, 3) in the world [m].
        height: (T,) z of the centre of mass in the world [m].
        time_step: [s].
        gravity: magnitude of gravity [m/s²].

    Returns:
        (T, 3) centre of mass [m]; its third column is `height`.
    """
    if height.shape != (len(zmp),):
        raise ShapeError('height', f'({len(zmp)},)', height.shape)
    coupling = _coupling(zmp, height, time_step, gravity)
    bands = np.zeros((3, len(zmp)))
    bands[1] = 1.0 + 2.0 * coupling
    bands[0, 2:] = -coupling[1:-1]
    bands[2, :-2] = -coupling[1:-1]
    bands[1, [0, -1]] = 1.0
    return np.column_stack([solve_banded((1, 1), bands, zmp[:, :2]), height])


def _coupling(zmp: Array, height: Array, time_step: float, gravity: float) -> Array:
    """(T,) (z − p_z) / (g + z̈) / Δt² [-]."""
    rise = np.zeros(len(height))
    rise[1:-1] = (height[2:] - 2.0 * height[1:-1] + height[:-2]) / time_step**2
    coupling: Array = (height - zmp[:, 2]) / (gravity + rise) / time_step**2
    return coupling
