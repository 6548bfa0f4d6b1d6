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

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.stats

from izmp_dynamics.base.conventions import Array, Flags, Indices
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.residuals import (
    ROWS_OF_BLOCK,
    Rows,
    Terms,
    decide_contacts,
    read_foot,
    required,
    residuals,
    tilts,
    unit_rows,
)
from izmp_dynamics.calibration.segments import Instants

_STEP = 1e-3  # of the difference quotients, as part of the prior
_LENGTH = 20 * ROWS_OF_BLOCK  # rows that are linearised at once: whole blocks, and few megabytes

SEGMENT = 1_000_000
"""A block's label is the index of its segment, times this, plus its number there."""

_HUBER = 1.345  # residuals beyond so many σ count linearly

LEAST_NOISE = {'wrench': (0.05, 0.005), 'swing': (0.02, 0.002), 'gyroscope': (5e-4, 5e-4),
               'accelerometer': (5e-3, 5e-3), 'unit': (5e-4, 5e-3)}  # fmt: skip
"""Kind of residual → smallest σ of its first vector and of the second."""

_LEAST_ROWS = 10  # fewer rows of a kind are no measurement
_ITERATIONS = 12  # at most
_CONVERGED = 0.02  # no number moves by more of its standard deviation
_DRAWS = 200  # of the bootstrap
_PARTS = 4  # of the recording, of which each is left out once to see what that changes
_SEED = 1  # of the bootstrap: the same recording gives the same report

Normal = tuple[Array, Array]
"""Normal equations H (…, N, N) and g (…, N) of data, about a solution."""


def rows_of(segments: Sequence[Instants], layout: Layout, x: Array) -> tuple[Rows, ...]:
    """Residuals of all segments for the parameters x (N,), by kind."""
    kinds: defaultdict[str, list[Rows]] = defaultdict(list)
    for index, instants in enumerate(segments):
        for rows in residuals(instants, Terms.of(instants, layout, x)):
            rows.label += index * SEGMENT
            kinds[rows.name].append(rows)
    return tuple(Rows.joined(parts) for parts in kinds.values())


def linearised(
    segments: Sequence[Instants], layout: Layout, x: Array, free: Flags
) -> Iterator[list[tuple[Rows, Array]]]:
    """Residuals by kind and their derivatives (M, c, N), for `_LENGTH` of a segment at once.

    Args:
        segments: the recording.
        layout: the parameters.
        x: (N,) their values.
        free: (N,) parameters whose derivatives are wanted; zero of the others.
    """
    for index, segment in enumerate(segments):
        for first in range(0, len(segment), _LENGTH):
            instants = segment.select(slice(first, first + _LENGTH))
            terms = Terms.of(instants, layout, x)
            base = {rows.name: rows for rows in residuals(instants, terms)}
            jacobians = _jacobians(instants, layout, x, free, terms, base)
            for rows in base.values():
                rows.label += index * SEGMENT
            yield [(base[name], jacobian) for name, jacobian in jacobians.items()]


def _jacobians(
    instants: Instants, layout: Layout, x: Array, free: Flags, terms: Terms, base: dict[str, Rows]
) -> dict[str, Array]:
    """Kind → (M, c, N) by difference quotients."""
    found = {name: np.zeros((*rows.values.shape, len(x))) for name, rows in base.items()}
    feet = {foot.name: foot for foot in instants.rig.feet}
    for k in np.flatnonzero(free):
        parameter, other = layout.parameters[k], x.copy()
        step = _STEP * parameter.prior
        other[k] += step
        if parameter.segment:
            after = [unit_rows(instants, layout, other, parameter.segment, terms.motion)]
        elif parameter.group == LEVEL:
            changed = replace(terms, tilts=tilts(instants, layout, other), units=())
            after = residuals(instants, changed, forces=False)
        elif parameter.foot:
            reading = read_foot(instants, layout, other, feet[parameter.foot])
            changed = replace(terms, feet={**terms.feet, parameter.foot: reading})
            after = residuals(instants, changed, rest=False)
        elif parameter.group == 'payload':
            more = required(instants, layout, other, terms.motion)
            after = residuals(instants, replace(terms, required=more), rest=False)
        else:
            after = residuals(instants, replace(Terms.of(instants, layout, other), units=()))
        for rows in after:
            found[rows.name][:, :, k] = (rows.values - base[rows.name].values) / step
    return found


@dataclass(frozen=True)
class Noise:
    """Noise of residuals of one kind.

    Attributes:
        sigma: (c,) standard deviations; infinite where there is no measurement.
        together: (c,) rows that count as one.
    """

    sigma: Array
    together: Array


