"""Which corrections are needed: what changes nothing on held-out motion is left alone.

An item (a delay, a bias, the offsets of a foot, …) stays if it is significant, and if motion that
was held out is described worse without it by more than can matter. Significance alone does not
do: the assumptions themselves, e.g. that a foot rests or that signals after a filter obey Newton,
hold to a fraction of a millimetre only, at every step in the same way, which no bootstrap shows.

Items are removed one after the other, the least needed first (backward elimination), so that of
two that trade off one stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.stats

from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.solver import Solution, prior_terms, vectors
from izmp_dynamics.calibration.validation import FOLDS, Blocks, folds, held_blocks, solve
from izmp_dynamics.conventions import Array

LEAST_FORCE = 1e-3
"""Forces matter from this part of the weight on, as a tilt of a milliradian has it [-]."""

LEAST_ARM = 0.5e-3
"""Moments matter if they move the IZMP so far [m]."""

LEAST_RATE = 1e-3
"""Angular velocities matter from here on [rad/s]."""

SIGNIFICANT = 0.9973
"""Probability with which an item is not zero, that of three standard deviations [-]."""

Flags = npt.NDArray[np.bool_]


def items(layout: Layout) -> dict[str, npt.NDArray[np.intp]]:
    """Item → its columns: what is corrected together or not at all."""
    found: dict[str, list[int]] = {}
    for k, parameter in enumerate(layout.parameters):
        if parameter.group != LEVEL:
            found.setdefault(parameter.item, []).append(k)
    return {name: np.array(columns) for name, columns in found.items()}


@dataclass(frozen=True)
class _Judged:
    """Residuals of a kind on P parts of the motion, as a quadratic form in changes of x.

    Attributes:
        A: (P, N, N) Σ JᵀJ of each part.
        b: (P, N) Σ Jᵀv.
        c: (P,) Σ v².
        count: rows of all parts.
        least: what matters.
    """

    A: Array
    b: Array
    c: Array
    count: int
    least: float

    @classmethod
    def of(
        cls, held: npt.NDArray[np.intp], values: Array, jacobian: Array, least: float
    ) -> '_Judged':
        """Sum up residuals (M, c) that belong to parts `held` (M,), −1 to none."""
        size = jacobian.shape[2]
        A, b, c = np.zeros((FOLDS, size, size)), np.zeros((FOLDS, size)), np.zeros(FOLDS)
        for part in range(FOLDS):
            J, v = jacobian[held == part].reshape(-1, size), values[held == part].reshape(-1)
            A[part], b[part], c[part] = J.T @ J, J.T @ v, v @ v
        return cls(A, b, c, int(np.count_nonzero(held >= 0)), least)

    def mean_square(self, changes: Array) -> float:
        """Of residuals, with x changed by a row (P, N) in each part of the motion."""
        curved = np.einsum('pi,pij,pj->', changes, self.A, changes)
        linear = 2.0 * np.einsum('pi,pi->', self.b, changes)
        return float(curved + linear + self.c.sum()) / max(1, self.count)


def needed(
    stretches: Sequence[Instants],
    layout: Layout,
    solution: Solution,
    blocks: Blocks,
    free: Flags,
    sigma: Array,
    divergence: Divergence | None = None,
) -> Flags:
    """(N,) the parameters of the items that are needed, of those that are free.

    Args:
        stretches: the recording.
        layout: the parameters.
        solution: of all data.
        blocks: its normal equations.
        free: (N,) parameters that were estimated.
        sigma: (N,) their standard deviations.
        divergence: as it was used.
    """
    judged = _judged(stretches, solution)
    counts = [
        (~np.isin(blocks.labels, held_blocks(out))).astype(np.float64) for out in folds(stretches)
    ]
    curvature = np.sqrt(np.maximum(np.diag(solution.covariance), 1e-300))
    widened = np.maximum(sigma / curvature, 1.0)
    free = free.copy()

    def errors(mask: Flags) -> Array:
        start = np.where(mask, solution.x, 0.0)
        changes = np.stack(
            [
                solve(blocks, count, layout, solution, mask, divergence, start) - solution.x
                for count in counts
            ]
        )
        return np.array([part.mean_square(changes) / part.least**2 for part in judged])

    left = {name: columns[free[columns]] for name, columns in items(layout).items()}
    left = {name: columns for name, columns in left.items() if len(columns)}
    while left:
        with_all = errors(free)
        effects = {}
        for name, columns in left.items():
            without = free.copy()
            without[columns] = False
            effect = float((errors(without) - with_all).max())
            if effect < 1.0 or not _significant(
                blocks, layout, solution, free, columns, widened, divergence
            ):
                effects[name] = effect
        if not effects:
            break
        free[left.pop(min(effects, key=lambda name: effects[name]))] = False
    return free


def _significant(
    blocks: Blocks,
    layout: Layout,
    solution: Solution,
    free: Flags,
    columns: npt.NDArray[np.intp],
    widened: Array,
    divergence: Divergence | None,
) -> bool:
    """Whether numbers together are not zero (Wald); inertias have no zero of their own."""
    if layout.parameters[columns[0]].group == 'inertias':
        return True
    start = np.where(free, solution.x, 0.0)
    everything = np.ones(len(blocks.labels))
    x = solve(blocks, everything, layout, solution, free, divergence, start)
    hessian = blocks.H.sum(axis=0) + prior_terms(layout, x, divergence)[1]
    covariance = np.zeros_like(hessian)
    covariance[np.ix_(free, free)] = np.linalg.pinv(hessian[np.ix_(free, free)], hermitian=True)
    covariance *= np.outer(widened, widened)
    mine = covariance[np.ix_(columns, columns)]
    distance = float(x[columns] @ np.linalg.pinv(mine, hermitian=True) @ x[columns])
    return distance > float(scipy.stats.chi2.ppf(SIGNIFICANT, len(columns)))


def _judged(stretches: Sequence[Instants], solution: Solution) -> list[_Judged]:
    """Residuals on the motion, by kind, forces apart from moments."""
    numbers = [np.full(len(part), -1) for part in stretches]
    for number, out in enumerate(folds(stretches)):
        for rows, of_stretch in zip(out, numbers, strict=True):
            of_stretch[rows] = number
    rig = stretches[0].rig
    gravity = rig.robot.gravity
    weight = rig.model.total_mass * gravity
    found = []
    for part in solution.linear:
        held = np.empty(len(part.row), dtype=np.intp)
        for stretch, of_stretch in enumerate(numbers):
            mine = part.stretch == stretch
            held[mine] = of_stretch[part.row[mine]]
        least: tuple[float, ...] = (LEAST_FORCE * weight, LEAST_ARM * weight)
        if part.name.startswith('gyroscope'):
            least = (LEAST_RATE,)
        if part.name.startswith('accelerometer'):
            least = (LEAST_FORCE * gravity,)
        for columns, matters in zip(vectors(part), least, strict=False):
            values, jacobian = part.values[:, columns], part.jacobian[:, columns]
            found.append(_Judged.of(held, values, jacobian, matters))
    return found
