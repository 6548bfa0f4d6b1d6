"""Noise of residuals, and what each of them counts."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.block_sums import BLOCK, block_labels
from izmp_dynamics.calibration.instants import RATE
from izmp_dynamics.calibration.linear import Rows

HUBER = 1.345
"""Residuals beyond so many σ count linearly."""

LEAST_NOISE = {'wrench': (0.05, 0.005), 'swing': (0.02, 0.002), 'gyroscope': (5e-4, 5e-4),
               'accelerometer': (5e-3, 5e-3)}  # fmt: skip
"""Kind of residual → smallest σ of its first vector and of the second."""

LEAST_ROWS = 10
"""Fewer rows of a kind are no measurement."""


@dataclass(frozen=True)
class Noise:
    """Noise of residuals of one kind.

    Attributes:
        sigma: (c,) standard deviations; infinite where there is no measurement.
        together: (c,) rows that count as one.
    """

    sigma: Array
    together: Array


def vectors(part: Rows) -> list[slice]:
    """Columns of residuals that are one vector: all forces, or all moments."""
    width = part.values.shape[1]
    if part.name.partition('[')[0] in ('gyroscope', 'accelerometer'):
        return [slice(0, width)]
    forces = 3 if width == 6 else 1
    return [slice(0, forces), slice(forces, width)] if width > forces else [slice(0, forces)]


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
    sigma, columns = np.empty(width), vectors(part)
    for vector, least in zip(columns, LEAST_NOISE[part.name.partition('[')[0]], strict=False):
        sigma[vector] = max(float(np.sqrt((medians[vector] ** 2).mean())), least)
    together = correlated(part, sigma)
    for vector in columns:
        together[vector] = together[vector].mean()
    return Noise(sigma, together)


def weigh(part: Rows, noise: Noise) -> Array:
    """(M, c) what each residual counts: its share, Huber's weight / (σ² τ)."""
    size = np.abs(part.values)
    huber = np.minimum(1.0, HUBER * noise.sigma / np.maximum(size, 1e-12))
    weights: Array = part.share[:, None] * huber / (noise.sigma**2 * noise.together)
    return np.where(np.isfinite(noise.sigma), weights, 0.0)


def correlated(part: Rows, sigma: Array) -> Array:
    """(c,) how many rows count as one, from the means over blocks (M rows, c columns)."""
    clipped = np.clip(part.values, -3.0 * sigma, 3.0 * sigma) * np.sqrt(part.share)[:, None]
    _, which, sizes = np.unique(
        block_labels(part.stretch, part.row), return_inverse=True, return_counts=True
    )
    sums = np.stack([np.bincount(which, column) for column in clipped.T], axis=1)
    variance = np.maximum((clipped**2).mean(axis=0), 1e-30)
    per_row: Array = (sums**2).sum(axis=0) / (sizes.sum() * variance)
    return np.clip(per_row, 1.0, RATE * BLOCK)
