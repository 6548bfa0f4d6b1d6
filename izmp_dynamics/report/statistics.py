"""Numbers about one track and about two tracks against each other; NaN-safe throughout."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.scene import LABELS, Scene
from izmp_dynamics.report.timeline import Indices, Mask

TOLERANCE = 0.005
"""Distance beyond the edge [m] that the geometry of soles and model leaves open at best."""

LISTED = 12
"""Excursions that are listed, the worst first."""

_RAYLEIGH_MEDIAN = 1.1774  # median distance of a 2-D normal distribution in its σ per axis
_MAD_TO_SIGMA = 1.4826
_SECOND_DIFFERENCE_GAIN = np.sqrt(6.0)  # white noise of σ has second differences of σ√6


@dataclass(frozen=True)
class Excursion:
    """A sustained excursion of the point outside the support polygon.

    Attributes:
        start: first instant outside [s].
        duration: time spent outside [s].
        depth: farthest distance outside [m].
        throw: ∫ distance dt / √(h/g) [m]: how far it carries the capture point outwards.
        cop_margin: minimum margin of the CoP meanwhile [m]; NaN without a CoP.
    """

    start: float
    duration: float
    depth: float
    throw: float
    cop_margin: float


@dataclass(frozen=True)
class TrackStatistics:
    """One wrench source over the whole recording; lengths in m, times in s, forces in N.

    Attributes:
        name: 'mr_ad', 'ir_md' or 'cop'.
        label: how the report calls it.
        valid_share: share of all instants at which there is a point.
        evaluated_time: loaded time with a margin.
        inside_share: share of the evaluated time inside the support polygon.
        outside_time: time outside it.
        beyond_time: time outside by more than `TOLERANCE`: not just rocking on the edge.
        longest_beyond: longest such excursion.
        smallest_margin: minimum signed margin.
        smallest_margin_time: its instant.
        first_percentile_margin: 99 % of the instants have a larger margin.
        crossings: how often the point left the polygon, however briefly.
        longest_outside: longest uninterrupted excursion.
        scatter: standard deviation per axis of the point's error, as far as it can be known.
        scatter_against: 'cop' when measured against the CoP, 'itself' when estimated from the
            jumps of the point from instant to instant.
        tolerance: distance beyond the edge that still counts as on it, max(5 mm, scatter).
        excursion_count: number of sustained excursions.
        excursion_time: total duration of the sustained excursions.
        excursions: the worst of them.
        mean_normal_force: time mean of the contact force along the ground normal.
        force_over_weight: the same, divided by the weight m·g.
        force_rms_error: RMS difference to the force measured by the feet.
        load_split_correlation: correlation of the point's position between the two feet with
            their load split.
    """

    name: str
    label: str
    valid_share: float
    evaluated_time: float
    inside_share: float
    outside_time: float
    beyond_time: float
    longest_beyond: float
    smallest_margin: float
    smallest_margin_time: float
    first_percentile_margin: float
    crossings: int
    longest_outside: float
    scatter: float
    scatter_against: str
    tolerance: float
    excursion_count: int
    excursion_time: float
    excursions: tuple[Excursion, ...]
    mean_normal_force: float
    force_over_weight: float
    force_rms_error: float
    load_split_correlation: float

    @property
    def described(self) -> str:
        """The track in a sentence: 'IZMP (MR-AD)' or 'CoP'."""
        return self.label if self.name == 'cop' else f'IZMP ({self.label})'


@dataclass(frozen=True)
class PairStatistics:
    """Horizontal differences of two tracks at their common instants, in nif; lengths in m.

    Attributes:
        first: name of the first track.
        second: name of the second track.
        label: e.g. 'MR-AD – CoP'.
        count: common instants.
        mean: mean distance.
        rms: root of the mean squared distance.
        largest: largest distance.
        mean_x: mean absolute difference in x.
        mean_y: mean absolute difference in y.
        correlation_x: of the x coordinates.
        correlation_y: of the y coordinates.
    """

    first: str
    second: str
    label: str
    count: int
    mean: float
    rms: float
    largest: float
    mean_x: float
    mean_y: float
    correlation_x: float
    correlation_y: float


def label_of(name: str) -> str:
    """Name a track as the field does; an unknown track keeps its name."""
    return LABELS.get(name, name)


def track_statistics(scene: Scene, name: str) -> TrackStatistics:
    """Describe the track `name` of `scene`."""
    timeline = scene.timeline
    margin = scene.evaluation.tracks[name].margin
    evaluated = scene.loaded & np.isfinite(margin)
    outside = evaluated & (margin < 0)
    starts, stops = timeline.runs(outside)
    ends = np.concatenate([[0.0], np.cumsum(timeline.span * outside)])
    beyond = evaluated & (margin < -TOLERANCE)
    beyond_starts, beyond_stops = timeline.runs(beyond)
    beyond_ends = np.concatenate([[0.0], np.cumsum(timeline.span * beyond)])
    scatter, against = _scatter(scene, name, evaluated)
    tolerance = max(TOLERANCE, scatter) if np.isfinite(scatter) else TOLERANCE
    excursions = _excursions(scene, margin, outside, tolerance)
    lowest = int(np.argmin(np.where(evaluated, margin, np.inf))) if evaluated.any() else None
    mean_force = _time_mean(scene, scene.normal_forces[name])
    return TrackStatistics(
        name=name,
        label=label_of(name),
        valid_share=_mean(np.isfinite(scene.points[name][:, 0])),
        evaluated_time=timeline.total(evaluated),
        inside_share=timeline.share(~outside, evaluated),
        outside_time=timeline.total(outside),
        beyond_time=timeline.total(beyond),
        longest_beyond=_longest(beyond_ends, beyond_starts, beyond_stops),
        smallest_margin=np.nan if lowest is None else float(margin[lowest]),
        smallest_margin_time=np.nan if lowest is None else float(timeline.time[lowest]),
        first_percentile_margin=_percentile(margin[evaluated], 1.0),
        crossings=len(starts),
        longest_outside=_longest(ends, starts, stops),
        scatter=scatter,
        scatter_against=against,
        tolerance=tolerance,
        excursion_count=len(excursions.start),
        excursion_time=float(excursions.duration.sum()),
        excursions=excursions.worst(),
        mean_normal_force=mean_force,
        force_over_weight=mean_force / scene.weight if scene.weight > 0 else np.nan,
        force_rms_error=_rms(scene.normal_forces[name] - scene.measured_force),
        load_split_correlation=correlation(scene.between_feet(name), scene.load_split),
    )


def _longest(ends: Array, starts: Indices, stops: Indices) -> float:
    return float((ends[stops] - ends[starts]).max()) if len(starts) else 0.0


def pair_statistics(scene: Scene, first: str, second: str) -> PairStatistics:
    """Compare the points of two tracks of `scene`."""
    difference = scene.points[first] - scene.points[second]
    difference = difference[np.isfinite(difference[:, 0])]
    distance = np.hypot(difference[:, 0], difference[:, 1])
    return PairStatistics(
        first=first,
        second=second,
        label=f'{label_of(first)} – {label_of(second)}',
        count=len(distance),
        mean=_mean(distance),
        rms=_rms(distance),
        largest=float(distance.max()) if len(distance) else np.nan,
        mean_x=_mean(np.abs(difference[:, 0])),
        mean_y=_mean(np.abs(difference[:, 1])),
        correlation_x=correlation(scene.points[first][:, 0], scene.points[second][:, 0]),
        correlation_y=correlation(scene.points[first][:, 1], scene.points[second][:, 1]),
    )


def correlation(first: Array, second: Array) -> float:
    """Pearson's correlation over the common finite instants.

    Args:
        first: (K,) one signal.
        second: (K,) the other.

    Returns:
        The correlation; NaN when fewer than three instants are common or a signal is constant.
    """
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 3:
        return float('nan')
    a = first[both] - first[both].mean()
    b = second[both] - second[both].mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    size = float(np.abs(first[both]).max() * np.abs(second[both]).max()) * both.sum()
    return float(a @ b) / scale if scale > 1e-15 * size else float('nan')


@dataclass(frozen=True)
class _Excursions:
    """All sustained excursions, as arrays (E,) in order of time."""

    start: Array
    duration: Array
    depth: Array
    throw: Array
    cop_margin: Array

    def worst(self) -> tuple[Excursion, ...]:
        """Pick those that carry the capture point farthest outwards."""
        order = np.argsort(-self.throw, kind='stable')[:LISTED]
        columns = (self.start, self.duration, self.depth, self.throw, self.cop_margin)
        return tuple(Excursion(*(float(column[i]) for column in columns)) for i in order)


def _excursions(scene: Scene, margin: Array, outside: Mask, tolerance: float) -> _Excursions:
    """Find the sustained excursions farther than `tolerance` outside."""
    timeline = scene.timeline
    beyond = outside & (margin < -tolerance)
    first, last = timeline.runs(timeline.sustained(beyond))
    instants = np.flatnonzero(outside)
    first, last = np.searchsorted(instants, first), np.searchsorted(instants, last)
    first, last = first[first < last], last[first < last]
    distance, span = -margin[instants], timeline.span[instants]
    cop = scene.evaluation.tracks.get('cop')
    cop_margin = np.full(len(instants), np.nan) if cop is None else cop.margin[instants]
    return _Excursions(
        start=timeline.time[instants][first],
        duration=_over_runs(np.add, span, first, last),
        depth=_over_runs(np.maximum, distance, first, last),
        throw=_over_runs(np.add, distance * span, first, last) / scene.time_constant,
        cop_margin=_over_runs(np.fmin, cop_margin, first, last),
    )


def _over_runs(ufunc: np.ufunc, values: Array, first: Indices, last: Indices) -> Array:
    """Reduce `values` over each of the disjoint, ascending runs [first, last)."""
    if not len(first):
        return np.empty(0)
    padded = np.append(values, np.nan)
    reduced: Array = ufunc.reduceat(padded, np.ravel([first, last], order='F'))[::2]
    return reduced


def _scatter(scene: Scene, name: str, evaluated: Mask) -> tuple[float, str]:
    """Estimate the error of a track's point per axis [m], and say against what.

    Medians throughout: a push that throws the IZMP off the CoP for a moment, or a few spikes, is
    no property of the signal.
    """
    if name != 'cop' and 'cop' in scene.points:
        gap = np.hypot(*(scene.points[name] - scene.points['cop'])[evaluated].T)
        gap = gap[np.isfinite(gap)]
        if len(gap) >= 3:
            return float(np.median(gap)) / _RAYLEIGH_MEDIAN, 'cop'
    bend = np.diff(np.where(evaluated[:, None], scene.points[name], np.nan), n=2, axis=0)
    bend = np.abs(bend[np.isfinite(bend)])
    if not len(bend):
        return float('nan'), 'itself'
    return float(_MAD_TO_SIGMA * np.median(bend) / _SECOND_DIFFERENCE_GAIN), 'itself'


def _time_mean(scene: Scene, values: Array) -> float:
    """Mean over time: each instant weighs as long as it lasts."""
    known = np.isfinite(values)
    time = scene.timeline.total(known)
    if time == 0:
        return _mean(values[known])
    return float(values[known] @ scene.timeline.span[known]) / time


def _mean(values: Array | Mask) -> float:
    return float(values.mean()) if len(values) else float('nan')


def _rms(values: Array) -> float:
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if len(values) else float('nan')


def _percentile(values: Array, q: float) -> float:
    return float(np.percentile(values, q)) if len(values) else float('nan')
