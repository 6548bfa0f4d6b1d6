"""Numbers about one track and about two tracks against each other; NaN-safe throughout.

A correlation depends on the frame: the axis in which a robot walks has a large range in the world
and a small one in a frame that walks along. So it never stands alone: beside it are the RMSE and
the bias per axis, above all in the frame of the loaded sole, whose axes an engineer can see.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, finite_rows
from izmp_dynamics.base.robust import finite, lowest, mean, percentile, rms
from izmp_dynamics.verdict.errors import (
    TOLERANCE,
    Excursion,
    TrackError,
    excursions_of,
    track_error,
)
from izmp_dynamics.verdict.scene import Scene, label_of
from izmp_dynamics.verdict.timeline import running_sum

LISTED = 12
"""Excursions that are listed, the worst first."""

_CONSTANT = 1e-14  # smaller deviations from the mean, relative to the values, are rounding errors


@dataclass(frozen=True)
class TrackStatistics:
    """One wrench source over the whole recording; lengths in m, times in s, forces in N.

    Attributes:
        name: 'mr_ad', 'ir_md' or 'cop'.
        label: how the report calls it.
        valid_share: share of all instants at which there is a point.
        evaluated_time: loaded time with a margin: what the verdict rests on.
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

    def caused(self, cause: str) -> list[Excursion]:
        """Excursions with this cause, those first that throw farthest."""
        return [found for found in self.excursions if found.cause == cause]


@dataclass(frozen=True)
class AxisStatistics:
    """Differences of two points in one frame, first less second; lengths in m.

    Attributes:
        frame: 'sole': that of the loaded sole that carries most; 'root': of the root link; 'nif':
            the non-inertial frame.
        bias_x: mean difference in x.
        bias_y: mean difference in y.
        rmse_x: root of the mean squared difference in x, with the bias.
        rmse_y: the same in y.
        correlation_x: of the x coordinates.
        correlation_y: of the y coordinates.
    """

    frame: str
    bias_x: float
    bias_y: float
    rmse_x: float
    rmse_y: float
    correlation_x: float
    correlation_y: float


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


def track_statistics(scene: Scene, name: str, pushed: Flags | None = None) -> TrackStatistics:
    """Describe the track `name` of `scene`; `pushed` (K,) are instants about a push."""
    timeline = scene.timeline
    evaluated, known = scene.judged[name], scene.known[name]
    margin = np.where(evaluated, scene.evaluation.tracks[name].margin, np.nan)
    outside = margin < 0
    error = track_error(scene, name, pushed)
    excursions = excursions_of(scene, name, error, pushed)
    averaged = scene.judged_margin(name)
    force = np.where(known, scene.normal_forces[name], np.nan)
    between = np.where(known, scene.between_feet(name)[0], np.nan)
    mean_force = timeline.mean(force)
    longest, longest_at = timeline.longest_run(outside)
    return TrackStatistics(
        name=name,
        label=label_of(name),
        valid_share=mean(1.0 * np.isfinite(scene.points[name][:, 0])),
        evaluated_time=timeline.total(evaluated),
        inside_share=timeline.share(~outside, evaluated),
        outside_time=timeline.total(outside),
        first_percentile_margin=percentile(margin, 1.0),
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
        force_rms_error=rms(force - scene.measured_force),
        load_split_correlation=correlation(between, scene.load_split),
        **_lowest(scene, margin, 'smallest_margin'),
        **_lowest(scene, averaged, 'averaged_margin'),
    )


def _lowest(scene: Scene, values: Array, name: str) -> dict[str, float]:
    """Smallest value and its instant; NaN without any."""
    row = lowest(values)
    if row is None:
        return {name: np.nan, f'{name}_time': np.nan}
    return {name: float(values[row]), f'{name}_time': float(scene.timeline.time[row])}


def _possible_throw(scene: Scene, name: str, margin: Array, error: TrackError) -> float:
    """Largest throw within the time in which a robot falls, if the point is off by its error.

    Where a CoP is known in both directions it bounds the error: where it is well inside, an
    excursion needs a push, and pushes are looked for. Without one only the noise counts: of an
    assumed bias nothing follows.
    """
    time = scene.timeline.time
    bound = margin - (error.uncertainty if error.against == 'cop' else error.usual)
    if name != 'cop' and scene.cop_is_whole and not scene.feet_are_doubtful:
        bound = np.fmax(bound, scene.averaged['cop'].margin - TOLERANCE)
    outwards = np.maximum(-np.nan_to_num(bound, nan=0.0), 0.0)
    gained = running_sum(outwards * scene.timeline.span)
    until = np.searchsorted(time, time + scene.falls_for, side='right')
    until -= until < len(time)  # the last instant within the time
    return float((gained[until] - gained[:-1]).max(initial=0.0)) / scene.time_constant


def pair_statistics(scene: Scene, first: str, second: str) -> PairStatistics:
    """Compare the points of two tracks of `scene` where both have values."""
    both = scene.known[first] & scene.known[second]
    along, related = 'plane', np.nan
    frames: tuple[AxisStatistics, ...] = ()
    if 'cop' in (first, second) and not scene.cop_is_whole:
        along = 'line between the feet'
        loaded = np.all([foot.loaded for foot in scene.evaluation.feet], axis=0)
        places = [scene.between_feet(name) for name in (first, second)]
        one, other = (np.where(both & loaded, place * half, np.nan) for place, half in places)
        related = correlation(one, other)
        distance = finite(np.abs(one - other))
    else:
        frames = axis_statistics(scene, first, second, both)
        distance = finite(np.where(both, scene.apart(first, second), np.nan))
    return PairStatistics(
        first=first,
        second=second,
        label=f'{label_of(first)} – {label_of(second)}',
        along=along,
        count=len(distance),
        mean=mean(distance),
        rms=rms(distance),
        largest=float(distance.max()) if len(distance) else np.nan,
        frames=frames,
        correlation=related,
    )


def axis_statistics(
    scene: Scene, first: str, second: str, rows: Flags
) -> tuple[AxisStatistics, ...]:
    """Compare the points of two tracks at some instants (K,) in each frame that is known."""
    points = [scene.evaluation.tracks[name].point for name in (first, second)]
    found = []
    for frame in ('sole', 'root', 'nif'):
        if frame == 'sole':
            a, b = (scene.columns.by_blocks(len(rows), partial(scene.in_sole, p)) for p in points)
        else:
            a, b = points if frame == 'root' else (scene.points[name] for name in (first, second))
        known = rows & finite_rows(a) & finite_rows(b)
        if known.any():
            axes = [_compare(a[known, axis], b[known, axis]) for axis in range(2)]
            found.append(AxisStatistics(frame, *np.transpose(axes).ravel().tolist()))
        scene.columns.release()
    return tuple(found)


def _compare(a: Array, b: Array) -> tuple[float, float, float]:
    """Mean difference, root of the mean squared one, and correlation of known values (N,)."""
    off = a - b
    return float(off.mean()), float(np.sqrt((off * off).mean())), correlation(a, b)


def correlation(first: Array, second: Array) -> float:
    """Pearson's correlation (K,) over the common finite instants.

    NaN where fewer than three are common, or a signal is constant.
    """
    known = np.isfinite(first) & np.isfinite(second)
    a, b = first[known], second[known]
    if len(a) < 3:
        return float('nan')
    x, y = a - a.mean(), b - b.mean()
    scale, size = np.sqrt((x @ x) * (y @ y)), np.sqrt((a @ a) * (b @ b))
    return float(x @ y / scale) if scale > _CONSTANT * size else float('nan')
