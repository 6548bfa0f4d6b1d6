"""What is chosen by motion that is held out: widths of priors, items, and sets of groups.

A choice takes some parts of the motion and the blocks of data that it may see. With all of them it
is what is estimated in the end; without one part and its blocks it predicts that part, so that the
errors which a report states are those of motion that chose nothing (nested cross-validation).
Where sets of groups are chosen without a part, they are judged by what the others predict of each
other. A low-pass of force sensors is not chosen here: `calibrate` begins with that of a replay.

An item (the delays, a bias, the offsets of a foot, …) stays if it is significant, and if motion
that was held out is described worse without it by more than can matter. Significance alone does
not do: the assumptions themselves, e.g. that a foot rests or that signals after a filter obey
Newton, hold to a fraction of a millimetre only, at every step in the same way, which no bootstrap
shows. Items are removed one after the other, the least needed first (backward elimination), so
that of two that trade off one stays, the likelier one if neither costs anything.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.stats

from izmp_dynamics.base.conventions import Array, Flags, Indices
from izmp_dynamics.calibration.held_out import (
    FOLDS,
    LEAST_MOTION,
    WORSE,
    HeldOut,
    Judged,
    Squares,
    errors,
    folds,
    judge,
    motion_time,
    noise,
    worse,
)
from izmp_dynamics.calibration.parameters import LAG, LEAST_LAG, LEVEL, MATRIX_WIDTHS, Layout
from izmp_dynamics.calibration.residuals import BLOCK
from izmp_dynamics.calibration.segments import Instants
from izmp_dynamics.calibration.solver import (
    Blocks,
    Quadratic,
    Solution,
    deviations,
    estimate,
    labels_of,
    scatter,
)

_LEAST_INFO = 0.5  # a parameter with less information in the recording is left as it is [-]

MOTION_FOR_WIDTH = 2.0 * FOLDS * BLOCK
"""With less motion the parts that are held out have less than two blocks, and the widest prior of
calibration matrices, which says least, is used [s]."""

MATRIX_GAIN = 0.9
"""A calibration matrix is used if it brings the held-out errors below this part [-]."""

_BETTER = 0.97  # part of what they were that one of the held-out errors must fall below [-]

NEGLIGIBLE = 0.1
"""Part of what matters that does not decide between items of which one can replace another [-]."""

UNLIKELY = ('ft_rotation',)
"""Groups that are removed first then: sensors are seldom turned by some degrees, but loads are
often missing in a URDF, and a shifted centre of mass looks like turned sensors in a short walk."""

SIGNIFICANT = 0.9973
"""Probability with which an item is not zero, that of three standard deviations [-]."""

_DIFFERS = 1.0  # deviations below which a number may as well be zero [-]
_ALL = tuple(range(FOLDS))  # the parts of the motion

Items = Mapping[str, Indices]
"""Item → its columns: what is corrected together or not at all."""
Parts = tuple[int, ...]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes:
        layout: the parameters, with the priors that were chosen.
        free: (N,) what is estimated.
        sigma: (N,) standard deviations.
        info: (N,) information of the recording about each [-].
    """

    layout: Layout
    free: Flags
    sigma: Array
    info: Array

    @property
    def corrected(self) -> Flags:
        """(N,) what the robot file or the URDF takes."""
        return self.free & ~self.layout.of_group(LEVEL)


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

    @property
    def improves(self) -> bool:
        """Whether there is something to correct that does not worsen wrench or IZMP on them.

        Where no number is, other mountings of the force sensors must make one of both better.
        """
        before, after = self.errors()
        ratios = after.against(before)
        better = not self.nothing_needed or np.any(ratios < _BETTER)
        return bool(np.all(ratios <= WORSE) and better and not self.worse)

    @property
    def worse(self) -> tuple[str, ...]:
        """What gets worse on them by more than its noise, see `held_out.worse`."""
        return worse(self.before, self.predicted)

    @property
    def score(self) -> float:
        """Held-out errors against those before; small is good."""
        before, after = self.errors()
        return after.score(before)

    def errors(self) -> tuple[HeldOut, HeldOut]:
        """Errors before and after."""
        return HeldOut.of(self.before), HeldOut.of(self.predicted)


