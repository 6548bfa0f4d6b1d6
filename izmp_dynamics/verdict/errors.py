"""How wrong a point may be, what stands out of its errors, and when it is outside for all that.

Without other contacts the IZMP is the CoP. Where a CoP is measured in both directions, their gap
is the error of the signals: what changes from instant to instant is noise (`scatter`), the rest is
the bias of sensors, mounting or model, constant or changing with the motion. Without a CoP only
the noise can be estimated, from the jumps of the point, and of a filtered signal not even that; a
bias is then assumed, so that a point beyond the edge by millimetres is no event.

The size of a vector is its Mahalanobis distance: in standard deviations of the signal about its
median, by a covariance that single events don't change. Real signals have larger errors than this
covariance says, as after each touch-down. So an event stands out only if it is also so many times
as large as the largest that does not, and if there are not many of its kind around it: the errors
of a recording are compared with each other. Those of a robot that stands say nothing of those of
one that walks: compared are instants of motion of a like kind.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows
from izmp_dynamics.base.robust import MAD_TO_SIGMA, median, percentile
from izmp_dynamics.signals.matched_filter import bandwidth
from izmp_dynamics.verdict.posture import MOTION_REACH
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.timeline import Indices, running_sum

CONFIDENCE = 0.95
"""Share of the time in which the averaged point is within its uncertainty."""

ASSUMED_TILT = 2.0
"""Error of the vertical in the soles that is assumed where no CoP measures it [°]: mounting of the
IMU, joint offsets, elasticity. It moves the point by this angle times the height of the COM."""

_RAYLEIGH_MEDIAN = 1.1774  # median distance of a 2-D normal distribution in its σ per axis
_RAYLEIGH_95 = 2.4477  # its 95th percentile
_SECOND_DIFFERENCE_GAIN = np.sqrt(6.0)  # white noise of σ has second differences of σ√6

LEAST_SIGMA = 5.0
"""Standard deviations from which on a deviation can stand out."""

RATIO = 2.0
"""How many times as large as the largest error it must be."""

MOST, AROUND = 3, 3.0
"""Events of 1/RATIO of its size or more, itself included, that there may be within ± [s] of it."""

STILL = 0.005
"""A robot whose joints move its centre of mass against the root no faster stands [m/s]."""

BEFORE = 0.3
"""Time before an event in which the motion is looked at that it is compared with [s]."""

ENOUGH = 2.0
"""Time of motion from which on the error of a recording is that of all its time [s]."""

_WINSORISED = 3.0
_FEWEST = 3  # instants of a median

TOLERANCE = 0.005
"""Distance from the edge [m] that the geometry of soles and model leaves open at best."""

_FLOOR = 0.001
"""Least standard deviation [m] of the gap between IZMP and CoP that an event is compared with."""


@dataclass(frozen=True)
class TrackError:
    """What is known about the error of a point; lengths in m.

    Attributes:
        against: 'cop' when measured against the CoP; 'itself' when only its noise is known, from
            the jumps of the point from instant to instant.
        scatter: standard deviation per axis of its noise, instant by instant.
        averaged_scatter: what is left of the noise after the average over half the tipping time.
        bias_x: median error in x of the loaded sole; NaN without a CoP.
        bias_y: the same in y.
        slow: median distance of the averaged point from the CoP, or of the point of single
            instants where that is smaller (spikes): bias, and errors that change with the motion;
            NaN without a CoP.
        uncertainty: the averaged point is right within this distance for 95 % of the time, and for
            95 % of that in which the robot moves where it does so for less than `ENOUGH`; the
            assumed bias included where it is not measured.
        usual: the same without the assumed bias, and as if the error were distributed normally
            with the median that it has, so that pushes don't enter it.
    """

    against: str
    scatter: float
    averaged_scatter: float
    bias_x: float
    bias_y: float
    slow: float
    uncertainty: float
    usual: float

    @property
    def bias(self) -> float:
        """Distance of the bias [m]; NaN where it is not known."""
        return float(np.hypot(self.bias_x, self.bias_y))

    @property
    def biased(self) -> bool:
        """Whether more of the averaged point's error is bias than noise."""
        return bool(self.slow / _RAYLEIGH_MEDIAN > 2.0 * self.averaged_scatter)


