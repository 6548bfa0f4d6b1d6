"""Numbers about one track and about two tracks against each other; NaN-safe throughout."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.verdict.errors import TrackError, track_error
from izmp_dynamics.verdict.excursions import TOLERANCE, Excursion, excursions_of
from izmp_dynamics.verdict.frames import AxisStatistics, axis_statistics, correlation
from izmp_dynamics.verdict.scene import FALL_TIMES, LABELS, Scene
from izmp_dynamics.verdict.timeline import Mask

LISTED = 12
"""Excursions that are listed, the worst first."""


@dataclass(frozen=True)
class TrackStatistics:
    """One wrench source over the whole recording; lengths in m, times in s, forces in N.

    Attributes:
        name: 'mr_ad', 'ir_md' or 'cop'.
        label: how the report calls it.
        valid_share: share of all instants at which there is a point.
        evaluated_time: loaded time with a margin and a settled filter: what the verdict rests on.
        inside_share: share of the evaluated time inside the support polygon, instant by instant.
        outside_time: time outside it.
        smallest_margin: minimum signed margin of all instants.
        smallest_margin_time: its instant.
        first_percentile_margin: 99 % of the instants have a larger margin.
        crossings: how often the point left the polygon, however briefly.
        longest_outside: longest uninterrupted excursion.
        longest_outside_time: its first instant; NaN without one.
        averaged_margin: minimum margin of the point averaged over half the tipping time.
        averaged_margin_time: its instant.
        possible_throw: the farthest that the averaged point, were it off by its uncertainty to
            the worst side, could throw the capture point outwards before the robot has fallen.
        error: what is known about the error of the point.
        excursion_count: number of excursions of the averaged point outside the support polygon.
        excursion_time: total duration of these.
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
    smallest_margin: float
    smallest_margin_time: float
    first_percentile_margin: float
    crossings: int
    longest_outside: float
    longest_outside_time: float
    averaged_margin: float
    averaged_margin_time: float
    possible_throw: float
    error: TrackError
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
    """Horizontal distances of two tracks at their common instants; lengths in m.

    Attributes:
        first: name of the first track.
        second: name of the second track.
        label: e.g. 'MR-AD – CoP'.
        along: 'plane', or 'line between the feet' where a CoP from normal forces alone is
            compared: along that line, and only while both feet carry load.
        count: common instants.
        mean: mean distance.
        rms: root of the mean squared distance.
        largest: largest distance.
        frames: bias, RMSE and correlation per axis, frame by frame; none along a line.
        correlation: of the positions along the line; NaN in the plane.
    """

    first: str
    second: str
    label: str
    along: str
    count: int
    mean: float
    rms: float
    largest: float
    frames: tuple[AxisStatistics, ...]
    correlation: float

    def in_frame(self, frame: str) -> AxisStatistics | None:
        """The statistics per axis in 'sole', 'root' or 'nif'; None where it is not known."""
        return next((axes for axes in self.frames if axes.frame == frame), None)


def label_of(name: str) -> str:
    """Name a track as the field does; an unknown track keeps its name."""
    return LABELS.get(name, name)


def track_statistics(scene: Scene, name: str) -> TrackStatistics:
    """Describe the track `name` of `scene`."""
    timeline, store, by_rows = scene.timeline, scene.store, scene.by_rows
    evaluated, settled = scene.judged(name), scene.settled(name)
    margin = where(scene, evaluated, scene.evaluation.tracks[name].margin)
    outside = by_rows(lambda rows: margin[rows] < 0)
    inside = by_rows(lambda rows: ~outside[rows])
    error = track_error(scene, name)
    excursions = excursions_of(scene, name, error)
    averaged = scene.judged_margin(name)
    force = where(scene, settled, scene.normal_forces[name])
    between = where(scene, settled, scene.between_feet(name))
    mean_force = time_mean(scene, force)
    longest, longest_at = longest_run(scene, outside)
    return TrackStatistics(
        name=name,
        label=label_of(name),
        valid_share=store.mean(by_rows(lambda rows: np.isfinite(scene.points[name][rows, 0]))),
        evaluated_time=timeline.total(evaluated),
        inside_share=timeline.share(inside, evaluated),
        outside_time=timeline.total(outside),
        first_percentile_margin=store.percentile(margin, 1.0),
        crossings=len(timeline.runs(outside)[0]),
        longest_outside=longest,
        longest_outside_time=longest_at,
        possible_throw=_possible_throw(scene, name, averaged, error),
        error=error,
        excursion_count=len(excursions),
        excursion_time=float(sum(found.duration for found in excursions)),
        excursions=excursions[:LISTED],
        mean_normal_force=mean_force,
        force_over_weight=mean_force / scene.weight if scene.weight > 0 else np.nan,
        force_rms_error=_rms(
            scene, by_rows(lambda rows: force[rows] - scene.measured_force[rows])
        ),
        load_split_correlation=correlation(between, scene.load_split, store),
        **_lowest(scene, margin, 'smallest_margin'),
        **_lowest(scene, averaged, 'averaged_margin'),
    )


