"""The set of capture points from which the feet can bring a robot to rest.

While the centre of pressure z stays in the support polygon S(t), ξ̇ = ω (ξ − z). So ξ can be
brought to rest exactly if it is a mean of the centres of pressure to come,

    ξ = ∫ ω e^(−ω t) z(t) dt with z(t) in S(t),   V = ⊕ w_p S_p,   w_p = e^(−ω t_p) − e^(−ω t_p+1),

a Minkowski sum of the support polygons of the phases p, with weights that add to 1 (N-step
capturability: Koolen et al., 2012, with the steps given). Convex sets are added by their support
functions: h(u) = max u·x over the set, for directions u all around.

The functions are kernels for one instant.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.kernel import inlined, kernel

DIRECTIONS = 32
"""Directions in which sets are described; a corner is then at most 0.5 % too far outside."""

_ANGLES = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
ALL_AROUND = frozen(np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1))
"""(U, 2) unit vectors."""


@kernel
def reach(corners: Array, along: Array) -> None:
    """Write the support function (U,) of the hull of corners (V, 2) [m]."""
    along[:] = -np.inf
    for u in range(DIRECTIONS):
        for v in range(len(corners)):
            x = corners[v, 0] * ALL_AROUND[u, 0] + corners[v, 1] * ALL_AROUND[u, 1]
            along[u] = _larger(along[u], x)


@kernel
def reach_of_feet(feet: Array, carries: npt.NDArray[np.bool_], moved: Array, hull: Array) -> None:
    """Write the support function (U,) of the hull of feet that carry, each moved; −∞ without any.

    Args:
        feet: (F, U) support functions of the soles where they are [m].
        carries: (F,) which feet carry.
        moved: (F, 2) where they are then, against where they are [m].
        hull: (U,) out [m].
    """
    hull[:] = -np.inf
    for f in range(len(feet)):
        if carries[f]:
            for u in range(DIRECTIONS):
                shift = moved[f, 0] * ALL_AROUND[u, 0] + moved[f, 1] * ALL_AROUND[u, 1]
                hull[u] = _larger(hull[u], feet[f, u] + shift)


@kernel
def weights(ends: Array, rate: float, shares: Array) -> None:
    """Write the weights (P,) of phases that end at `ends` (P − 1,) from now on [s], with ω [1/s].

    The last phase does not end.
    """
    left = 1.0
    for p in range(len(ends)):
        still = np.exp(-rate * ends[p])
        shares[p] = left - still
        left = still
    shares[len(ends)] = left


@inlined
def _larger(a: float, b: float) -> float:
    """The larger of two numbers; NaN if one of them is."""
    return b if b > a or np.isnan(b) else a
