"""Where the points went on the ground, over the support polygons: what a picture of it shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.model.feet import hull_area
from izmp_dynamics.pages.styles import (
    HALF,
    STYLES,
    WIDE,
    LineStyle,
    back_to_front,
    restlessness,
)
from izmp_dynamics.report.plots import robust_limits
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.results.evaluation import Track as Points
from izmp_dynamics.stability.support_polygon import support_polygon
from izmp_dynamics.verdict.formatting import instant, mm
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary
from izmp_dynamics.verdict.timeline import Mask

LONGEST_VIEW = 4.0
"""A walk longer than this [m] is shown only around the instant of the minimum margin."""

_VIEW_RADIUS = 1.5  # [m] around that instant
_SHOWN_PHASES = 200  # at most so many phases of contact are drawn
_SHORTEST_PHASE = 0.04  # [s] a change of the loaded feet for less is a flicker
_SHOWN_IN_NIF = 6
_SMALLEST_AREA = 1e-9  # [m²] of an outline; corners on a line have rounding errors
_REACH = (0.05, 0.3)  # [m] around the soles beyond which outliers are out of view
_POINTS, _DOTS = 4000, 1200
_FAINT = 0.4  # opacity of dots: where they lie densely, they are darker
_DOT_STEP = 0.015  # restlessness from which on a line would be a scribble
_WIDE_ASPECT = 2.2
_MARGINS = 0.8  # [inch] beside the axes

Limits = tuple[float, float]


@dataclass(frozen=True)
class Track:
    """The point of a method on the ground.

    Attributes:
        name: of the method.
        style: how it is drawn.
        points: (P, 2) [m].
        as_line: whether they are drawn as a line, else as dots.
    """

    name: str
    style: LineStyle
    points: Array
    as_line: bool


@dataclass(frozen=True)
class Ground:
    """The ground, seen from above.

    Attributes:
        frame: 'world' or 'nif'.
        x: limits [m] of what should be in view.
        y: limits [m].
        tracks: from back to front.
        soles: outlines (V, 2) [m] of the loaded soles at some instants.
        polygons: outlines (V, 2) [m] of the support polygons there.
        place: (2,) of the smallest margin of the averaged point [m]; NaN without any.
        out_of_view: track → share of its points that the picture does not show.
        caption: what is shown.
    """

    frame: str
    x: Limits
    y: Limits
    tracks: tuple[Track, ...]
    soles: tuple[Array, ...]
    polygons: tuple[Array, ...]
    place: Array
    out_of_view: Mapping[str, float]
    caption: str

    @property
    def is_wide(self) -> bool:
        """Whether a picture of it is as wide as the page."""
        return _is_wide(self.x, self.y)


def ground_of(scene: Scene, summary: Summary) -> Ground | None:
    """Choose what to show of an evaluation; None when there is no point at all."""
    world = _world_points(scene)
    frame, points = ('world', world) if world else ('nif', scene.points)
    if not any(np.isfinite(track).any() for track in points.values()):
        return None
    if world:
        instants = scene.sampled(scene.phases(_SHORTEST_PHASE), _SHOWN_PHASES)
    else:
        instants = scene.sampled(np.flatnonzero(scene.loaded), _SHOWN_IN_NIF)
    caption = (
        'In the world. The soles are drawn where they stood.'
        if world
        else 'In nif, which moves with the robot: x in the sagittal plane of the root. The '
        f'soles are drawn at up to {_SHOWN_IN_NIF} instants.'
    )
    near = _near_smallest_margin(scene, summary, points)
    if near is not None and summary.judged is not None:
        extent = float((np.fmax.reduce(points[summary.judged.name])
                        - np.fmin.reduce(points[summary.judged.name])).max())  # fmt: skip
        caption += (
            f' The whole track reaches over {mm(extent)}; shown are the {2 * _VIEW_RADIUS:.0f} m '
            f'around the smallest margin at {instant(_smallest_at(summary))}.'
        )
        instants = instants[near[instants]]
        points = {name: track[near] for name, track in points.items()}
    outlines = [_outlines(scene, int(k), frame) for k in instants]
    soles = tuple(sole for some, _ in outlines for sole in some)
    polygons = tuple(polygon for _, polygon in outlines if polygon is not None)
    x, y = _limits(list(points.values()), polygons)
    view = fitted(x, y, WIDE if _is_wide(x, y) else HALF)
    return Ground(
        frame=frame,
        x=x,
        y=y,
        tracks=(
            *_tracks(points, view[0][1] - view[0][0]),
            *_averaged(scene, summary, frame, near),
        ),
        soles=soles,
        polygons=polygons,
        place=_place_of_smallest_margin(scene, summary, frame),
        out_of_view={name: _share_outside(track, view) for name, track in points.items()},
        caption=caption,
    )


def fitted(x: Limits, y: Limits, width: float) -> tuple[Limits, Limits, float]:
    """Widen limits so that both scales are equal in a picture of `width` [inch].

    Returns:
        limits along x and y, and the height of the axes [inch].
    """
    inner = width - _MARGINS
    height = float(np.clip(inner * (y[1] - y[0]) / (x[1] - x[0]), 1.3, min(inner, 5.0)))
    half = max(x[1] - x[0], (y[1] - y[0]) * inner / height) / 2
    x_centre, y_centre, tall = sum(x) / 2, sum(y) / 2, half * height / inner
    return (x_centre - half, x_centre + half), (y_centre - tall, y_centre + tall), height


def _is_wide(x: Limits, y: Limits) -> bool:
    return x[1] - x[0] > _WIDE_ASPECT * (y[1] - y[0])


def _world_points(scene: Scene) -> dict[str, Array]:
    """Tracks in the world; empty unless at least half of all points are known there."""
    evaluation = scene.evaluation

    def in_world(track: Points, rows: slice) -> Array:
        points = evaluation.in_world(track.point[rows], rows)
        assert points is not None
        points[~finite_rows(points)] = np.nan
        return points[:, :2]

    if evaluation.world_p_root is None or evaluation.world_R_root is None:
        return {}
    found: dict[str, Array] = {
        name: scene.columns.by_blocks(len(evaluation.stamps), partial(in_world, track))
        for name, track in evaluation.tracks.items()
    }
    known, possible = (
        sum(np.isfinite(points[:, 0]).sum() for points in tracks.values())
        for tracks in (found, scene.points)
    )
    return found if 2 * known >= possible > 0 else {}


def _near_smallest_margin(scene: Scene, summary: Summary, points: dict[str, Array]) -> Mask | None:
    """(K,) surroundings of the instant of the minimum margin, in a long walk; None: show all."""
    if summary.judged is None:
        return None
    track = points[summary.judged.name]
    if not np.ptp(_central_part(track), axis=0).max() > LONGEST_VIEW:
        return None
    place = track[int(np.searchsorted(scene.timeline.time, _smallest_at(summary)))]
    near: Mask = np.abs(track - place).max(axis=1) < _VIEW_RADIUS
    return near


def _central_part(points: Array) -> Array:
    """(2, 2) lower and upper end of what 98 % of points (K, 2) reach over [m]."""
    known = points[np.isfinite(points).all(axis=1)]
    return np.percentile(known, (1, 99), axis=0) if len(known) else np.full((2, 2), np.nan)


def _outlines(scene: Scene, k: int, frame: str) -> tuple[list[Array], Array | None]:
    """Outlines of the loaded soles and of the support polygon at an instant."""
    loaded = [_corners(scene, foot, k, frame) for foot in scene.evaluation.feet if foot.loaded[k]]
    soles = [outline for outline in map(_hull, loaded) if outline is not None]
    return soles, _hull(np.concatenate(loaded)) if loaded else None


def _corners(scene: Scene, foot: Foot, k: int, frame: str) -> Array:
    R, p = scene.evaluation.world_R_root, scene.evaluation.world_p_root
    if frame == 'nif' or R is None or p is None:
        in_nif: Array = scene.soles_in_nif(foot, np.array([k]))[0]
        return in_nif
    in_world: Array = (foot.sole[k] @ R[k].T + p[k])[:, :2]
    scene.columns.release()  # with one row, the system maps much around it
    return in_world


def _hull(corners: Array) -> Array | None:
    """Return the convex hull of `corners` (V, 2); None when it has no area."""
    hull = support_polygon(corners[np.isfinite(corners).all(axis=1)])
    if hull is None or hull_area(map(tuple, hull.tolist())) < _SMALLEST_AREA:
        return None
    return hull


def _limits(tracks: list[Array], polygons: tuple[Array, ...]) -> tuple[Limits, Limits]:
    """Show soles and tracks, but only the surroundings of the soles.

    Without soles, those of the central part of the track that wanders least.
    """
    if polygons:
        corners = np.concatenate(polygons)
    else:
        parts = [_central_part(track) for track in tracks if np.isfinite(track).any()]
        corners = min(parts, key=lambda part: float(np.ptp(part, axis=0).max()))
    low, high = corners.min(axis=0), corners.max(axis=0)
    reach = float(np.clip((high - low).max() / 2, *_REACH))
    x, y = (
        robust_limits(
            [corners[:, axis], *(track[:, axis] for track in tracks)],
            (float(low[axis]) - reach, float(high[axis]) + reach),
        )
        for axis in (0, 1)
    )
    return x, y


def _tracks(points: Mapping[str, Array], extent: float) -> tuple[Track, ...]:
    """Choose how each track is drawn, from back to front; `extent` is that of the view [m]."""
    restless = {name: restlessness(track, extent) for name, track in points.items()}
    drawn = []
    for name, style in back_to_front(restless):
        shown = points[name]
        known = shown[np.isfinite(shown[:, 0])]
        as_line = len(known) > 1 and restless[name] <= _DOT_STEP
        if not as_line:  # a line would only be a scribble
            shown, style = known, replace(style, opacity=_FAINT)
        most = _POINTS if as_line else _DOTS
        drawn.append(Track(name, style, shown[:: max(1, -(-len(shown) // most))], as_line))
    return tuple(drawn)


def _averaged(scene: Scene, summary: Summary, frame: str, near: Mask | None) -> Iterator[Track]:
    """The way of the averaged point that the verdict rests on."""
    if summary.judged is not None:
        points, count = scene.averaged(summary.judged.name).point, len(scene.timeline.time)
        way = scene.columns.by_blocks(count, lambda rows: _seen(scene, points, rows, frame))
        way = way if near is None else way[near]
        yield Track('averaged', STYLES['averaged'], way[:: max(1, -(-len(way) // _POINTS))], True)


def _seen(scene: Scene, points: Array, rows: slice, frame: str) -> Array:
    """Points (S, 3) of some rows on the ground (S, 2), in the world or in nif."""
    placed = scene.evaluation.in_world(points[rows], rows) if frame == 'world' else None
    return (scene.level(points[rows], rows) if placed is None else placed)[:, :2]


def _smallest_at(summary: Summary) -> float:
    """When the judged point, averaged, is nearest to the edge, errors left out [s]."""
    judged = summary.judged
    return np.nan if judged is None else summary.verdict.averaged_margin(judged)[1]


def _place_of_smallest_margin(scene: Scene, summary: Summary, frame: str) -> Array:
    """(2,) place of the judged point, averaged, then [m]; NaN without any."""
    if summary.judged is None or not np.isfinite(_smallest_at(summary)):
        return np.full(2, np.nan)
    k = int(np.searchsorted(scene.timeline.time, _smallest_at(summary)))
    point = scene.averaged(summary.judged.name).point
    place: Array = _seen(scene, point, slice(k, k + 1), frame)[0]
    return place


def _share_outside(points: Array, view: tuple[Limits, Limits, float]) -> float:
    (left, right), (low, high), _ = view
    x, y = points[np.isfinite(points[:, 0])].T
    within = (left <= x) & (x <= right) & (low <= y) & (y <= high)
    return float(1.0 - within.mean()) if len(within) else 0.0
