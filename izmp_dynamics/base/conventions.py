"""Conventions that every module shares; docs/conventions.md explains them with a drawing.

SI units throughout, REP-103 axes (x forward, y left, z up), quaternions (x, y, z, w) as in ROS.
A name like ``root_R_sole`` is the rotation that takes coordinates in the sole frame to
coordinates in the root frame; ``p_sole_in_root`` is a position expressed in the root frame.
A wrench is (force, moment) acting on the robot, about the origin of the frame it is expressed in.
"""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Stamps = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

GRAVITY = 9.80665
"""Standard gravity [m/s²]; a robot file may state another value."""

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second; stamps are int64 nanoseconds."""


def unused_name(name: str, links: Collection[str]) -> str:
    """A name for a frame that no link bears: else its transforms would make a circle."""
    while name in links:
        name = f'izmp_{name}'
    return name


def frozen(values: npt.ArrayLike, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Return a read-only, C-contiguous copy of `values`."""
    array = np.array(values, dtype=dtype, order='C', copy=True)
    array.setflags(write=False)
    return array


def seconds(stamps: Stamps, origin: int | None = None) -> Array:
    """Convert stamps to seconds since `origin` (default: the first stamp).

    Args:
        stamps: (T,) instants [ns].
        origin: instant of zero seconds [ns].

    Returns:
        (T,) [s].
    """
    if origin is None:
        origin = int(stamps[0]) if len(stamps) else 0
    elapsed: Array = (stamps - origin).astype(np.float64) / NANOSECONDS
    return elapsed


def all_finite(values: Array) -> bool:
    """Whether all numbers are finite; for a few of them much faster than np.isfinite."""
    return all(map(math.isfinite, values.ravel().tolist()))


def finite_rows(values: Array) -> npt.NDArray[np.bool_]:
    """(K,) which rows of values (K, d) are finite; by columns, as np.all is slow along few."""
    finite = np.ones(len(values), dtype=np.bool_)
    for column in values.T:
        finite &= np.isfinite(column)
    return finite


def mean_of_corners(corners: Array) -> Array:
    """(K, 3) means of corners (K, V, 3), V > 0; corner by corner, as np.mean is slow over few."""
    total: Array = corners[:, 0].copy()
    for corner in range(1, corners.shape[1]):
        total += corners[:, corner]
    total /= corners.shape[1]
    return total


def cross(a: Array, b: Array) -> Array:
    """Cross product of vectors (…, 3) along the last axis, which are broadcast.

    The numbers of np.cross; for the few rows of a running system several times as fast.
    """
    product = np.empty(np.broadcast_shapes(a.shape, b.shape))
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    product[..., 0] = ay * bz - az * by
    product[..., 1] = az * bx - ax * bz
    product[..., 2] = ax * by - ay * bx
    return product


def skew(a: Array) -> Array:
    """(…, 3, 3) matrices S of vectors (…, 3) with S(a) b = a × b."""
    matrix = np.zeros((*np.shape(a), 3))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    matrix[..., 2, 1], matrix[..., 1, 2] = x, -x
    matrix[..., 0, 2], matrix[..., 2, 0] = y, -y
    matrix[..., 1, 0], matrix[..., 0, 1] = z, -z
    return matrix
