"""A set of groups, estimated, with what the recording does not tell left alone, and judged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.choice import (
    ALL,
    LEAST_INFO,
    WEIGHTS,
    Choice,
    Estimated,
    choose_items,
    choose_priors,
    corrected,
    predict,
)
from izmp_dynamics.calibration.divergence import Divergence
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import LEVEL, Layout
from izmp_dynamics.calibration.pieces import Pieces
from izmp_dynamics.calibration.solver import Solution, estimate
from izmp_dynamics.calibration.time_blocks import deviations
from izmp_dynamics.calibration.validation import (
    LEAST_MOTION,
    HeldOut,
    Squares,
    errors,
    folds,
    improves,
    motion_time,
)

Flags = npt.NDArray[np.bool_]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Trial:
    """How a set of groups does on some parts of the motion, each predicted from the others.

    Attributes:
        before: errors on each of these parts without corrections.
        predicted: with the corrections that the other parts chose and gave.
        nothing_needed: whether these parts together correct nothing.
    """

    before: tuple[Squares, ...]
    predicted: tuple[Squares, ...]
    nothing_needed: bool

    @classmethod
    def of(cls, data: Estimated, parts: Sequence[int], choice: Choice) -> 'Trial':
        """Judge what these parts chose, on them; the rest of the motion has no part in it."""
        return cls(
            tuple(data.before[part] for part in parts),
            tuple(predict(data, part, parts) for part in parts),
            not choice.corrected.any(),
        )

    @property
    def improves(self) -> bool:
        """Whether there is something to correct that does not worsen these parts of the motion."""
        return improves(*self.errors(), better=self.nothing_needed)

    @property
    def score(self) -> float:
        """Held-out errors against those before; small is good."""
        before, after = self.errors()
        return after.score(before)

    def errors(self) -> tuple[HeldOut, HeldOut]:
        """Errors before and after."""
        return HeldOut.of(self.before), HeldOut.of(self.predicted)


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
        trial: on all parts of the motion; None if there is too little motion.
        without: for each part of the motion the trial on the others, which chooses between
            candidates; empty if there is no other candidate.
        divergence: keeps inertias near the URDF's; None if they are not estimated.
    """

    layout: Layout
    solution: Solution
    free: Flags
    sigma: Array
    info: Array
    unobservable: tuple[str, ...]
    trial: Trial | None = None
    without: tuple[Trial, ...] = ()
    divergence: Divergence | None = None

    @property
    def accepted(self) -> bool:
        """Whether there is something to correct that does not worsen what was held out."""
        return self.trial is not None and self.trial.improves

    @property
    def corrected(self) -> Flags:
        """(N,) what the robot file or the URDF takes."""
        return corrected(self.layout, self.free)

    @property
    def nothing_needed(self) -> bool:
        """Whether every number is left alone."""
        return not self.corrected.any()


def make_candidate(
    stretches: Sequence[Instants],
    layout: Layout,
    progress: Progress,
    original: Sequence[Instants] | None,
    rivals: bool = False,
    pieces: Pieces | None = None,
) -> Candidate:
    """Estimate everything; choose what stays and judge it by held-out motion.

    Args:
        stretches: the recording.
        layout: what is estimated.
        progress: called with the fraction that is done.
        original: the recording before the mountings of sensors were changed, if they were.
        rivals: whether there are other candidates to choose from.
        pieces: the recording in pieces; None for those of this process.

    Returns:
        The candidate with everything estimated; `finished` leaves alone what is not chosen.
    """
    pieces = pieces or Pieces(stretches)
    divergence = Divergence.of(layout, WEIGHTS[1]) if layout.inertias else None
    solution = estimate(
        stretches,
        layout,
        divergence=divergence,
        pieces=pieces,
        progress=lambda f: progress(0.6 * f),
    )
    parts = ALL if motion_time(stretches) >= LEAST_MOTION else ()
    data = Estimated(stretches, layout, solution, _before(stretches, layout, original), pieces)
    priors = choose_priors(data) if parts else (layout, divergence)
    if priors[0] is not layout:
        solution = estimate(stretches, priors[0], start=solution.x, pieces=pieces)
        data = replace(data, solution=solution)
    choice = choose_items(data, *priors, parts)
    progress(0.8)
    trial = Trial.of(data, parts, choice) if parts else None
    subsets = [[p for p in parts if p != part] for part in parts] if rivals else []
    without = tuple(Trial.of(data, others, data.fit(others).choice) for others in subsets)
    progress(1.0)
    return Candidate(
        layout=priors[0],
        solution=solution,
        free=choice.free,
        sigma=choice.sigma,
        info=choice.info,
        unobservable=tuple(
            p.name
            for p, info in zip(layout.parameters, choice.info, strict=True)
            if p.group != LEVEL and info < LEAST_INFO
        ),
        trial=trial,
        divergence=priors[1],
        without=without,
    )


def finished(
    candidate: Candidate, stretches: Sequence[Instants], pieces: Pieces | None = None
) -> Candidate:
    """Estimate anew with all that is not chosen left alone; the contacts are then those of it."""
    layout, divergence, fixed = candidate.layout, candidate.divergence, ~candidate.free
    if fixed.any() or divergence is not None:
        everything, sigma = candidate.solution.x, candidate.sigma
        start = np.where(fixed, 0.0, everything)
        solution = estimate(stretches, layout, fixed, start, divergence=divergence, pieces=pieces)
        left = deviations(solution.blocks, layout, solution, ~fixed, divergence)
        if divergence is None:  # what is left alone may be wrong after all
            left = np.hypot(np.maximum(left, sigma), solution.x - everything)
        candidate = replace(candidate, solution=solution, sigma=np.where(fixed, sigma, left))
    point = candidate.solution.point
    for instants, rest, air in zip(stretches, point.rest, point.air, strict=True):
        instants.rest, instants.air = rest, air
    return candidate


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
