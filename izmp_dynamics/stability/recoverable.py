"""The set of capture points from which the feet can bring a robot to rest.

While the centre of pressure z stays in the support polygon S(t), ξ̇ = ω (ξ − z). So ξ can be
brought to rest exactly if it is a mean of the centres of pressure to come,

    ξ = ∫ ω e^(−ω t) z(t) dt with z(t) in S(t),   V = ⊕ w_p S_p,   w_p = e^(−ω t_p) − e^(−ω t_p+1),

a Minkowski sum of the support polygons of the phases p, with weights that add to 1 (N-step
capturability: Koolen et al., 2012, with the steps given). Convex sets are added by their support
functions: h(u) = max u·x over the set, for directions u all around.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, frozen

DIRECTIONS = 32
"""Directions in which sets are described; a corner is then at most 0.5 % too far outside."""

_ANGLES = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
ALL_AROUND = frozen(np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1))
"""(U, 2) unit vectors."""


def reach(corners: Array) -> Array:
    """Support functions (…, U) of the hulls of corners (…, V, 2) [m]."""
    along: Array = (corners @ ALL_AROUND.T).max(axis=-2)
    return along


def reach_of_feet(feet: Array, carries: npt.NDArray[np.bool_], moved: Array) -> Array:
    """Support functions (…, U) of the hulls of feet that carry, each moved; −∞ without any.

    Args:
        feet: (…, F, U) support functions of the soles where they are [m].
        carries: (…, F) which feet carry.
        moved: (…, F, 2) where they are then, against where they are [m].
    """
    there = np.where(carries[..., None], feet + moved @ ALL_AROUND.T, -np.inf)
    hull: Array = there.max(axis=-2, initial=-np.inf)
    return hull


def weights(ends: Array, rate: Array) -> Array:
    """Weights (T, P) of phases that end at `ends` (T, P − 1) from now on [s], with ω (T,) [1/s].

    The last phase does not end.
    """
    left = np.exp(-rate[:, None] * ends)
    ones, zeros = np.ones((len(ends), 1)), np.zeros((len(ends), 1))
    shares: Array = np.hstack([ones, left]) - np.hstack([left, zeros])
    return shares
