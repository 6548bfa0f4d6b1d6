"""The recording as normal equations, block by block of time: what other data would have given.

The residuals are nearly linear in the parameters, so what a part of the recording gives follows
from one Gauss–Newton step at the result, with the blocks that count: no second estimation is
needed. From such steps come standard deviations (block bootstrap) and predictions of motion that
is held out.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.block_sums import Blocks, Labels, Total, block_labels
from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.solver import Solution, prior_terms

DRAWS = 200
"""Of the bootstrap."""

SEED = 1
"""Of the bootstrap: the same recording gives the same report."""

Flags = npt.NDArray[np.bool_]


def labels_of(rows: tuple[Flags, ...]) -> Labels:
    """Labels of the blocks that instants (K,) of every stretch belong to."""
    return np.concatenate(
        [np.unique(block_labels(k, np.flatnonzero(mine))) for k, mine in enumerate(rows)]
    )


@dataclass(frozen=True)
class Quadratic:
    """Cost of data and prior near a solution x: ½ (y − x)ᵀ H (y − x) + gᵀ (y − x).

    Attributes:
        x: (N,).
        H: (…, N, N); with further axes for as many costs at once.
        g: (…, N).
    """

    x: Array
    H: Array
    g: Array

    @classmethod
    def of(
        cls,
        data: Total,
        layout: Layout,
        solution: Solution,
        divergence: Divergence | None = None,
    ) -> 'Quadratic':
        """Add data, as blocks of the solution have it, and prior."""
        gradient, hessian = prior_terms(layout, solution.x, divergence)
        return cls(solution.x, data.H + hessian, data.g + gradient)

    def least(self, free: Flags) -> Array:
        """(…, N) where it is least; zero of what is not free (N,)."""
        start = np.where(free, self.x, 0.0)
        slope = self.g + self.H @ (start - self.x)
        rows = np.flatnonzero(free)
        step = np.linalg.solve(self.H[..., rows[:, None], rows], slope[..., rows, None])
        y: Array = np.broadcast_to(start, slope.shape).copy()
        y[..., rows] -= step[..., 0]
        return y

    def covariance(self, free: Flags) -> Array:
        """(N, N) inverse of the Hessian of what is free (N,), zero elsewhere."""
        inverse = np.zeros_like(self.H)
        chosen = np.ix_(free, free)
        inverse[chosen] = np.linalg.pinv(self.H[chosen], hermitian=True)
        return inverse


class Minimum:
    """Where a cost is least, and from there where it is with fewer numbers free.

    One factorisation serves all: with C the inverse of the Hessian of what is free, and the
    numbers k zero as well, the minimum y moves by −C[:, k] C[k, k]⁻¹ y[k].

    Args:
        cost: a single one.
        free: (N,) what is not zero.
    """

    def __init__(self, cost: Quadratic, free: Flags) -> None:
        self.y = cost.least(free)
        self._inverse = np.zeros_like(cost.H)
        chosen = np.ix_(free, free)
        self._inverse[chosen] = np.linalg.inv(cost.H[chosen])

    def without(self, columns: npt.NDArray[np.intp]) -> Array:
        """(N,) where it is least with these of the free numbers zero."""
        share = np.linalg.solve(self._inverse[np.ix_(columns, columns)], self.y[columns])
        y: Array = self.y - self._inverse[:, columns] @ share
        y[columns] = 0.0
        return y


def estimate_from(
    data: Total, layout: Layout, solution: Solution, free: Flags, divergence: Divergence | None
) -> Array:
    """(N,) what such data give; as `Quadratic.least`, but with the divergence as it is."""
    if divergence is None:
        return Quadratic.of(data, layout, solution).least(free)
    chosen = np.ix_(free, free)
    x: Array = np.where(free, solution.x, 0.0)
    for _ in range(5):
        gradient, hessian = prior_terms(layout, x, divergence)
        slope = data.g + data.H @ (x - solution.x) + gradient
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve((data.H + hessian)[chosen], slope[free])
        x = x + divergence.longest_step(x, step) * step
    return x


def deviations(
    blocks: Blocks,
    layout: Layout,
    solution: Solution,
    free: Flags,
    divergence: Divergence | None = None,
) -> Array:
    """(N,) standard deviations: the larger of bootstrap and curvature, zero of what is fixed.

    Few blocks tell little about their own scatter: as Student's t has it, the deviations are
    widened so that three of them hold as often as three of a normal distribution.
    """
    count = len(blocks.labels)
    near = Quadratic.of(blocks.total(), layout, solution, divergence)
    curvature = np.sqrt(np.maximum(np.diag(near.covariance(free)), 0.0))
    few = float(scipy.stats.t.ppf(scipy.stats.norm.cdf(3.0), max(1, count - 1))) / 3.0
    if count < 4 or divergence is not None:
        return few * curvature
    random, chance = np.random.default_rng(SEED), np.full(count, 1.0 / count)
    counts = random.multinomial(count, chance, DRAWS).astype(float)
    drawn = Quadratic.of(blocks.totals(counts), layout, solution).least(free)
    spread: Array = 1.4826 * np.median(np.abs(drawn - near.least(free)), axis=0)
    sigma = np.minimum(few * np.maximum(spread, curvature), layout.priors)
    known: Array = np.where(free, sigma, 0.0)
    return known
