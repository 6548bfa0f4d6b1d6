"""How high soles are above each other: whether the joints hold a foot in the air."""

from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.stability.ground_plane import Sole
from izmp_dynamics.stability.sole_motion import SoleMotion

CLEARANCE_WITH_FORCES = 0.005
"""A foot is in the air if its lowest corner is higher above the other sole's plane [m].

Forces must show the same: the foot carries nothing, or the other feet carry the weight.
"""

CLEARANCE_BY_JOINTS = 0.01
"""Likewise where the joints alone must show it, as the forces are doubted [m].

Legs yield, and zeros of encoders are off, by millimetres at the sole.
"""

POINT = 0.05
"""A sole no larger across is a point: how it is turned says nothing about the ground [m]."""

_SEARCHED = 1000  # instants at once

PlacedSole = Sole | SoleMotion
"""Its place and corners are what counts."""


def is_point(corners: Array) -> bool:
    """Whether a sole with these corners (V, 2) or (V, 3) [m] touches the ground with a point."""
    across = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    return bool(across.max(initial=0.0) <= POINT)


def stays_point(corners: Array) -> bool:
    """Whether that is so of a sole with corners (K, V, 3) [m] at K instants; False if unknown."""
    for first in range(0, len(corners), _SEARCHED):
        some = corners[first : first + _SEARCHED]
        known = some[np.isfinite(some).all(axis=(1, 2))]
        if len(known):
            return is_point(known[0])
    return False


def shows_plane(corners: Array) -> bool:
    """Whether the axes of a sole with corners (K, V, 3) are those of the ground: also of a ball.

    Small soles lean with their links.
    """
    return corners.shape[1] == 1 or not stays_point(corners)


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
    return np.asarray(np.einsum('tvi,ti->tv', corners - point[:, None], normal).min(axis=1))


def clearances(soles: Sequence[PlacedSole]) -> Array:
    """(K, F) height of each of F soles above all others, the lowest [m].

    ∞ of a single one; NaN where all others are points that have no plane.
    """
    heights = np.full((len(soles[0].p), len(soles)), np.inf)
    flat = [k for k, sole in enumerate(soles) if shows_plane(sole.corners)]
    for k, sole in enumerate(soles):
        others = [soles[other] for other in flat if other != k]
        if not others and len(soles) > 1:
            heights[:, k] = np.nan
        for ground in others:
            heights[:, k] = np.minimum(heights[:, k], above(sole, ground))
    return heights
