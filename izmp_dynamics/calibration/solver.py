"""Maximum a posteriori by Gauss–Newton: Huber loss, noise by MAD, coloured residuals by blocks.

    ½ Σ ρ(r/σ)/τ + ½ Σ (x/prior)² + λ Σ D(P, P₀)

σ of a vector is 1.4826 times the median of its absolute residuals, over its axes. Residuals that
follow each other are alike: τ, the number of rows that count as one, is the variance of the means
over blocks of `BLOCK` seconds against that of independent rows. D is the log-determinant
divergence of pseudo-inertias (Lee, Wensing, Park 2020).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.parameters import GAINS, LEVEL, Layout
from izmp_dynamics.calibration.residuals import (
    Block,
    blocks,
    decide_contacts,
    inertia_jacobian,
    readings,
    required,
    residuals,
    rest_blocks,
    root_motion,
    swing_block,
    tilts,
    wrench_block,
)
from izmp_dynamics.conventions import Array

HUBER = 1.345
"""Residuals beyond so many σ count linearly."""

BLOCK = 1.0
"""Length of a block [s]."""

STRETCH = 1_000_000
"""A block's label is the index of its stretch, times this, plus its number there."""

ITERATIONS = 12
"""At most."""

CONVERGED = 0.02
"""No number moves by more of its standard deviation."""

STEP = 1e-3
"""Of the difference quotients, as part of the prior."""

LEAST_NOISE = {'wrench': (0.05, 0.005), 'swing': (0.02, 0.002), 'gyroscope': (5e-4, 5e-4),
               'accelerometer': (5e-3, 5e-3)}  # fmt: skip
"""Kind of residual → smallest σ of its first vector and of the second."""

LEAST_ROWS = 10
"""Fewer rows of a kind are no measurement."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Linear:
    """Residuals of one kind and their derivatives, over all stretches.

    Attributes:
        name: of the kind.
        stretch: (M,) index of the stretch of each row.
        row: (M,) index of the instant.
        share: (M,) what each row counts, see `Instants.shares`.
        values: (M, c).
        jacobian: (M, c, N).
    """

    name: str
    stretch: npt.NDArray[np.intp]
    row: npt.NDArray[np.intp]
    share: Array
    values: Array
    jacobian: Array


@dataclass(frozen=True)
class Solution:
    """What was estimated.

    Attributes:
        x: (N,).
        covariance: (N, N), after the data.
        linear: residuals and derivatives there.
        weights: name → (M, c) what each residual counts [1/unit²].
        iterations: how many it took.
    """

    x: Array
    covariance: Array
    linear: tuple[Linear, ...]
    weights: Mapping[str, Array]
    iterations: int


def estimate(
    stretches: Sequence[Instants],
    layout: Layout,
    fixed: Flags | None = None,
    start: Array | None = None,
    used: Sequence[Flags] | None = None,
    divergence: Divergence | None = None,
    iterations: int = ITERATIONS,
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
        iterations: at most.
        progress: called with the fraction that is done.
    """
    count = len(layout.parameters)
    x = np.zeros(count) if start is None else start.copy()
    free = np.ones(count, dtype=np.bool_) if fixed is None else ~fixed
    linear: tuple[Linear, ...] = ()
    weights: dict[str, Array] = {}
    covariance = np.diag(np.where(np.isfinite(layout.priors), layout.priors, 0.0) ** 2)
    done = 0
    for done in range(1, iterations + 1):
        for instants in stretches:
            decide_contacts(instants, layout, x)
        linear = linearise(stretches, layout, x, free, used)
        weights = {part.name: weigh(part, noise_of(part)) for part in linear}
        H, g = normal_equations(linear, weights)
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
    return Solution(x, covariance, linear, weights, done)


def linearise(
    stretches: Sequence[Instants],
    layout: Layout,
    x: Array,
    free: Flags,
    used: Sequence[Flags] | None = None,
) -> tuple[Linear, ...]:
    """Residuals and their derivatives at x.

    Args:
        stretches: the recording.
        layout: the parameters.
        x: (N,).
        free: (N,) parameters whose derivatives are wanted.
        used: (K,) instants of each stretch that count; all if None.
    """
    parts: dict[str, list[tuple[int, npt.NDArray[np.intp], Array, Array]]] = {}
    for index, instants in enumerate(stretches):
        base = residuals(instants, layout, x)
        jacobians = _jacobians(instants, layout, x, free, base)
        for block in base:
            rows = block.rows if used is None else block.rows & used[index]
            chosen = np.flatnonzero(rows)
            parts.setdefault(block.name, []).append(
                (index, chosen, block.values[chosen], jacobians[block.name][chosen])
            )
    return tuple(
        Linear(
            name,
            np.concatenate([np.full(len(part[1]), part[0]) for part in pieces]),
            np.concatenate([part[1] for part in pieces]),
            np.concatenate([stretches[part[0]].shares[part[1]] for part in pieces]),
            np.concatenate([part[2] for part in pieces]),
            np.concatenate([part[3] for part in pieces]),
        )
        for name, pieces in parts.items()
    )


