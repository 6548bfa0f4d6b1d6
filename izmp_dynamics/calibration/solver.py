"""Maximum a posteriori by Gauss–Newton: Huber loss, noise by MAD, coloured residuals by blocks.

    ½ Σ ρ(r/σ)/τ + ½ Σ (x/prior)²

σ of a vector is 1.4826 times the median of its absolute residuals, over its axes. Residuals that
follow each other are alike: τ, the number of rows that count as one, is the variance of the means
over blocks of `BLOCK` seconds against that of independent rows.

The residuals are nearly linear in the parameters, so what a part of the recording gives follows
from one Gauss–Newton step at the result, with the normal equations of the blocks that count: no
second estimation is needed. From such steps come standard deviations (block bootstrap) and
predictions of motion that is held out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.linear import (
    Labels,
    Noise,
    Rows,
    block_labels,
    linearised,
    noise_of,
    rows_of,
    weigh,
)
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.residuals import decide_contacts
from izmp_dynamics.calibration.segments import Instants

ITERATIONS = 12
"""At most."""

CONVERGED = 0.02
"""No number moves by more of its standard deviation."""

DRAWS = 200
"""Of the bootstrap."""

PARTS = 4
"""Of the recording, of which each is left out once to see what that changes."""

SEED = 1
"""Of the bootstrap: the same recording gives the same report."""

Flags = npt.NDArray[np.bool_]
Normal = tuple[Array, Array]
"""Normal equations H (…, N, N) and g (…, N) of data, about a solution."""


@dataclass(frozen=True)
class Blocks:
    """Normal equations of B blocks of time, about a solution.

    Attributes:
        labels: (B,) see `block_labels`.
        H: (B, N, N).
        g: (B, N).
    """

    labels: Labels
    H: Array
    g: Array

    def without(self, labels: Labels) -> 'Blocks':
        """The other blocks."""
        rows = ~np.isin(self.labels, labels)
        return Blocks(self.labels[rows], self.H[rows], self.g[rows])

    def total(self) -> Normal:
        """Sum of all blocks."""
        return self.H.sum(axis=0), self.g.sum(axis=0)


@dataclass(frozen=True)
class Solution:
    """What was estimated.

    Attributes:
        x: (N,).
        covariance: (N, N), after the data.
        rows: residuals there, by kind.
        layout: the parameters.
        about: (N,) where the residuals were linearised last.
        blocks: normal equations of all blocks of time there.
        contacts: (K, F) of every segment, which feet rest and which are in the air.
    """

    x: Array
    covariance: Array
    rows: tuple[Rows, ...]
    layout: Layout
    about: Array
    blocks: Blocks
    contacts: tuple[tuple[Flags, Flags], ...]


def estimate(
    segments: Sequence[Instants],
    layout: Layout,
    fixed: Flags | None = None,
    start: Array | None = None,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Solution:
    """Estimate all parameters of a layout.

    Args:
        segments: the recording, whose contacts are decided.
        layout: the parameters.
        fixed: (N,) parameters that stay where they start.
        start: (N,) where to begin; zero if None.
        progress: called with the fraction that is done.
    """
    count = len(layout.parameters)
    x = np.zeros(count) if start is None else start.copy()
    free = np.ones(count, dtype=np.bool_) if fixed is None else ~fixed
    for done in range(1, ITERATIONS + 1):
        for instants in segments:
            decide_contacts(instants, layout, x)
        rows, about = rows_of(segments, layout, x), x
        noise = {part.name: noise_of(part) for part in rows}
        blocks = _blocks(segments, layout, x, free, noise)
        cost = Quadratic.of(blocks.total(), layout, x)
        covariance = cost.covariance(free)
        step = -covariance @ cost.g
        x = x + step
        progress(done / ITERATIONS)
        sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if np.all(np.abs(step) <= CONVERGED * sigma + 1e-12):
            break
    contacts = tuple((part.rest, part.air) for part in segments)
    return Solution(x, covariance, rows, layout, about, blocks, contacts)


def _blocks(
    segments: Sequence[Instants], layout: Layout, x: Array, free: Flags, noise: Mapping[str, Noise]
) -> Blocks:
    """Normal equations of all blocks of time."""
    labels, H, g = [], [], []
    for linear in linearised(segments, layout, x, free):
        rows = [(part, part.labels, weigh(part, noise[part.name])) for part in linear]
        for label in np.unique(np.concatenate([of for _, of, _ in rows])):
            labels.append(label)
            H.append(np.zeros((len(x), len(x))))
            g.append(np.zeros(len(x)))
            for part, of, weights in rows:
                J = part.jacobian[of == label].reshape(-1, len(x))
                weighted = J * weights[of == label].reshape(-1, 1)
                H[-1] += weighted.T @ J
                g[-1] += weighted.T @ part.values[of == label].reshape(-1)
    return Blocks(np.array(labels), np.array(H), np.array(g))


def labels_of(rows: Sequence[Flags]) -> Labels:
    """Labels of the blocks that instants (K,) of every segment belong to."""
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
    def of(cls, data: Normal, layout: Layout, x: Array) -> 'Quadratic':
        """Add data, as the blocks of a solution x (N,) have it, and prior."""
        information = 1.0 / layout.priors**2
        return cls(x, data[0] + np.diag(information), data[1] + information * x)

    def least(self, free: Flags) -> Array:
        """(…, N) where it is least; zero of what is not free (N,)."""
        start = np.where(free, self.x, 0.0)
        slope = self.g + self.H @ (start - self.x)
        rows = np.flatnonzero(free)
        step = np.linalg.solve(self.H[..., rows[:, None], rows], slope[..., rows, None])
        y: Array = np.broadcast_to(start, slope.shape).copy()
        y[..., rows] -= step[..., 0]
        return y

    def least_without(self, free: Flags, items: Iterable[npt.NDArray[np.intp]]) -> list[Array]:
        """(N,) where a single cost is least, and where with the numbers of each item zero as well.

        One factorisation serves all: with C the inverse of the Hessian of what is free (N,), and
        the numbers k zero as well, the minimum y moves by −C[:, k] C[k, k]⁻¹ y[k].
        """
        inverse, y = np.zeros_like(self.H), self.least(free)
        inverse[np.ix_(free, free)] = np.linalg.inv(self.H[np.ix_(free, free)])
        found = [y]
        for k in items:
            found.append(y - inverse[:, k] @ np.linalg.solve(inverse[np.ix_(k, k)], y[k]))
            found[-1][k] = 0.0
        return found

    def covariance(self, free: Flags) -> Array:
        """(N, N) inverse of the Hessian of what is free (N,), zero elsewhere."""
        inverse = np.zeros_like(self.H)
        chosen = np.ix_(free, free)
        inverse[chosen] = np.linalg.pinv(self.H[chosen], hermitian=True)
        return inverse


def deviations(blocks: Blocks, layout: Layout, solution: Solution, free: Flags) -> Array:
    """(N,) standard deviations: the larger of bootstrap and curvature, zero of what is fixed.

    Few blocks tell little about their own scatter: as Student's t has it, the deviations are
    widened so that three of them hold as often as three of a normal distribution.
    """
    count = len(blocks.labels)
    near = Quadratic.of(blocks.total(), layout, solution.x)
    curvature = np.sqrt(np.maximum(np.diag(near.covariance(free)), 0.0))
    few = float(scipy.stats.t.ppf(scipy.stats.norm.cdf(3.0), max(1, count - 1))) / 3.0
    if count < 4:
        return few * curvature
    random, chance = np.random.default_rng(SEED), np.full(count, 1.0 / count)
    counts = random.multinomial(count, chance, DRAWS).astype(float)
    resampled = np.tensordot(counts, blocks.H, axes=1), counts @ blocks.g
    drawn = Quadratic.of(resampled, layout, solution.x).least(free)
    spread: Array = 1.4826 * np.median(np.abs(drawn - near.least(free)), axis=0)
    sigma = np.minimum(few * np.maximum(spread, curvature), layout.priors)
    known: Array = np.where(free, sigma, 0.0)
    return known


def scatter(blocks: Blocks, layout: Layout, solution: Solution, free: Flags) -> Array:
    """(N,) standard deviations by the jackknife, zero of what is fixed.

    Each of some parts of the recording is left out in turn, and each half: errors may be alike for
    longer than a block, which the bootstrap does not see, and for longer than a part.
    """
    found = np.zeros(len(layout.parameters))
    if len(blocks.labels) < PARTS:
        return found
    for count in (2, PARTS):
        parts = np.array_split(np.arange(len(blocks.labels)), count)
        H, g = (
            np.stack([np.delete(of, part, axis=0).sum(axis=0) for part in parts])
            for of in (blocks.H, blocks.g)
        )
        left_out = Quadratic.of((H, g), layout, solution.x).least(free)
        found = np.maximum(found, np.sqrt(count - 1.0) * left_out.std(axis=0))
    return np.minimum(found, layout.priors)