@dataclass(frozen=True)
class Candidate(Choice):
    """A set of groups, estimated, with what came out.

    Attributes:
        solution: values of the parameters.
        trial: on all parts of the motion; None if there is too little motion.
        without: for each part of the motion the trial on the others, which chooses between
            candidates; empty if there is no other candidate.
    """

    solution: Solution
    trial: Trial | None = None
    without: tuple[Trial, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether there is something to correct that does not worsen what was held out."""
        return self.trial is not None and self.trial.improves

    @property
    def unobservable(self) -> tuple[str, ...]:
        """Names of what was left alone since the recording does not show it."""
        unknown = (self.info < _LEAST_INFO) & ~self.layout.of_group(LEVEL)
        return tuple(self.layout.parameters[k].name for k in np.flatnonzero(unknown))


class Chooser:
    """An estimate of everything, near which all choices are made.

    Args:
        segments: the recording, with the contacts of the solution.
        layout: the parameters, with the widest priors.
        solution: their values.
        before: errors on each part of the motion without corrections.
    """

    def __init__(
        self,
        segments: Sequence[Instants],
        layout: Layout,
        solution: Solution,
        before: tuple[Squares, ...],
    ) -> None:
        self.segments, self.layout, self.before = segments, layout, before
        self.solution, self.blocks = solution, solution.blocks
        self.parts = folds(segments)
        self.fit = functools.cache(self._fit)
        self._total = functools.cache(lambda parts: self._blocks(parts).total())

    @functools.cached_property
    def judged(self) -> list[Judged]:
        """Residuals near the estimate on each part of the motion."""
        return judge(self.segments, self.solution, self.parts)

    def trial(self, parts: Parts, choice: Choice) -> Trial:
        """Judge what these parts chose, on them; the rest of the motion has no part in it."""
        return Trial(
            tuple(self.before[part] for part in parts),
            tuple(self.predict(part, parts) for part in parts),
            not choice.corrected.any(),
        )

    def predict(self, part: int, among: Parts = _ALL) -> Squares:
        """Errors on a part of the motion by what the others among some parts chose and gave."""
        choice, x = self.fit(_without(among, part))
        return errors(self.segments, choice.layout, x, self.parts[part])

    def _fit(self, parts: Parts) -> tuple[Choice, Array]:
        """What these parts of the motion choose, and the values (N,) that they give."""
        choice = self.items(self.priors(parts), parts)
        near = Quadratic.of(self._total(parts), choice.layout, self.solution.x)
        return choice, near.least(choice.free)

    def priors(self, parts: Parts = _ALL) -> Layout:
        """The priors that predict these parts of the motion best, each from the others of them."""
        layout, x = self.layout, self.solution.x
        has_matrix = layout.of_group('ft_matrix').any()
        if not has_matrix or motion_time(self.segments) < MOTION_FOR_WIDTH:
            return layout
        free = np.ones(len(x), dtype=np.bool_)
        before = HeldOut.of([self.before[part] for part in parts])

        def score(tried: Layout) -> float:
            after = []
            for part in parts:
                found = Quadratic.of(self._total(_without(parts, part)), tried, x).least(free)
                after.append(errors(self.segments, tried, found, self.parts[part]))
            return HeldOut.of(after).score(before)

        return min(map(layout.with_matrix_width, MATRIX_WIDTHS), key=score)

    def items(self, layout: Layout, parts: Parts = _ALL) -> Choice:
        """Leave alone what these parts of the motion do not tell, or do not need.

        Args:
            layout: the parameters, with the priors that were chosen.
            parts: of the motion; with none, only what the recording does not tell is left alone.
        """
        solution = self.solution
        blocks = self._blocks(parts) if parts else self.blocks
        everything = np.ones(len(solution.x), dtype=np.bool_)
        sigma = deviations(blocks, layout, solution, everything)
        sigma = np.hypot(sigma, _systematic(self.judged, layout))
        info = 1.0 - (sigma / layout.priors) ** 2
        free = layout.of_group(LEVEL) | (info >= _LEAST_INFO)
        near = Quadratic.of(blocks.total(), layout, solution.x)
        sigma = np.maximum(sigma, scatter(blocks, layout, solution, everything))
        lag = [k for k, p in enumerate(layout.parameters) if p.name == LAG]
        free[lag] &= np.abs(near.least(free)[lag]) > LEAST_LAG
        if parts:
            without = {
                part: Quadratic.of(self._total(_without(parts, part)), layout, solution.x)
                for part in parts
            }
            free = _needed(self.judged, layout, near, without, free, sigma)
        return Choice(layout, free, sigma, info)

    def _blocks(self, parts: Parts) -> Blocks:
        """The blocks of these parts of the motion, and of no motion at all."""
        others = [labels_of(self.parts[part]) for part in _ALL if part not in parts]
        return self.blocks.without(np.concatenate([np.empty(0, np.int64), *others]))


def _systematic(judged: Sequence[Judged], layout: Layout) -> Array:
    """(N,) standard deviations of units' parameters by systematic errors; zero of the others.

    Errors too small to matter, as of a link that bends, may be alike at every step, which no part
    of a recording shows: however long it is, they count as one residual vector of that size.
    """
    H = np.diag(1.0 / layout.priors**2)
    for kind in judged:
        H += kind.A.sum(axis=0) / (kind.least**2 * max(1, int(kind.count.sum())))
    of_units = [bool(parameter.segment) for parameter in layout.parameters]
    return np.where(of_units, np.sqrt(np.diag(np.linalg.inv(H))), 0.0)


def _without(parts: Parts, part: int) -> Parts:
    return tuple(each for each in parts if each != part)


def make_candidate(
    segments: Sequence[Instants],
    layout: Layout,
    progress: Progress = lambda fraction: None,
    original: Sequence[Instants] | None = None,
    rivals: bool = False,
) -> Candidate:
    """Estimate everything; choose what stays and judge it by held-out motion.

    Args:
        segments: the recording.
        layout: what is estimated.
        progress: called with the fraction of the estimation that is done.
        original: the recording before the mountings of sensors were changed, if they were.
        rivals: whether there are other candidates to choose from.

    Returns:
        The candidate with everything estimated; `finished` leaves alone what is not chosen.
    """
    solution = estimate(segments, layout, progress=progress)
    for old, new in zip(original or segments, segments, strict=True):
        old.rest, old.air = new.rest, new.air
    nothing = np.zeros(len(layout.parameters))
    before = tuple(errors(original or segments, layout, nothing, p) for p in folds(segments))
    parts = _ALL if motion_time(segments) >= LEAST_MOTION else ()
    chooser = Chooser(segments, layout, solution, before)
    priors = chooser.priors() if parts else layout
    if priors is not layout:
        solution = estimate(segments, priors, start=solution.x)
        chooser = Chooser(segments, layout, solution, before)
    choice = chooser.items(priors, parts)
    trial = chooser.trial(parts, choice) if parts else None
    subsets = [_without(parts, part) for part in parts if rivals]
    without = tuple(chooser.trial(others, chooser.fit(others)[0]) for others in subsets)
    return Candidate(**vars(choice), solution=solution, trial=trial, without=without)


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that predicts held-out motion best, with the errors of choosing it as well."""
    trials = [candidate.trial for candidate in candidates if candidate.trial is not None]
    if not trials:
        return candidates[0]
    best = _best(trials)
    if len(candidates) == 1:
        return candidates[best]
    predicted = (
        trials[_best([candidate.without[part] for candidate in candidates])].predicted[part]
        for part in _ALL
    )
    trial = replace(trials[best], predicted=tuple(predicted))
    return replace(candidates[best], trial=trial)


def _best(trials: Sequence[Trial]) -> int:
    """Which candidate predicts the parts of these trials best; the first one unless clear."""
    best = 0
    for k, other in enumerate(trials[1:], 1):
        better = other.improves, trials[best].improves
        clear = other.score < MATRIX_GAIN * trials[best].score
        if better == (True, False) or (clear and better != (False, True)):
            best = k
    return best


def finished(candidate: Candidate, segments: Sequence[Instants]) -> Candidate:
    """Estimate anew with all that is not chosen left alone; the contacts are then those of it.

    So is what turns out not to differ from zero by its deviation, as this is known only now.
    """
    first, known = candidate, False
    while not known:
        candidate = _estimated(replace(first, free=candidate.free), segments)
        vain = _vain(candidate)
        candidate = replace(candidate, free=candidate.free & ~vain)
        known = not vain.any()
    if candidate.trial is not None and not candidate.corrected.any():
        candidate = replace(candidate, trial=replace(candidate.trial, nothing_needed=True))
    for instants, (rest, air) in zip(segments, candidate.solution.contacts, strict=True):
        instants.rest, instants.air = rest, air
    return candidate


def _vain(candidate: Candidate) -> Flags:
    """(N,) what is estimated, but of whose kind no number is larger than its deviation."""
    vain, x = np.zeros(len(candidate.free), dtype=np.bool_), candidate.solution.x
    for columns in items(candidate.layout).values():
        for group in {candidate.layout.parameters[k].group for k in columns}:
            mine = columns[candidate.layout.of_group(group)[columns] & candidate.free[columns]]
            if group != 'ft_matrix':
                vain[mine] = np.all(np.abs(x[mine]) < _DIFFERS * candidate.sigma[mine])
    return vain


def _estimated(candidate: Candidate, segments: Sequence[Instants]) -> Candidate:
    layout, fixed = candidate.layout, ~candidate.free
    if fixed.any():
        everything, sigma = candidate.solution.x, candidate.sigma
        solution = estimate(segments, layout, fixed, np.where(fixed, 0.0, everything))
        left = deviations(solution.blocks, layout, solution, ~fixed)
        left = np.maximum(left, scatter(solution.blocks, layout, solution, ~fixed))
        # what is left alone may be wrong after all
        left = np.hypot(np.where(fixed, sigma, np.maximum(left, sigma)), solution.x - everything)
        candidate = replace(candidate, solution=solution, sigma=left)
    return candidate


def _needed(
    judged: Sequence[Judged],
    layout: Layout,
    near: Quadratic,
    without: Mapping[int, Quadratic],
    free: Flags,
    sigma: Array,
) -> Flags:
    """(N,) the parameters of the items that are needed, of those that are `free`.

    `near` is the cost of all data that may be used; `without` of these without a part of the
    motion, on which the residuals are `judged`.
    """
    everything = near.least(free)
    curvature = np.sqrt(np.maximum(np.diag(near.covariance(free)), 1e-300))
    widened = np.maximum(sigma / curvature, 1.0)
    free = free.copy()
    left = {name: columns[free[columns]] for name, columns in items(layout).items()}
    left = {name: columns for name, columns in left.items() if len(columns)}
    while left:
        x, covariance = near.least(free), near.covariance(free)
        covariance *= np.outer(widened, widened)
        own = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        stated = np.hypot(np.maximum(own, sigma), x - everything) / own  # as `finished` has it
        wide = covariance * np.outer(stated, stated)
        effects = {
            name: effect
            for name, (effect, clear) in _effects(judged, near.x, without, free, left).items()
            if effect < 1.0
            or not _significant(x, covariance, left[name])
            or not (clear or _significant(x, wide, left[name]))
        }
        if not effects:
            break
        free[left.pop(least_needed(layout, left, effects))] = False
    return free


def items(layout: Layout) -> Items:
    """The items of a layout; how level soles are is none."""
    found: dict[str, list[int]] = {}
    for k, parameter in enumerate(layout.parameters):
        if parameter.group != LEVEL:
            found.setdefault(parameter.item, []).append(k)
    return {name: np.array(columns) for name, columns in found.items()}


def _effects(
    judged: Sequence[Judged], x: Array, without: Mapping[int, Quadratic], free: Flags, left: Items
) -> dict[str, tuple[float, bool]]:
    """Item → by how much its removal makes held-out residuals larger, as part of what matters.

    And whether that is more than noise, as it is alike on all parts of the motion.
    """
    y = np.array([cost.least_without(free, left.values()) for cost in without.values()])
    squares = np.array([kind.squares(list(without), y - x) for kind in judged])
    more = squares[:, :, 1:] - squares[:, :, :1]
    effects = more.sum(axis=1)
    most = effects.argmax(axis=0), np.arange(len(left))
    clear = more.mean(axis=1) > noise(np.moveaxis(more, 1, 0))
    found = zip(effects[most].tolist(), clear[most].tolist(), strict=True)
    return dict(zip(left, found, strict=True))


def least_needed(layout: Layout, left: Items, effects: Mapping[str, float]) -> str:
    """The item to remove: of those that cost nothing, the least likely one; else the cheapest."""

    def cost(name: str) -> tuple[float, int, float]:
        group = layout.parameters[left[name][0]].group
        return max(effects[name], NEGLIGIBLE), group not in UNLIKELY, effects[name]

    return min(effects, key=cost)


def _significant(x: Array, covariance: Array, columns: Indices) -> bool:
    """Whether numbers together are not zero (Wald)."""
    mine, values = covariance[np.ix_(columns, columns)], x[columns]
    distance = float(values @ np.linalg.pinv(mine, hermitian=True) @ values)
    return distance > _least_distance(len(columns))


@functools.cache
def _least_distance(count: int) -> float:
    """Square from which on `count` numbers together are not zero, in standard deviations."""
    return float(scipy.stats.chi2.ppf(SIGNIFICANT, count))
