"""How far a result can be trusted: held-out motion, and standard deviations by block bootstrap.

The residuals are nearly linear in the parameters, so what other data would have given follows from
one Gauss–Newton step at the result, with the rows that count: no second estimation is needed.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.residuals import points, residuals
from izmp_dynamics.calibration.solver import BLOCK, Linear, Solution, prior_terms
from izmp_dynamics.conventions import Array

FOLDS = 4
"""Parts that the motion is cut into; each is judged by what the others gave."""

LEAST_MOTION = 2.0
"""Less motion cannot be cut [s]."""

WORSE, BETTER = 1.01, 0.97
"""Held-out errors as parts of what they were: none may rise above, one must fall below."""

DRAWS = 200
"""Of the bootstrap."""

SEED = 1
"""Of the bootstrap: the same recording gives the same report."""

Flags = npt.NDArray[np.bool_]
STRETCH = 1_000_000
"""A block's label is that of its stretch, times this, plus its number there."""


@dataclass(frozen=True)
class Blocks:
    """Normal equations of every block of time.

    Attributes:
        labels: (B,) stretch · 10⁶ + number of the block in it.
        H: (B, N, N).
        g: (B, N).
    """

    labels: npt.NDArray[np.int64]
    H: Array
    g: Array


@dataclass(frozen=True)
class HeldOut:
    """Errors on motion that was held out, root mean squares.

    Attributes:
        force: of the wrench [N].
        moment: of the wrench [N·m].
        izmp: distance of IZMP and CoP along x and y of the root (2,) [m].
        rest: of the specific force while a foot rests [m/s²].
    """

    force: float
    moment: float
    izmp: tuple[float, float]
    rest: float

    def against(self, before: 'HeldOut') -> Array:
        """What decides, as ratios to the errors before: wrench and IZMP.

        Force and moment count together, as a force that is left moves the moment about the root.
        Robots without force sensors are judged by `rest`.
        """
        wrench = np.hypot(self.force / before.force, self.moment / before.moment) / np.sqrt(2.0)
        ratios = np.array([wrench, np.hypot(*self.izmp) / np.hypot(*before.izmp)])
        return ratios if np.isfinite(ratios).all() else np.array([self.rest / before.rest])


def split_in_blocks(solution: Solution) -> Blocks:
    """Sum the normal equations of a solution block by block."""
    count = solution.linear[0].jacobian.shape[2]
    of_rows = [_labels(part) for part in solution.linear]
    labels = np.unique(np.concatenate(of_rows))
    H, g = np.zeros((len(labels), count, count)), np.zeros((len(labels), count))
    for part, rows in zip(solution.linear, of_rows, strict=True):
        weights = solution.weights[part.name]
        for k in np.unique(np.searchsorted(labels, rows)).tolist():
            mine = rows == labels[k]
            J = part.jacobian[mine].reshape(-1, count)
            w = weights[mine].reshape(-1)
            H[k] += (J * w[:, None]).T @ J
            g[k] += (J * w[:, None]).T @ part.values[mine].reshape(-1)
    return Blocks(labels, H, g)


def _labels(part: Linear) -> npt.NDArray[np.int64]:
    number = (part.row / (RATE * BLOCK)).astype(np.int64)
    labels: npt.NDArray[np.int64] = part.stretch * STRETCH + number
    return labels


def solve(
    blocks: Blocks,
    counts: Array,
    layout: Layout,
    solution: Solution,
    free: Flags,
    divergence: Divergence | None = None,
    start: Array | None = None,
) -> Array:
    """(N,) what the recording would have given with every block counted so often.

    Args:
        blocks: of the solution.
        counts: (B,).
        layout: the parameters.
        solution: of all data.
        free: (N,) parameters that were estimated.
        divergence: as it was used.
        start: (N,) where to begin, and what stays of parameters that are not free; the solution
            if None.
    """
    x: Array = (solution.x if start is None else start).copy()
    H, g = np.tensordot(counts, blocks.H, axes=1), counts @ blocks.g
    chosen = np.ix_(free, free)
    for _ in range(1 if divergence is None else 5):
        gradient, hessian = prior_terms(layout, x, divergence)
        total = g + H @ (x - solution.x) + gradient
        step = np.zeros(len(x))
        step[free] = -np.linalg.solve((H + hessian)[chosen], total[free])
        if divergence is not None:
            step *= divergence.longest_step(x, step)
        x = x + step
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
    curvature = np.sqrt(np.maximum(np.diag(solution.covariance), 0.0))
    few = float(scipy.stats.t.ppf(scipy.stats.norm.cdf(3.0), max(1, len(blocks.labels) - 1))) / 3.0
    if len(blocks.labels) < 4 or divergence is not None:
        return few * curvature
    random = np.random.default_rng(SEED)
    chance = np.full(len(blocks.labels), 1.0 / len(blocks.labels))
    drawn = np.stack(
        [
            solve(
                blocks,
                random.multinomial(len(blocks.labels), chance).astype(np.float64),
                layout,
                solution,
                free,
            )
            for _ in range(DRAWS)
        ]
    )
    spread: Array = 1.4826 * np.median(np.abs(drawn - solution.x), axis=0)
    sigma = np.minimum(few * np.maximum(spread, curvature), layout.priors)
    known: Array = np.where(free, sigma, 0.0)
    return known