def track_error(scene: Scene, name: str, pushed: Flags | None = None) -> TrackError:
    """Estimate the error of a track.

    What throws the IZMP off the CoP while something pushes is no error, and a few spikes are no
    property of the signal: medians throughout.

    Args:
        scene: the evaluation.
        name: of the track.
        pushed: (K,) instants about a push; none if not given.
    """
    judged = scene.judged[name]
    nan = float('nan')
    if name == 'cop' or not scene.cop_is_whole:
        scatter = _jumps(scene, name, judged)
        remaining = scatter * _average_gain(scene)
        usual = float(np.nan_to_num(_RAYLEIGH_95 * remaining))
        bias = 0.0 if name == 'cop' else _assumed_bias(scene)
        bound = float(np.hypot(usual, bias))
        return TrackError('itself', scatter, remaining, nan, nan, nan, bound, usual)
    both = _calm(judged & scene.judged['cop'], pushed)
    points = [scene.evaluation.tracks[track].point for track in (name, 'cop')]
    averages = [scene.averaged[track].point for track in (name, 'cop')]

    def sizes(rows: slice) -> tuple[Array, ...]:
        """Sizes of the gap of the averaged points, of the points, and of the difference."""
        off, gap = (
            np.where(both[rows, None], one[rows] - cop[rows], np.nan)
            for one, cop in (averages, points)
        )
        return tuple(np.linalg.norm(v, axis=1) for v in (off, gap, gap - off))

    def in_soles(rows: slice) -> tuple[Array, ...]:
        off = scene.in_sole(averages[0], rows) - scene.in_sole(averages[1], rows)
        return tuple(np.where(both[rows] & finite_rows(off), off.T, np.nan))

    by_blocks = scene.columns.by_blocks
    distance, gap, rest = by_blocks(len(both), sizes)
    if np.isfinite(distance).sum() < _FEWEST:
        return TrackError('itself', nan, nan, nan, nan, nan, _assumed_bias(scene), 0.0)
    scatter = median(rest) / _RAYLEIGH_MEDIAN
    bias_x, bias_y = map(median, by_blocks(len(both), in_soles))
    typical, moves = median(distance), np.isfinite(distance) & (scene.motion > STILL)
    rare = moves.any() and scene.timeline.total(moves) < ENOUGH
    counted = (distance, distance[moves]) if rare else (distance,)
    return TrackError(
        against='cop',
        scatter=scatter,
        averaged_scatter=scatter * _average_gain(scene),
        bias_x=bias_x,
        bias_y=bias_y,
        slow=min(typical, median(gap)),
        uncertainty=max(percentile(each, 100.0 * CONFIDENCE) for each in counted),
        usual=typical * _RAYLEIGH_95 / _RAYLEIGH_MEDIAN,
    )


def _calm(rows: Flags, pushed: Flags | None) -> Flags:
    """Those rows (K,) at which nothing pushes; all if too few are left."""
    calm = rows if pushed is None else rows & ~pushed
    return calm if np.count_nonzero(calm) >= _FEWEST else rows


def _assumed_bias(scene: Scene) -> float:
    """What the assumed tilt makes of the point [m]."""
    height = scene.initial_height
    return float(np.tan(np.radians(ASSUMED_TILT)) * height) if height > 0 else 0.0


def _jumps(scene: Scene, name: str, judged: Flags) -> float:
    """Noise per axis [m] of a track from its second differences."""
    x, y = (np.where(judged, axis, np.nan) for axis in scene.points[name].T)
    bend = np.abs(np.concatenate([np.diff(x, n=2), np.diff(y, n=2)]))
    return float(MAD_TO_SIGMA * median(bend) / _SECOND_DIFFERENCE_GAIN)


def _average_gain(scene: Scene) -> float:
    """What a triangle leaves of white noise: √(2 / 3N) with N instants in half its base."""
    step = scene.timeline.usual_step
    if not step > 0:
        return 1.0
    number = max(1.0, scene.averaging_time / step)
    return float(min(1.0, np.sqrt(2.0 / (3.0 * number))))


@dataclass(frozen=True)
class Background:
    """What a signal is like most of the time.

    Attributes:
        centre: (d,) median.
        covariance: (d, d) about it; that of values beyond 3 σ set to 3 σ.
    """

    centre: Array
    covariance: Array

    @classmethod
    def of(cls, known: Array, floor: float) -> 'Background':
        """Estimate it.

        Args:
            known: (K, d) finite values of the signal.
            floor: smallest standard deviation per axis, in its unit.
        """
        width = known.shape[1]
        if not len(known):
            return cls(np.zeros(width), floor**2 * np.eye(width))
        centre = np.median(known, axis=0)
        off = known - centre
        sigma = np.maximum(MAD_TO_SIGMA * np.median(np.abs(off), axis=0), floor)
        clipped = np.clip(off / sigma, -_WINSORISED, _WINSORISED)
        joint = clipped.T @ clipped / len(known)
        spread = np.sqrt(np.maximum(np.diag(joint), 1e-12))
        correlation = 0.999 * joint / np.outer(spread, spread) + 0.001 * np.eye(width)
        return cls(centre, correlation * np.outer(sigma, sigma))

    def sizes(self, values: Array) -> Array:
        """Mahalanobis distance (K,) of values (K, d)."""
        off = values - self.centre
        solved = np.linalg.solve(self.covariance, off.T)
        return np.asarray(np.sqrt(np.einsum('ki,ik->k', off, solved)))