def _jacobians(
    instants: Instants, layout: Layout, x: Array, free: Flags, base: list[Block]
) -> dict[str, Array]:
    """Block → (K, c, N) by difference quotients; those of inertias are exact."""
    count = len(layout.parameters)
    motion = root_motion(instants, layout, x)
    needed = required(instants, layout, x, motion)
    feet = readings(instants, layout, x)
    before = {block.name: block.values for block in base}
    found = {b.name: np.zeros((*b.values.shape, count)) for b in base}
    index = {foot.name: n for n, foot in enumerate(instants.rig.feet)}
    for k, parameter in enumerate(layout.parameters):
        if not free[k] or parameter.group == 'inertias':
            continue
        other = x.copy()
        step = STEP * parameter.prior
        other[k] += step
        foot = index.get(parameter.foot, -1)
        if parameter.group == LEVEL:
            tilt = tilts(layout, other)[parameter.foot]
            after = rest_blocks(instants, foot, motion, tilt)
        elif foot >= 0:
            gains = parameter.group in GAINS
            changed = feet.with_foot(instants, layout, other, instants.rig.feet[foot], gains)
            after = wrench_block(instants, needed, changed)
            after += swing_block(instants, foot, needed, changed)
        elif parameter.group == 'payload':
            more = required(instants, layout, other, motion)
            after = wrench_block(instants, more, feet)
            for n in index.values():
                after += swing_block(instants, n, more, feet)
        else:
            turned = root_motion(instants, layout, other)
            more = required(instants, layout, other, turned)
            after = blocks(instants, turned, more, feet, tilts(layout, x))
        for block in after:
            found[block.name][:, :, k] = (block.values - before[block.name]) / step
    if layout.inertias:
        columns = np.array([p.group == 'inertias' for p in layout.parameters])
        for name, jacobian in inertia_jacobian(instants, motion).items():
            if name in found:
                found[name][:, :, columns] = jacobian
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


def vectors(part: Linear) -> list[slice]:
    """Columns of residuals that are one vector: all forces, or all moments."""
    width = part.values.shape[1]
    if part.name.partition('[')[0] in ('gyroscope', 'accelerometer'):
        return [slice(0, width)]
    forces = 3 if width == 6 else 1
    return [slice(0, forces), slice(forces, width)] if width > forces else [slice(0, forces)]


def noise_of(part: Linear) -> Noise:
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


def weigh(part: Linear, noise: Noise) -> Array:
    """(M, c) what each residual counts: its share, Huber's weight / (σ² τ)."""
    size = np.abs(part.values)
    huber = np.minimum(1.0, HUBER * noise.sigma / np.maximum(size, 1e-12))
    weights: Array = part.share[:, None] * huber / (noise.sigma**2 * noise.together)
    return np.where(np.isfinite(noise.sigma), weights, 0.0)


def correlated(part: Linear, sigma: Array) -> Array:
    """(c,) how many rows count as one, from the means over blocks (M rows, c columns)."""
    clipped = np.clip(part.values, -3.0 * sigma, 3.0 * sigma) * np.sqrt(part.share)[:, None]
    _, which, sizes = np.unique(
        block_labels(part.stretch, part.row), return_inverse=True, return_counts=True
    )
    sums = np.stack([np.bincount(which, column) for column in clipped.T], axis=1)
    variance = np.maximum((clipped**2).mean(axis=0), 1e-30)
    per_row: Array = (sums**2).sum(axis=0) / (sizes.sum() * variance)
    return np.clip(per_row, 1.0, RATE * BLOCK)


def block_labels(
    stretch: int | npt.NDArray[np.intp], row: npt.NDArray[np.intp]
) -> npt.NDArray[np.int64]:
    """(M,) label of the block of time of instants: that of their stretch, and its number there."""
    labels: npt.NDArray[np.int64] = stretch * STRETCH + (row / (RATE * BLOCK)).astype(np.int64)
    return labels


def normal_equations(
    linear: Sequence[Linear], weights: Mapping[str, Array]
) -> tuple[Array, Array]:
    """(N, N) Hessian and (N,) gradient of the data's part."""
    count = linear[0].jacobian.shape[2]
    H, g = np.zeros((count, count)), np.zeros(count)
    for part in linear:
        J = part.jacobian.reshape(-1, count)
        w = weights[part.name].reshape(-1)
        H += (J * w[:, None]).T @ J
        g += (J * w[:, None]).T @ part.values.reshape(-1)
    return H, g


def prior_terms(layout: Layout, x: Array, divergence: Divergence | None) -> tuple[Array, Array]:
    """(N,) gradient and (N, N) Hessian of the prior."""
    information = 1.0 / layout.priors**2  # of inertias: zero
    gradient, hessian = information * x, np.diag(information)
    if divergence is not None:
        more_gradient, more_hessian = divergence.terms(x)
        gradient, hessian = gradient + more_gradient, hessian + more_hessian
    return gradient, hessian
