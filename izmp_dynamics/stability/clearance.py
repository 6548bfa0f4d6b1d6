"""How high soles are above each other: whether the joints hold a foot in the air."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.stability.ground_plane import Sole
from izmp_dynamics.stability.sole_motion import SoleMotion

CLEARANCE = 0.005
"""A foot is in the air if its lowest corner is higher above the other sole's plane [m]."""

PlacedSole = Sole | SoleMotion
"""Its place and corners are what counts."""


def above(foot: PlacedSole, ground: PlacedSole) -> Array:
    """(K,) height of the lowest corner of a sole above the plane of another [m]."""
    return lowest_above(foot.corners, ground.p, ground.R[:, :, 2])


def lowest_above(corners: Array, point: Array, normal: Array) -> Array:
    """Return (T,) how high the lowest corner of a sole is above a plane [m].

    Args:
        corners: (T, V, 3) of the sole [m].
        point: (T, 3) on the plane [m], e.g. the origin of another sole.
        normal: (T, 3) unit normal of the plane, e.g. the z axis of that sole.
    """
    heights: Array = np.einsum('tvi,ti->tv', corners - point[:, None], normal).min(axis=1)
    return heights


def clearances(soles: Sequence[PlacedSole]) -> Array:
    """(K, F) height of each of F soles above all others, the lowest [m]; ∞ of a single one."""
    heights = np.full((len(soles[0].p), len(soles)), np.inf)
    for k, sole in enumerate(soles):
        for other, ground in enumerate(soles):
            if other != k:
                heights[:, k] = np.minimum(heights[:, k], above(sole, ground))
    return heights
