"""A set of groups, estimated, with what the recording does not tell left alone, and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import (
    LAG,
    LEVEL,
    MATRIX_WIDTHS,
    Layout,
    with_matrix_width,
)
from izmp_dynamics.calibration.selection import needed
from izmp_dynamics.calibration.solver import BLOCK, Solution, estimate
from izmp_dynamics.calibration.validation import (
    FOLDS,
    LEAST_MOTION,
    Blocks,
    HeldOut,
    deviations,
    improves,
    motion_time,
    split_in_blocks,
    validate,
)
from izmp_dynamics.conventions import Array

LEAST_INFO = 0.5
"""A parameter with less information in the recording is left as it is [-]."""

WEIGHTS = (30.0, 300.0, 3000.0)
"""λ of the inertias' divergence that are tried; held-out motion chooses."""

MOTION_FOR_WIDTH = 2.0 * FOLDS * BLOCK
"""With less motion the parts that are held out have less than two blocks, and the widest prior of
calibration matrices, which says least, is used [s]."""

Flags = npt.NDArray[np.bool_]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Candidate:
    """A set of groups with what came out.

    Attributes:
        layout: the parameters.
        solution: their values.
        free: (N,) which were estimated.
        sigma: (N,) standard deviations.
        info: (N,) information of the recording about each [-]; NaN of inertias.
        before: errors on held-out motion; None if there is too little motion.
        after: with the corrections.
        unobservable: names of what was left alone since the recording does not show it.
        gyroscope_lag: how much later than the accelerometer the gyroscope is, and its standard
            deviation [s], with everything else free; None if no delays were estimated.
    """

    layout: Layout
    solution: Solution
    free: Flags
    sigma: Array
    info: Array
    before: HeldOut | None
    after: HeldOut | None
    unobservable: tuple[str, ...]
    gyroscope_lag: tuple[float, float] | None = None

    @property
    def accepted(self) -> bool:
        """Whether there is something to correct that does not worsen what was held out."""
        if self.before is None or self.after is None:
            return False
        return improves(self.before, self.after, better=self.nothing_needed)

    @property
    def corrected(self) -> Flags:
        """(N,) what the robot file or the URDF takes."""
        kept = [p.group != LEVEL for p in self.layout.parameters]
        return self.free & np.array(kept, dtype=np.bool_)

    @property
    def nothing_needed(self) -> bool:
        """Whether every number is left alone."""
        return not self.corrected.any()

    @property
    def score(self) -> float:
        """Held-out errors against those before; the smaller the better."""
        if self.before is None or self.after is None:
            return np.inf
        return float(np.mean(self.after.against(self.before)))


def make_candidate(
    stretches: Sequence[Instants],
    layout: Layout,
    progress: Progress,
    original: Sequence[Instants] | None,
) -> Candidate:
    """Estimate; leave alone what the recording does not tell; judge by held-out motion.

    Args:
        stretches: the recording.
        layout: what is estimated.
        progress: called with the fraction that is done.
        original: the recording before the mountings of sensors were changed, if they were.
    """
    count = len(layout.parameters)
    fixed = np.zeros(count, dtype=np.bool_)
    inertial = np.array([p.group == 'inertias' for p in layout.parameters], dtype=np.bool_)
    divergence = Divergence.of(layout, WEIGHTS[1]) if layout.inertias else None
    solution = estimate(
        stretches, layout, divergence=divergence, progress=lambda f: progress(0.6 * f)
    )
    blocks = split_in_blocks(solution)
    enough = motion_time(stretches) >= LEAST_MOTION
    if divergence is not None and enough:
        divergence = _best_weight(stretches, layout, solution, blocks)
    matrix = any(p.group == 'ft_matrix' for p in layout.parameters)
    if matrix and motion_time(stretches) >= MOTION_FOR_WIDTH:
        layout = _best_width(stretches, layout, solution, blocks)
        solution = estimate(stretches, layout, start=solution.x, divergence=divergence)
        blocks = split_in_blocks(solution)
    sigma = deviations(blocks, layout, solution, ~fixed, divergence)
    info = np.where(inertial, np.nan, 1.0 - (sigma / layout.priors) ** 2)
    level = np.array([p.group == LEVEL for p in layout.parameters], dtype=np.bool_)
    fixed = np.where(np.isnan(info) | level, False, info < LEAST_INFO)
    unobservable = tuple(
        p.name for p, left_alone in zip(layout.parameters, fixed, strict=True) if left_alone
    )
    lag = [k for k, p in enumerate(layout.parameters) if p.name == LAG]
    gyroscope_lag = (float(solution.x[lag[0]]), float(sigma[lag[0]])) if lag else None
    fixed[lag] = True  # the robot file has no such key: what is estimated must hold without it
    if enough:
        fixed = ~needed(stretches, layout, solution, blocks, ~fixed, sigma, divergence)
    if fixed.any() or divergence is not None:
        everything = solution.x
        solution = estimate(
            stretches, layout, fixed, np.where(fixed, 0.0, solution.x), divergence=divergence
        )
        blocks = split_in_blocks(solution)
        left = deviations(blocks, layout, solution, ~fixed, divergence)
        if divergence is None:  # what is left alone may be wrong after all
            left = np.hypot(np.maximum(left, sigma), solution.x - everything)
        sigma = np.where(fixed, sigma, left)
    progress(0.9)
    before = after = None
    if enough:
        before, after = validate(stretches, layout, solution, blocks, ~fixed, divergence, original)
    return Candidate(
        layout, solution, ~fixed, sigma, info, before, after, unobservable, gyroscope_lag
    )


def _best_weight(
    stretches: Sequence[Instants], layout: Layout, solution: Solution, blocks: Blocks
) -> Divergence:
    """The weight of the divergence that predicts held-out motion best."""
    free = np.ones(len(layout.parameters), dtype=np.bool_)
    tried = []
    for weight in WEIGHTS:
        divergence = Divergence.of(layout, weight)
        before, after = validate(stretches, layout, solution, blocks, free, divergence)
        tried.append((float(np.mean(after.against(before))), divergence))
    return min(tried, key=lambda pair: pair[0])[1]


def _best_width(
    stretches: Sequence[Instants], layout: Layout, solution: Solution, blocks: Blocks
) -> Layout:
    """The layout with the width of calibration matrices that predicts held-out motion best."""
    free = np.ones(len(layout.parameters), dtype=np.bool_)
    tried = []
    for width in MATRIX_WIDTHS:
        other = with_matrix_width(layout, width)
        before, after = validate(stretches, other, solution, blocks, free)
        tried.append((float(np.mean(after.against(before))), other))
    return min(tried, key=lambda pair: pair[0])[1]