def motion_time(stretches: Sequence[Instants]) -> float:
    """How long the robot moves [s]."""
    return sum(int(np.count_nonzero(part.moving)) for part in stretches) / RATE


def folds(stretches: Sequence[Instants]) -> list[tuple[Flags, ...]]:
    """Cut the motion into parts of equal length.

    Returns:
        For each part the instants (K,) of every stretch that are held out.
    """
    cuts = np.linspace(0, sum(int(part.moving.sum()) for part in stretches), FOLDS + 1)
    before, numbers = 0, []
    for part in stretches:
        number = before + np.cumsum(part.moving) - 1
        before += int(part.moving.sum())
        numbers.append(number)
    return [
        tuple(
            part.moving & (number >= low) & (number < high)
            for part, number in zip(stretches, numbers, strict=True)
        )
        for low, high in itertools.pairwise(cuts)
    ]


def held_blocks(out: Sequence[Flags]) -> npt.NDArray[np.int64]:
    """Labels of the blocks that instants (K,) of every stretch belong to."""
    return np.concatenate(
        [
            k * STRETCH + np.unique((np.flatnonzero(rows) / (RATE * BLOCK)).astype(np.int64))
            for k, rows in enumerate(out)
        ]
    )


def validate(
    stretches: Sequence[Instants],
    layout: Layout,
    solution: Solution,
    blocks: Blocks,
    free: Flags,
    divergence: Divergence | None = None,
    original: Sequence[Instants] | None = None,
) -> tuple[HeldOut, HeldOut]:
    """Errors on held-out motion without and with the calibration.

    Args:
        stretches: the recording.
        layout: the parameters.
        solution: of all data.
        blocks: its normal equations.
        free: (N,) parameters that were estimated.
        divergence: as it was used.
        original: the recording before the mountings of sensors were changed, if they were.
    """
    if original is not None:
        for old, new in zip(original, stretches, strict=True):
            old.rest, old.air = new.rest, new.air
    moving = [part.moving for part in stretches]
    before = [errors(original or stretches, layout, np.zeros_like(solution.x), moving)]
    after = []
    for out in folds(stretches):
        counts = (~np.isin(blocks.labels, held_blocks(out))).astype(np.float64)
        x = solve(blocks, counts, layout, solution, free, divergence)
        after.append(errors(stretches, layout, x, out))
    return _pooled(before), _pooled(after)


def errors(
    stretches: Sequence[Instants], layout: Layout, x: Array, used: Sequence[Flags]
) -> list[Array]:
    """Squares of force, moment, IZMP (x, y) and rest at the instants that are used, joined."""
    force, moment, izmp, rest = [], [], [], []
    for instants, rows in zip(stretches, used, strict=True):
        for block in residuals(instants, layout, x):
            values = block.values[block.rows & rows]
            if block.name == 'wrench' and values.shape[1] == 6:
                force.append((values[:, :3] ** 2).sum(axis=1))
                moment.append((values[:, 3:] ** 2).sum(axis=1))
            elif block.name == 'wrench':
                force.append(values[:, 0] ** 2)
                moment.append((values[:, 1:] ** 2).sum(axis=1))
            elif block.name.startswith('accelerometer'):
                rest.append((values**2).sum(axis=1))
        if instants.measured and len(instants.measured) == len(instants.rig.feet):
            one, other = points(instants, layout, x)
            gap = (one - other)[rows, :2] ** 2
            izmp.append(gap[np.isfinite(gap).all(axis=1)])
    empty = np.empty(0)
    return [
        np.concatenate(force or [empty]),
        np.concatenate(moment or [empty]),
        np.concatenate(izmp or [np.empty((0, 2))]),
        np.concatenate(rest or [empty]),
    ]


def _pooled(parts: list[list[Array]]) -> HeldOut:
    force, moment, izmp, rest = (np.concatenate(values) for values in zip(*parts, strict=True))

    def rms(squares: Array) -> float:
        return float(np.sqrt(squares.mean())) if len(squares) else float('nan')

    return HeldOut(rms(force), rms(moment), (rms(izmp[:, 0]), rms(izmp[:, 1])), rms(rest))


def improves(before: HeldOut, after: HeldOut, better: bool) -> bool:
    """Whether neither wrench nor IZMP is worse on what was held out.

    Args:
        before: without the corrections.
        after: with them.
        better: whether one of both must also be clearly better, as nothing else shows that
            something is corrected: other mountings of the force sensors.
    """
    ratios = after.against(before)
    return bool(np.all(ratios <= WORSE) and (not better or np.any(ratios < BETTER)))