def noise_of(part: Rows) -> Noise:
    """Noise of residuals, from their medians while the robot moves.

    The axes of a vector have one σ, so that the estimate does not depend on how the axes lie, and
    no axis that the parameters cannot explain is given up in favour of the others.
    """
    width = part.values.shape[1]
    if part.share.sum() < _LEAST_ROWS:
        return Noise(np.full(width, np.inf), np.ones(width))
    moving = part.share == 1.0
    counts = moving if np.count_nonzero(moving) >= _LEAST_ROWS else part.share > 0.0
    medians = 1.4826 * np.median(np.abs(part.values[counts]), axis=0)
    sigma, vectors = np.empty(width), part.vectors
    for vector, least in zip(vectors, LEAST_NOISE[part.kind], strict=False):
        sigma[vector] = max(float(np.sqrt((medians[vector] ** 2).mean())), least)
    together = _correlated(part, sigma)
    for vector in vectors:
        together[vector] = together[vector].mean()
    return Noise(sigma, together)


def weigh(part: Rows, noise: Noise) -> Array:
    """(M, c) what each residual counts: its share, Huber's weight / (σ² τ)."""
    size = np.abs(part.values)
    huber = np.minimum(1.0, _HUBER * noise.sigma / np.maximum(size, 1e-12))
    weights: Array = part.share[:, None] * huber / (noise.sigma**2 * noise.together)
    return np.where(np.isfinite(noise.sigma), weights, 0.0)


def _correlated(part: Rows, sigma: Array) -> Array:
    """(c,) how many rows count as one, from the means over blocks (M rows, c columns)."""
    clipped = np.clip(part.values, -3.0 * sigma, 3.0 * sigma) * np.sqrt(part.share)[:, None]
    _, which, sizes = np.unique(part.label, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(which, column) for column in clipped.T], axis=1)
    variance = np.maximum((clipped**2).mean(axis=0), 1e-30)
    per_row: Array = (sums**2).sum(axis=0) / (sizes.sum() * variance)
    return np.clip(per_row, 1.0, ROWS_OF_BLOCK)


@dataclass(frozen=True)
class Blocks:
    """Normal equations of B blocks of time, about a solution.

    Attributes:
        labels: (B,) see `SEGMENT`.
        H: (B, N, N).
        g: (B, N).
    """

    labels: Indices
    H: Array
    g: Array

    def without(self, labels: Indices) -> 'Blocks':
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
    for done in range(1, _ITERATIONS + 1):
        for instants in segments:
            decide_contacts(instants, layout, x)
        rows, about = rows_of(segments, layout, x), x
        noise = {part.name: noise_of(part) for part in rows}
        blocks = _blocks(segments, layout, x, free, noise)
        cost = Quadratic.of(blocks.total(), layout, x)
        covariance = cost.covariance(free)
        step = -covariance @ cost.g
        x = x + step
        progress(done / _ITERATIONS)
        sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        if np.all(np.abs(step) <= _CONVERGED * sigma + 1e-12):
            break
    contacts = tuple((part.rest, part.air) for part in segments)
    return Solution(x, covariance, rows, layout, about, blocks, contacts)


def _blocks(
    segments: Sequence[Instants], layout: Layout, x: Array, free: Flags, noise: Mapping[str, Noise]
) -> Blocks:
    """Normal equations of all blocks of time."""
    labels, H, g = [], [], []
    for linear in linearised(segments, layout, x, free):
        weighed = [(part, J, weigh(part, noise[part.name])) for part, J in linear]
        for label in np.unique(np.concatenate([part.label for part, _, _ in weighed])):
            labels.append(label)
            H.append(np.zeros((len(x), len(x))))
            g.append(np.zeros(len(x)))
            for part, jacobian, weights in weighed:
                mine = part.label == label
                J = jacobian[mine].reshape(-1, len(x))
                weighted = J * weights[mine].reshape(-1, 1)
                H[-1] += weighted.T @ J
                g[-1] += weighted.T @ part.values[mine].reshape(-1)
    return Blocks(np.array(labels), np.array(H), np.array(g))


def labels_of(rows: Sequence[Flags]) -> Indices:
    """Labels of the blocks that instants (K,) of every segment belong to."""
    return np.concatenate(
        [
            np.unique(k * SEGMENT + np.flatnonzero(mine) // ROWS_OF_BLOCK)
            for k, mine in enumerate(rows)
        ]
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

    def least_without(self, free: Flags, items: Iterable[Indices]) -> list[Array]:
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
    random, chance = np.random.default_rng(_SEED), np.full(count, 1.0 / count)
    counts = random.multinomial(count, chance, _DRAWS).astype(float)
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
    if len(blocks.labels) < _PARTS:
        return found
    for count in (2, _PARTS):
        parts = np.array_split(np.arange(len(blocks.labels)), count)
        H, g = (
            np.stack([np.delete(of, part, axis=0).sum(axis=0) for part in parts])
            for of in (blocks.H, blocks.g)
        )
        left_out = Quadratic.of((H, g), layout, solution.x).least(free)
        found = np.maximum(found, np.sqrt(count - 1.0) * left_out.std(axis=0))
    return np.minimum(found, layout.priors)
