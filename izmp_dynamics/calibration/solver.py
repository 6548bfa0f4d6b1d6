"""Maximum a posteriori by Gauss–Newton: Huber loss, noise by MAD, coloured residuals by blocks.

    ½ Σ ρ(r/σ)/τ + ½ Σ (x/prior)² + λ Σ D(P, P₀)

σ of a vector is 1.4826 times the median of its absolute residuals, over its axes. Residuals that
follow each other are alike: τ, the number of rows that count as one, is the variance of the means
over blocks of `BLOCK` seconds against that of independent rows. D is the log-determinant
divergence of pseudo-inertias (Lee, Wensing, Park 2020).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.block_sums import Blocks
from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.linear import Rows, rows_of
from izmp_dynamics.calibration.noise import noise_of
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.pieces import Pieces, Point
from izmp_dynamics.calibration.residuals import decide_contacts

ITERATIONS = 12
"""At most."""

CONVERGED = 0.02
"""No number moves by more of its standard deviation."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Solution:
    """What was estimated.

    Attributes:
        x: (N,).
        covariance: (N, N), after the data.
        rows: residuals there, by kind.
        point: where they were linearised at last.
        blocks: normal equations of all blocks of time there.
        iterations: how many it took.
    """

    x: Array
    covariance: Array
    rows: tuple[Rows, ...]
    point: Point
    blocks: Blocks
    iterations: int


def estimate(
    stretches: Sequence[Instants],
    layout: Layout,
    fixed: Flags | None = None,
    start: Array | None = None,
    used: Sequence[Flags] | None = None,
    divergence: Divergence | None = None,
    iterations: int = ITERATIONS,
    pieces: Pieces | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Solution:
    """Estimate all parameters of a layout.

    Args:
        stretches: the recording.
        layout: the parameters.
        fixed: (N,) parameters that stay where they start.
        start: (N,) where to begin; zero if None.
        used: (K,) instants of each stretch that count; all if None.
        divergence: keeps the inertias near the URDF's, if there are any.
        iterations: at most, and at least one.
        pieces: the recording in pieces; None for those of this process.
        progress: called with the fraction that is done.
    """
    count = len(layout.parameters)
    x = np.zeros(count) if start is None else start.copy()
    free = np.ones(count, dtype=np.bool_) if fixed is None else ~fixed
    pieces = pieces or Pieces(stretches)
    some = None if used is None else tuple(used)
    for done in range(1, iterations + 1):
        for instants in stretches:
            decide_contacts(instants, layout, x)
        rows = rows_of(stretches, layout, x, used)
        noise = {part.name: noise_of(part) for part in rows}
        rest, air = (tuple(getattr(part, name) for part in stretches) for name in ('rest', 'air'))
        point = Point(layout, x, free, noise, rest, air, some)
        blocks = pieces.blocks(point)
        H, g = blocks.total()
        gradient, hessian = prior_terms(layout, x, divergence)
        H, g = H + hessian, g + gradient
        step, covariance = np.zeros(count), np.zeros((count, count))
        inverse = np.linalg.pinv(H[np.ix_(free, free)], hermitian=True)
        covariance[np.ix_(free, free)] = inverse
        step[free] = -inverse @ g[free]
        if divergence is not None:
            step *= divergence.longest_step(x, step)
        x = x + step
        progress(done / iterations)
        sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if np.all(np.abs(step) <= CONVERGED * sigma + 1e-12):
            break
    return Solution(x, covariance, rows, point, blocks, done)


def prior_terms(layout: Layout, x: Array, divergence: Divergence | None) -> tuple[Array, Array]:
    """(N,) gradient and (N, N) Hessian of the prior."""
    information = 1.0 / layout.priors**2  # of inertias: zero
    gradient, hessian = information * x, np.diag(information)
    if divergence is not None:
        more_gradient, more_hessian = divergence.terms(x)
        gradient, hessian = gradient + more_gradient, hessian + more_hessian
    return gradient, hessian