def _lowest(scene: Scene, values: Array, name: str) -> dict[str, float]:
    """Smallest value and its instant; NaN without any."""
    lowest = scene.store.lowest(values)
    if lowest is None:
        return {name: np.nan, f'{name}_time': np.nan}
    return {name: float(values[lowest]), f'{name}_time': float(scene.timeline.time[lowest])}


def _possible_throw(scene: Scene, name: str, margin: Array, error: TrackError) -> float:
    """Largest throw within the time in which a robot falls, if the point is off by its error.

    Where a CoP is known in both directions it bounds the error: where it is well inside, an
    excursion needs a push, and pushes are looked for. Without one only the noise counts: of an
    assumed bias nothing follows.
    """
    uncertain = error.uncertainty if error.against == 'cop' else error.usual
    cop = scene.averaged('cop').margin if name != 'cop' and scene.cop_is_whole else None
    time, span = scene.timeline.time, scene.timeline.span

    def outwards(rows: slice) -> Array:
        bound = margin[rows] - uncertain
        if cop is not None:
            bound = np.fmax(bound, cop[rows] - TOLERANCE)
        depth: Array = np.maximum(-np.nan_to_num(bound, nan=0.0), 0.0) * span[rows]
        return depth

    gained = scene.store.running_sum(len(time), outwards)

    def thrown(rows: slice) -> float:
        """Largest throw that begins at one of the rows, until the last instant within the time."""
        falls = time[rows] + FALL_TIMES * scene.time_constant
        until = np.searchsorted(time, falls, side='right')
        until -= until < len(time)
        return float((gained[until] - gained[rows]).max(initial=0.0))

    return float(scene.store.reduce(np.maximum, len(time), thrown)) / scene.time_constant


def longest_run(scene: Scene, mask: Mask) -> tuple[float, float]:
    """Duration of the longest run of a mask (K,), and its first instant; 0 and NaN without [s]."""
    span, store = scene.timeline.span, scene.store
    first, stop = scene.timeline.runs(mask)
    if not len(first):
        return 0.0, np.nan
    ends = store.running_sum(len(span), lambda rows: span[rows] * mask[rows])
    lasts = store.take(ends, stop) - store.take(ends, first)
    longest = int(lasts.argmax())
    return float(lasts[longest]), float(scene.timeline.time[first[longest]])


def pair_statistics(scene: Scene, first: str, second: str) -> PairStatistics:
    """Compare the points of two tracks of `scene` where both filters are settled."""
    settled = scene.settled(first), scene.settled(second)
    both = scene.by_rows(lambda rows: settled[0][rows] & settled[1][rows])
    along, related = 'plane', np.nan
    frames: tuple[AxisStatistics, ...] = ()
    if 'cop' in (first, second) and not scene.cop_is_whole:
        along = 'line between the feet'
        one, other = (where(scene, both, scene.on_line(name)) for name in (first, second))
        related = correlation(one, other, scene.store)
        distance = scene.by_rows(lambda rows: np.abs(one[rows] - other[rows]))
    else:
        frames = axis_statistics(scene, first, second, both)
        distance = where(scene, both, scene.apart(first, second))
    distance = scene.store.finite(distance)
    return PairStatistics(
        first=first,
        second=second,
        label=f'{label_of(first)} – {label_of(second)}',
        along=along,
        count=len(distance),
        mean=scene.store.mean(distance),
        rms=_rms(scene, distance),
        largest=scene.store.extremes(distance)[1],
        frames=frames,
        correlation=related,
    )


def time_mean(scene: Scene, values: Array) -> float:
    """Mean of values (K,) over time: each instant weighs as long as it lasts."""
    store, span = scene.store, scene.timeline.span

    def product(rows: slice) -> float:
        known = np.isfinite(values[rows])
        return float(values[rows][known] @ span[rows][known])

    time = scene.timeline.total(scene.by_rows(lambda rows: np.isfinite(values[rows])))
    if time == 0:
        return store.mean(values)
    return float(store.reduce(np.add, len(values), product)) / time


def where(scene: Scene, mask: Mask, values: Array) -> Array:
    """Values (K,) where a mask (K,) is true, else NaN."""
    found: Array = scene.by_rows(lambda rows: np.where(mask[rows], values[rows], np.nan))
    return found


def _rms(scene: Scene, values: Array) -> float:
    """Root of the mean square of the finite values; NaN without any."""
    squares = scene.store.by_rows(len(values), lambda rows: values[rows] ** 2)
    return float(np.sqrt(scene.store.mean(squares)))
