"""Residuals as rows: their derivatives with respect to the parameters, their noise and weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.residuals import (
    Block,
    Terms,
    read_foot,
    required,
    residuals,
    tilts,
    unit_block,
)
from izmp_dynamics.calibration.segments import RATE, Instants

STEP = 1e-3
"""Of the difference quotients, as part of the prior."""

LENGTH = 20.0
"""Time that is linearised at once: whole blocks, and few megabytes [s]."""

BLOCK = 1.0
"""Length of a block of time, within which residuals are alike [s]."""

SEGMENT = 1_000_000
"""A block's label is the index of its segment, times this, plus its number there."""

HUBER = 1.345
"""Residuals beyond so many σ count linearly."""

LEAST_NOISE = {'wrench': (0.05, 0.005), 'swing': (0.02, 0.002), 'gyroscope': (5e-4, 5e-4),
               'accelerometer': (5e-3, 5e-3), 'unit': (5e-4, 5e-3)}  # fmt: skip
"""Kind of residual → smallest σ of its first vector and of the second."""

LEAST_ROWS = 10
"""Fewer rows of a kind are no measurement."""

Flags = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Residuals of one kind.

    Attributes:
        name: of the kind.
        segment: (M,) index of the segment of each row.
        row: (M,) index of the instant there.
        share: (M,) what each row counts, see `Instants.shares`.
        values: (M, c).
    """

    name: str
    segment: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    share: Array
    values: Array

    @property
    def kind(self) -> str:
        """The name without the foot."""
        return self.name.partition('[')[0]

    @property
    def labels(self) -> Labels:
        """(M,) label of the block of time of each row."""
        return block_labels(self.segment, self.row)

    @property
    def vectors(self) -> list[slice]:
        """Columns that are one vector: all forces, or all moments."""
        width = self.values.shape[1]
        forces = 3 if width == 6 else 1
        if self.kind in ('gyroscope', 'accelerometer') or width == forces:
            return [slice(0, width)]
        return [slice(0, forces), slice(forces, width)]


@dataclass(frozen=True)
class Linear(Rows):
    """Residuals of one kind and their derivatives.

    Attributes:
        jacobian: (M, c, N).
    """

    jacobian: Array


def block_labels(segment: int | npt.NDArray[np.intp], row: npt.NDArray[np.intp]) -> Labels:
    """(M,) label of the block of time of instants."""
    labels: Labels = segment * SEGMENT + (row / (RATE * BLOCK)).astype(np.int64)
    return labels


def rows_of(segments: Sequence[Instants], layout: Layout, x: Array) -> tuple[Rows, ...]:
    """Residuals of all segments for the parameters x (N,), by kind."""
    kinds: dict[str, list[Rows]] = {}
    for index, instants in enumerate(segments):
        for block in residuals(instants, Terms.of(instants, layout, x)):
            kinds.setdefault(block.name, []).append(_rows(instants, block, index))
    columns = ('segment', 'row', 'share', 'values')
    return tuple(
        Rows(name, *(np.concatenate([getattr(part, key) for part in parts]) for key in columns))
        for name, parts in kinds.items()
    )


def linearised(
    segments: Sequence[Instants], layout: Layout, x: Array, free: Flags
) -> Iterator[list[Linear]]:
    """Residuals and their derivatives by kind, for `LENGTH` of a segment at once.

    Args:
        segments: the recording.
        layout: the parameters.
        x: (N,) their values.
        free: (N,) parameters whose derivatives are wanted; zero of the others.
    """
    size = round(LENGTH / BLOCK) * round(BLOCK * RATE)
    for index, segment in enumerate(segments):
        for first in range(0, len(segment), size):
            instants = segment.select(slice(first, first + size))
            terms = Terms.of(instants, layout, x)
            base = residuals(instants, terms)
            jacobians = _jacobians(instants, layout, x, free, terms, base)
            yield [
                Linear(**vars(_rows(instants, block, index, first)),
                       jacobian=jacobians[block.name][block.rows])
                for block in base
            ]  # fmt: skip


def _rows(instants: Instants, block: Block, segment: int, first: int = 0) -> Rows:
    row = np.flatnonzero(block.rows)
    of = np.full(len(row), segment)
    return Rows(block.name, of, first + row, instants.shares[row], block.values[row])


def _jacobians(
    instants: Instants, layout: Layout, x: Array, free: Flags, terms: Terms, base: list[Block]
) -> dict[str, Array]:
    """Block → (K, c, N) by difference quotients."""
    before = {block.name: block.values for block in base}
    found = {name: np.zeros((*values.shape, len(x))) for name, values in before.items()}
    feet = {foot.name: foot for foot in instants.rig.feet}
    for k in np.flatnonzero(free):
        parameter, other = layout.parameters[k], x.copy()
        step = STEP * parameter.prior
        other[k] += step
        if parameter.segment:
            after = [unit_block(instants, layout, other, parameter.segment, terms.motion)]
        elif parameter.group == LEVEL:
            changed = replace(terms, tilts=tilts(layout, other))
            after = residuals(instants, changed, forces=False)
        elif parameter.foot:
            reading = read_foot(instants, layout, other, feet[parameter.foot])
            changed = replace(terms, feet={**terms.feet, parameter.foot: reading})
            after = residuals(instants, changed, rest=False)
        elif parameter.group == 'payload':
            more = required(instants, layout, other, terms.motion)
            after = residuals(instants, replace(terms, required=more), rest=False)
        else:
            after = residuals(instants, Terms.of(instants, layout, other))
        for block in after:
            if parameter.segment or not block.name.startswith('unit['):
                found[block.name][:, :, k] = (block.values - before[block.name]) / step
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
    if part.share.sum() < LEAST_ROWS:
        return Noise(np.full(width, np.inf), np.ones(width))
    moving = part.share == 1.0
    counts = moving if np.count_nonzero(moving) >= LEAST_ROWS else part.share > 0.0
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
    huber = np.minimum(1.0, HUBER * noise.sigma / np.maximum(size, 1e-12))
    weights: Array = part.share[:, None] * huber / (noise.sigma**2 * noise.together)
    return np.where(np.isfinite(noise.sigma), weights, 0.0)


def _correlated(part: Rows, sigma: Array) -> Array:
    """(c,) how many rows count as one, from the means over blocks (M rows, c columns)."""
    clipped = np.clip(part.values, -3.0 * sigma, 3.0 * sigma) * np.sqrt(part.share)[:, None]
    _, which, sizes = np.unique(part.labels, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(which, column) for column in clipped.T], axis=1)
    variance = np.maximum((clipped**2).mean(axis=0), 1e-30)
    per_row: Array = (sums**2).sum(axis=0) / (sizes.sum() * variance)
    return np.clip(per_row, 1.0, RATE * BLOCK)
