"""A set of groups, estimated, with what the recording does not tell left alone, and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.solver import Solution, estimate
from izmp_dynamics.calibration.validation import (
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
        unobservable: names of what was left alone.
    """

    layout: Layout
    solution: Solution
    free: Flags
    sigma: Array
    info: Array
    before: HeldOut | None
    after: HeldOut | None
    unobservable: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether it improves what was held out."""
        return (
            self.before is not None
            and self.after is not None
            and improves(self.before, self.after)
        )

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
    if divergence is not None and motion_time(stretches) >= LEAST_MOTION:
        divergence = _best_weight(stretches, layout, solution, blocks)
    sigma = deviations(blocks, layout, solution, ~fixed, divergence)
    info = np.where(inertial, np.nan, 1.0 - (sigma / layout.priors) ** 2)
    fixed = np.where(np.isnan(info), False, info < LEAST_INFO)
    if fixed.any() or divergence is not None:
        solution = estimate(
            stretches, layout, fixed, np.where(fixed, 0.0, solution.x), divergence=divergence
        )
        blocks = split_in_blocks(solution)
        left = deviations(blocks, layout, solution, ~fixed, divergence)
        sigma = np.where(fixed, sigma, left)
    progress(0.9)
    before = after = None
    if motion_time(stretches) >= LEAST_MOTION:
        before, after = validate(stretches, layout, solution, blocks, ~fixed, divergence, original)
    unobservable = tuple(
        p.name for p, left_alone in zip(layout.parameters, fixed, strict=True) if left_alone
    )
    return Candidate(layout, solution, ~fixed, sigma, info, before, after, unobservable)


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