def running_mean(values: Array, count: int) -> Array:
    """(K − count + 1, d) means of `count` consecutive values; NaN where one of them is."""
    known = finite_rows(values)
    holes = running_sum(~known)
    means = np.empty((max(len(values) - count + 1, 0), values.shape[1]))
    for axis, column in enumerate(values.T):
        sums = running_sum(np.where(known, column, 0.0))
        means[:, axis] = (sums[count:] - sums[:-count]) / count
    means[holes[count:] != holes[:-count]] = np.nan
    return means


def means_of(values: Array, count: int, about: Flags | None = None) -> Array:
    """Means of `count` consecutive values (K, d), of fewer where less than `count` are known.

    Means over less time differ more. With `about` (K,) those about some of the instants only.
    """
    span, means = 2 * count, np.empty((0, values.shape[1]))
    while len(means) < count and span > 1:
        span //= 2
        means = running_mean(values, span)
        chosen = finite_rows(means)
        if about is not None:
            chosen &= about[span // 2 : span // 2 + len(means)]
        means = means[chosen]
    return means


def significance(
    time: Array,
    values: Array,
    events: list[tuple[int, int]],
    floor: float,
    left_out: Flags | None = None,
    speed: Array | None = None,
    reach: float = 0.0,
    errors: Flags | None = None,
) -> tuple[Array, Flags]:
    """Judge events by the mean of the signal over each.

    Args:
        time: (K,) instants [s].
        values: (K, d) the signal; NaN where it is not known.
        events: first and one-past-last row of each, disjoint.
        floor: smallest standard deviation per axis, in the unit of the signal.
        left_out: (K,) rows that are no background either.
        speed: (K,) `Posture.motion` [m/s]; without it all motion is of one kind.
        reach: so long before an event what it changed is seen, as signals are smoothed [s].
        errors: (E,) events that are errors, however large.

    Returns:
        (E,) size of each event in standard deviations of means over as many rows, NaN where there
        is nothing to compare it with, and whether it stands out.
    """
    if not events:
        return np.empty(0), np.zeros(0, dtype=bool)
    calm = np.array(values)
    if left_out is not None:
        calm[left_out] = np.nan
    for first, stop in events:
        calm[first:stop] = np.nan
    sizes, elsewhere = np.full(len(events), np.nan), np.full(len(events), np.inf)
    begins = time[[first for first, _ in events]]
    speed = np.zeros(len(time)) if speed is None else np.nan_to_num(speed)
    least = _like(time, begins - reach - MOTION_REACH, speed)

    @cache
    def background(rows: int, slowest: float) -> tuple[Background, float] | None:
        others = means_of(calm, rows, speed >= slowest)
        if len(others) < rows:
            return None  # nothing to compare with
        found = Background.of(others, floor)
        return found, float(found.sizes(others).max())

    for k, (first, stop) in enumerate(events):
        compared = background(stop - first, float(least[k]))
        within = values[first:stop]
        within = within[finite_rows(within)]
        if compared is not None and len(within):
            others, largest = compared
            sizes[k] = others.sizes(within.mean(axis=0)[None])[0]
            elsewhere[k] = max(largest, LEAST_SIGMA / RATIO)
    stands_out, wrong = np.zeros((2, len(events)), dtype=bool)
    wrong |= False if errors is None else errors
    bar = float(np.fmax.reduce(sizes[wrong], initial=0.0))
    for k in np.argsort(sizes, kind='stable').tolist():
        alike = (np.abs(begins - begins[k]) <= AROUND) & (RATIO * sizes >= sizes[k])
        large = sizes[k] >= max(LEAST_SIGMA, RATIO * max(bar, elsewhere[k]))
        stands_out[k] = large and alike.sum() <= MOST and not wrong[k]
        bar = bar if stands_out[k] else float(np.fmax(bar, sizes[k]))
    return sizes, stands_out


def _like(time: Array, begins: Array, motion: Array) -> Array:
    """From which speed on (E,) motion (K,) is of the kind before events: about half of that [m/s].

    Rounded down to a power of two, so that events share backgrounds; 0 where the robot stands.
    """
    first, stop = (np.searchsorted(time, begins - before) for before in (BEFORE, 0.0))
    total = running_sum(motion**2)
    speed = np.sqrt((total[stop] - total[first]) / np.maximum(stop - first, 1))
    return np.where(speed > STILL, 2.0 ** np.floor(np.log2(np.maximum(speed, STILL)) - 1.0), 0.0)


@dataclass(frozen=True)
class Excursion:
    """A segment in which the averaged point was outside the support polygon.

    Attributes:
        start: first instant outside [s].
        duration: time spent outside [s].
        depth: farthest distance outside [m].
        deepest: when that is [s].
        throw: ∫ distance dt / √(h/g) [m]: how far it carries the capture point outwards.
        cop_margin: minimum margin of the averaged CoP meanwhile [m]; NaN without a CoP.
        cause: 'edge': nothing contradicts that the robot was on that edge; 'push': the CoP stayed
            inside, and a push was found there, or, without forces that would show one, no error
            in the recording is nearly as large; 'error': the CoP stayed inside, and nothing
            pushed, or errors as large occur elsewhere, or it is within the uncertainty.
        significance: size of the gap to the CoP in its standard deviations; NaN without a CoP.
    """

    start: float
    duration: float
    depth: float
    deepest: float
    throw: float
    cop_margin: float
    cause: str
    significance: float

    def cause_within(self, reach: float) -> tuple[float, float]:
        """Between which instants [s] its cause acted: an average reaches so far [s] both ways."""
        return self.start - reach, self.start + self.duration + reach


def excursions_of(
    scene: Scene, name: str, error: TrackError, pushed: Flags | None = None
) -> tuple[Excursion, ...]:
    """Find the excursions of a track; errors last, those first that throw farthest.

    Args:
        scene: the evaluation.
        name: of the track.
        error: of it.
        pushed: (K,) instants about a push; none if not given.
    """
    timeline, margin = scene.timeline, scene.judged_margin(name)
    first, last = timeline.runs(margin < 0)
    deep = running_sum(margin < -TOLERANCE)
    kept = deep[last] > deep[first]
    first, last = first[kept], last[kept]
    if not len(first):
        return ()
    with_cop = name != 'cop' and scene.cop_is_whole
    cop = scene.averaged['cop'].margin if with_cop else None
    sizes, stands_out = _standing_out(scene, name, (first, last), with_cop, pushed)
    shows_pushes = pushed is not None and name == 'mr_ad' and scene.compares_forces
    runs = [slice(*run) for run in zip(first.tolist(), last.tolist(), strict=True)]
    found = []
    for k, run in enumerate(runs):
        depth, span = -margin[run], timeline.span[run]
        deepest = float(depth.max())
        cop_margin = np.nan if cop is None else float(np.fmin.reduce(cop[run]))
        if cop_margin > TOLERANCE:
            by_push = pushed is not None and bool(pushed[run].any()) and deepest > error.usual
            cause = 'push' if by_push or (stands_out[k] and not shows_pushes) else 'error'
        else:
            at_edge = np.isfinite(cop_margin) or deepest > error.uncertainty
            cause = 'edge' if at_edge else 'error'
        found.append(
            Excursion(
                start=float(timeline.time[run.start]),
                duration=float(span.sum()),
                depth=deepest,
                deepest=float(timeline.time[run][depth.argmax()]),
                throw=float((depth * span).sum()) / scene.time_constant,
                cop_margin=cop_margin,
                cause=cause,
                significance=float(sizes[k]),
            )
        )
    return tuple(sorted(found, key=lambda found: (found.cause == 'error', -found.throw)))


def _standing_out(
    scene: Scene, name: str, runs: tuple[Indices, Indices], with_cop: bool, pushed: Flags | None
) -> tuple[Array, Flags]:
    """How far each gap to the CoP stands out of all others; NaN and False without a CoP."""
    if not with_cop:
        return np.full(len(runs[0]), np.nan), np.zeros(len(runs[0]), dtype=bool)
    both = scene.judged[name] & scene.judged['cop']
    point, cop = (scene.averaged[track].point for track in (name, 'cop'))

    def gap(rows: slice) -> Array:
        off = scene.level(point[rows] - cop[rows], rows)
        return np.asarray(np.where(both[rows, None], off, np.nan))

    events = list(zip(*(edges.tolist() for edges in runs), strict=True))
    gaps = scene.columns.by_blocks(len(both), gap)
    reach = scene.averaging_time + bandwidth(scene.evaluation.filter_bandwidth)
    return significance(scene.timeline.time, gaps, events, _FLOOR, pushed, scene.motion, reach)
