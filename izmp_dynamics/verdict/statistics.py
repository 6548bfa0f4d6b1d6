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
    """One wrench source over the whole recording, as docs/report_json.md describes its fields.

    Lengths in m, times in s, forces in N; NaN where there is no such number.
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
    """Differences of two points [m] in one frame, first less second; see docs/report_json.md."""

    frame: str
    bias_x: float
    bias_y: float
    rmse_x: float
    rmse_y: float
    correlation_x: float
    correlation_y: float


@dataclass(frozen=True)
class PairStatistics:
    """Horizontal distances [m] of two tracks at common instants; see docs/report_json.md.

    Where a CoP from normal forces alone is compared, they are along the line between the feet, and
    only while both feet carry load.
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
