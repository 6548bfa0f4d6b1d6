"""A set of groups, estimated, with what the recording does not tell left alone, and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from izmp_dynamics.calibration.choice import (
    ALL,
    LEAST_INFO,
    WEIGHTS,
    Estimated,
    choose_items,
    choose_priors,
    predict,
)
from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.solver import Solution, estimate
from izmp_dynamics.calibration.time_blocks import deviations, split_in_blocks
from izmp_dynamics.calibration.validation import (
    LEAST_MOTION,
    HeldOut,
    Squares,
    errors,
    folds,
    improves,
    motion_time,
)
from izmp_dynamics.conventions import Array

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
        unobservable: names of what was left alone since the recording does not show it.
        before: errors on each part of the motion; none if there is too little motion.
        predicted: with the corrections that the other parts chose and gave.
    """

    layout: Layout
    solution: Solution
    free: Flags
    sigma: Array
    info: Array
    unobservable: tuple[str, ...]
    before: tuple[Squares, ...] = ()
    predicted: tuple[Squares, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether there is something to correct that does not worsen what was held out."""
        return self.improves()

    def improves(self, parts: Sequence[int] = ALL) -> bool:
        """Whether there is something to correct that does not worsen these parts of the motion."""
        if not self.before:
            return False
        before, after = self.errors(parts)
        return improves(before, after, better=self.nothing_needed)

    def score(self, parts: Sequence[int] = ALL) -> float:
        """Held-out errors on these parts of the motion against those before; small is good."""
        if not self.before:
            return np.inf
        before, after = self.errors(parts)
        return after.score(before)

    def errors(self, parts: Sequence[int] = ALL) -> tuple[HeldOut, HeldOut]:
        """Errors on these parts of the motion, which there must be, before and after."""
        before, after = (
            HeldOut.of([squares[part] for part in parts])
            for squares in (self.before, self.predicted)
        )
        return before, after

    @property
    def corrected(self) -> Flags:
        """(N,) what the robot file or the URDF takes."""
        kept = [p.group != LEVEL for p in self.layout.parameters]
        return self.free & np.array(kept, dtype=np.bool_)

    @property
    def nothing_needed(self) -> bool:
        """Whether every number is left alone."""
        return not self.corrected.any()


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
    divergence = Divergence.of(layout, WEIGHTS[1]) if layout.inertias else None
    solution = estimate(
        stretches, layout, divergence=divergence, progress=lambda f: progress(0.6 * f)
    )
    parts = ALL if motion_time(stretches) >= LEAST_MOTION else ()
    data = Estimated(stretches, layout, solution, _before(stretches, layout, original))
    priors = choose_priors(data) if parts else (layout, divergence)
    if priors[0] is not layout:
        solution = estimate(stretches, priors[0], start=solution.x)
        data = replace(data, solution=solution)
    choice = choose_items(data, *priors, parts)
    progress(0.7)
    predicted = tuple(predict(data, part) for part in parts)
    fixed, sigma, everything = ~choice.free, choice.sigma, solution.x
    if fixed.any() or divergence is not None:
        layout, divergence = priors
        start = np.where(fixed, 0.0, solution.x)
        solution = estimate(stretches, layout, fixed, start, divergence=divergence)
        left = deviations(split_in_blocks(solution), layout, solution, ~fixed, divergence)
        if divergence is None:  # what is left alone may be wrong after all
            left = np.hypot(np.maximum(left, sigma), solution.x - everything)
        sigma = np.where(fixed, sigma, left)
    progress(0.95)
    return Candidate(
        layout=priors[0],
        solution=solution,
        free=choice.free,
        sigma=sigma,
        info=choice.info,
        unobservable=tuple(
            p.name
            for p, info in zip(layout.parameters, choice.info, strict=True)
            if p.group != LEVEL and info < LEAST_INFO
        ),
        before=data.before if parts else (),
        predicted=predicted,
    )


def _before(
    stretches: Sequence[Instants], layout: Layout, original: Sequence[Instants] | None
) -> tuple[Squares, ...]:
    """Errors on each part of the motion without corrections."""
    if original is not None:
        for old, new in zip(original, stretches, strict=True):
            old.rest, old.air = new.rest, new.air
    nothing = np.zeros(len(layout.parameters))
    used = original or stretches
    return tuple(errors(used, layout, nothing, part) for part in folds(stretches))
