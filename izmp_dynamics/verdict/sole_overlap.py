"""Soles that overlap while both carry load: two bodies cannot, so they are described too large."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.verdict.formatting import mm
from izmp_dynamics.verdict.scene import Scene

ENCODER_ERROR = np.radians(1.0)
"""Error of the zero of a joint in each leg that may bring the soles closer to each other."""

REMEDY = (
    'Check the polygons in the robot file: metres, in the frame of the sole, of one foot each.'
)


class SoleOverlap(NamedTuple):
    """Two soles that overlap.

    Attributes:
        feet: names.
        depth: one would have to be moved by so much to be clear of the other, in the median over
            the instants at which both carry load [m].
    """

    feet: tuple[str, str]
    depth: float

    @property
    def text(self) -> str:
        """Continues a sentence."""
        return (
            f'the soles of {self.feet[0]} and {self.feet[1]} overlap by {mm(self.depth)} while '
            'both carry load (median), which is impossible'
        )


def sole_overlap(scene: Scene) -> SoleOverlap | None:
    """Find the two soles that overlap most; None if none do by more than encoders may be wrong."""
    feet = [foot for foot in scene.evaluation.feet if foot.sole.shape[1] >= 3]
    found = [
        SoleOverlap((one.name, other.name), _median_depth(scene, one, other))
        for one, other in combinations(feet, 2)
    ]
    largest = max(found, key=lambda overlap: overlap.depth, default=None)
    height = scene.evaluation.gravity * scene.time_constant**2
    if largest is None or not largest.depth > 2.0 * ENCODER_ERROR * height:
        return None
    return largest


def _median_depth(scene: Scene, one: Foot, other: Foot) -> float:
    """Median overlap [m] where both feet carry load, negative if apart; −inf if they never do."""
    both = scene.by_rows(lambda rows: one.loaded[rows] & other.loaded[rows])
    instants = scene.sampled(scene.store.true(both))
    depths = overlap_depth(*(scene.soles_in_nif(foot, instants) for foot in (one, other)))
    depths = depths[np.isfinite(depths)]
    return float(np.median(depths)) if len(depths) else -np.inf


def overlap_depth(one: Array, other: Array) -> Array:
    """How deep convex polygons overlap, by the separating axis theorem.

    The depth is smallest across an edge of either, and every edge joins two corners.

    Args:
        one: (S, V, 2) corners in the plane [m], in any order; their hull counts.
        other: (S, W, 2).

    Returns:
        (S,) [m], negative where they are apart; NaN where a corner is.
    """
    edges = [
        polygon[:, second] - polygon[:, first]
        for polygon in (one, other)
        for first, second in [np.triu_indices(polygon.shape[1], k=1)]
    ]
    edge = np.concatenate(edges, axis=1)
    length = np.linalg.norm(edge, axis=-1, keepdims=True)
    across = np.stack([-edge[..., 1], edge[..., 0]], axis=-1)
    across = np.divide(across, length, out=np.zeros_like(across), where=length > 0)
    a, b = (np.einsum('svi,sei->sev', polygon, across) for polygon in (one, other))
    depth = np.minimum(a.max(axis=-1) - b.min(axis=-1), b.max(axis=-1) - a.min(axis=-1))
    smallest: Array = np.where(length[..., 0] == 0, np.inf, depth).min(axis=-1)
    return smallest
