"""The most important figure: where the points went on the ground, over the support polygons."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.store import Store
from izmp_dynamics.pages import styles
from izmp_dynamics.pages.styles import LineStyle
from izmp_dynamics.report import svg
from izmp_dynamics.report.decimation import decimated_path, robust_limits
from izmp_dynamics.report.figure import Figure, legend_of
from izmp_dynamics.report.footprints import Footprints, footprints, phases
from izmp_dynamics.report.svg import Axes
from izmp_dynamics.results.evaluation import Track
from izmp_dynamics.verdict.formatting import instant, mm, seconds
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary
from izmp_dynamics.verdict.timeline import Mask

LONGEST_VIEW = 4.0
"""A walk longer than this [m] is shown only around the instant of the minimum margin."""

_VIEW_RADIUS = 1.5  # [m] around that instant
_SHOWN_IN_NIF = 6
_REACH = (0.05, 0.3)  # [m] around the soles beyond which outliers are out of view
_POINTS = 4000
_DOTS = 2500
_DOT_STEP = 0.015  # restlessness from which on a line would be a scribble
_WIDE_ASPECT = 2.2
_DESCRIPTION = 'Tracks of the IZMP and the CoP on the ground over the support polygons'


@dataclass(frozen=True)
class _Ground:
    """Tracks and soles in the frame that is shown.

    Attributes:
        frame: 'world' or 'nif'.
        points: track name → (K, 2) [m].
        outlines: the soles and support polygons that are shown.
        shown: (K,) instants that the figure covers; None: all.
        visible: track name → its points at these instants.
    """

    frame: str
    points: dict[str, Array]
    outlines: Footprints
    shown: Mask | None
    visible: dict[str, Array]


@dataclass(frozen=True)
class _View:
    """The part of the ground that one drawing shows, with equal scales on both axes.

    Attributes:
        x: limits [m].
        y: limits [m].
        width: of the drawing [inch].
        height: of the drawing [inch].
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float


_DrawnTrack = tuple[str, LineStyle, Array, bool]
"""Name, style and points (K, 2) of a track, and whether they are a line."""


def ground_track(scene: Scene, summary: Summary) -> Figure | None:
    """Draw the tracks on the ground; None when there is no point at all."""
    scene.evaluation.store.release()
    ground = _ground(scene, summary)
    if not any(scene.store.has_numbers(points) for points in ground.points.values()):
        return None
    x, y = _limits(scene, ground)
    wide = x[1] - x[0] > _WIDE_ASPECT * (y[1] - y[0])
    views = [_fit(x, y, w) for w in ((styles.WIDE, styles.NARROW) if wide else (styles.HALF,))]
    tracks = _drawn_tracks(scene.store, ground.visible, views[0].x[1] - views[0].x[0])
    place = _place_of_smallest_margin(scene, summary, ground)
    svgs = [_draw(ground, tracks, place, view) for view in views]
    ring = ((styles.ring_sample(), _ring_in_words(scene)),) if np.isfinite(place).all() else ()
    samples = {
        name: styles.legend_svg(style) if as_line else styles.dot_sample(style)
        for name, style, _, as_line in tracks
    }
    return Figure(
        name='ground',
        title='On the ground, seen from above',
        svgs=tuple(svgs),
        legend=(
            *legend_of(scene, samples),
            (styles.patch_sample('sole'), 'support polygon'),
            *ring,
        ),
        caption=_caption(scene, summary, ground),
        height=views[0].height,
        out_of_view={
            name: _share_outside(scene, points, views[0])
            for name, points in ground.visible.items()
        },
    )


def _ground(scene: Scene, summary: Summary) -> _Ground:
    """Choose the frame and the part of the recording to show."""
    world = _world_points(scene)
    frame = 'world' if world else 'nif'
    points = world or scene.points
    loaded = scene.store.true(scene.loaded)
    instants = phases(scene) if world else scene.sampled(loaded, _SHOWN_IN_NIF)
    shown, visible = _shown(scene, summary, points), points
    if shown is not None:
        instants = instants[shown[instants]]
        visible = {
            name: scene.by_rows(partial(_chosen, track, shown)) for name, track in points.items()
        }
    return _Ground(frame, points, footprints(scene, instants, frame), shown, visible)


def _chosen(points: Array, shown: Mask, rows: slice) -> Array:
    chosen: Array = points[rows][shown[rows]]
    return chosen


def _world_points(scene: Scene) -> dict[str, Array]:
    """Tracks in the world; empty unless at least half of all points are known there."""
    evaluation = scene.evaluation
    found = {}

    def point(track: Track, rows: slice) -> Array:
        points = evaluation.in_world(track.point[rows], rows)
        if points is None:
            return np.full((rows.stop - rows.start, 2), np.nan)
        points[~finite_rows(points)] = np.nan
        return points[:, :2]

    for name, track in evaluation.tracks.items():
        found[name] = scene.by_rows(partial(point, track))
    known = sum(len(scene.store.finite(points[:, 0])) for points in found.values())
    possible = sum(len(scene.store.finite(points[:, 0])) for points in scene.points.values())
    return found if 2 * known >= possible > 0 else {}


def _shown(scene: Scene, summary: Summary, points: dict[str, Array]) -> Mask | None:
    """Restrict a long walk to the surroundings of the instant of the minimum margin."""
    judged = summary.judged
    if judged is None:
        return None
    track = points[judged.name]
    low, high = _central_part(scene, track)
    if not (high - low).max() > LONGEST_VIEW:
        return None
    place = track[int(np.searchsorted(scene.timeline.time, judged.averaged_margin_time))]
    near: Mask = scene.by_rows(lambda rows: np.abs(track[rows] - place).max(axis=1) < _VIEW_RADIUS)
    return near


def _central_part(scene: Scene, points: Array) -> Array:
    """(2, 2) lower and upper end of what 98 % of points (K, 2) reach over [m]."""
    percentile = scene.store.percentile
    return np.array([[percentile(axis, q) for axis in points.T] for q in (1, 99)])


def _limits(scene: Scene, ground: _Ground) -> tuple[tuple[float, float], tuple[float, float]]:
    """Show soles and tracks, but only the surroundings of the soles."""
    tracks = list(ground.visible.values())
    corners = ground.outlines.corners
    corners = corners if len(corners) else _calmest(scene, tracks)
    low, high = corners.min(axis=0), corners.max(axis=0)
    reach = float(np.clip((high - low).max() / 2, *_REACH))
    limits = []
    for axis in (0, 1):
        bounds = (float(low[axis]) - reach, float(high[axis]) + reach)
        signals = [corners[:, axis], *(track[:, axis] for track in tracks)]
        limits.append(robust_limits(signals, bounds, scene.store))
    return limits[0], limits[1]


def _calmest(scene: Scene, tracks: list[Array]) -> Array:
    """Without soles: the central part of the track that wanders least."""
    parts = [_central_part(scene, track) for track in tracks if scene.store.has_numbers(track)]
    return min(parts, key=lambda part: float(np.ptp(part, axis=0).max()))


def _fit(x: tuple[float, float], y: tuple[float, float], width: float) -> _View:
    """Find the height of the drawing and widen the limits so that both scales are equal."""
    inner = width - svg.LEFT - svg.RIGHT
    height = float(np.clip(inner * (y[1] - y[0]) / (x[1] - x[0]), 1.3, min(inner, 5.0)))
    half = max(x[1] - x[0], (y[1] - y[0]) * inner / height) / 2
    x_centre, y_centre = sum(x) / 2, sum(y) / 2
    return _View(
        x=(x_centre - half, x_centre + half),
        y=(y_centre - half * height / inner, y_centre + half * height / inner),
        width=width,
        height=height + svg.BOTTOM + svg.TOP,
    )


def _drawn_tracks(store: Store, tracks: dict[str, Array], extent: float) -> list[_DrawnTrack]:
    """Choose how each track is drawn, from back to front.

    Args:
        store: keeps the tracks.
        tracks: name → points.
        extent: of the view [m].
    """
    restless = {name: styles.restlessness(track, extent, store) for name, track in tracks.items()}
    drawn = []
    for name, style in styles.back_to_front(restless):
        as_line = len(store.finite(tracks[name][:, 0])) > 1 and restless[name] <= _DOT_STEP
        if not as_line:  # a line would only be a scribble
            style = replace(style, opacity=0.6)
        points = (_line if as_line else _dots)(store, tracks[name])
        drawn.append((name, style, points, as_line))
    return drawn


def _draw(ground: _Ground, tracks: list[_DrawnTrack], place: Array, view: _View) -> str:
    """Draw a view; `place` (2,) is that of the smallest margin [m]."""
    unit, scale = ('mm', 1000.0) if view.x[1] - view.x[0] < 2.0 else ('m', 1.0)
    x, y = ((scale * low, scale * high) for low, high in (view.x, view.y))
    (axes,) = svg.stacked(view.width, view.height, x, [y])
    _draw_polygons(axes, ground, scale)
    for _, style, points, as_line in tracks:
        if as_line:
            axes.line(scale * points[:, 0], scale * points[:, 1], style)
        else:
            diameter = 2.2 if len(points) > 1 else 6.0
            axes.dots(scale * points, style.colour, diameter, style.opacity)
    axes.ring(*(scale * place).tolist())
    along = ('x forward', 'y to the left')
    if ground.frame == 'world':
        along = ('x in the world', 'y in the world')
    label_x, label_y = (f'{text} [{unit}]' for text in along)
    name, size = f'ground-{round(10 * view.width)}', (view.width, view.height)
    return svg.to_svg(name, _DESCRIPTION, size, [axes], [label_y], label_x)


def _draw_polygons(axes: Axes, ground: _Ground, scale: float) -> None:
    outlines = ground.outlines
    # In nif the soles move: many outlines overlap, so each is drawn lightly.
    strength = 1.0 if ground.frame == 'world' else 0.5
    for polygons, fill, line in ((outlines.polygons, 0.13, 0.3), (outlines.soles, 0.16, 0.6)):
        scaled = (scale * polygon for polygon in polygons)
        axes.polygons(scaled, 'sole', strength * fill, strength * line)


def _line(store: Store, points: Array) -> Array:
    """Points of a path (K, 2) by which it can be drawn."""
    return store.take(points, decimated_path(points, _POINTS, store))


def _dots(store: Store, points: Array) -> Array:
    """Evenly some of the known points of a path (K, 2)."""
    known = store.true(store.by_rows(len(points), lambda rows: np.isfinite(points[rows, 0])))
    return store.take(points, known[:: max(1, -(-len(known) // _DOTS))])


def _place_of_smallest_margin(scene: Scene, summary: Summary, ground: _Ground) -> Array:
    """(2,) place of the judged point, averaged, then [m]; NaN without any."""
    if summary.judged is None or not np.isfinite(summary.judged.averaged_margin_time):
        return np.full(2, np.nan)
    k = int(np.searchsorted(scene.timeline.time, summary.judged.averaged_margin_time))
    rows = slice(k, k + 1)
    point = scene.averaged(summary.judged.name).point[rows]
    placed = scene.evaluation.in_world(point, rows) if ground.frame == 'world' else None
    place: Array = (scene.level(point, rows) if placed is None else placed)[0, :2]
    return place


def _ring_in_words(scene: Scene) -> str:
    return f'smallest margin, averaged over {seconds(scene.averaging_time)}'


def _share_outside(scene: Scene, points: Array, view: _View) -> float:
    def inside(rows: slice) -> Mask:
        x, y = points[rows][np.isfinite(points[rows, 0])].T
        within: Mask = (view.x[0] <= x) & (x <= view.x[1]) & (view.y[0] <= y) & (y <= view.y[1])
        return within

    share = scene.store.mean(scene.store.by_rows(len(points), inside))
    return 1.0 - share if np.isfinite(share) else 0.0


def _caption(scene: Scene, summary: Summary, ground: _Ground) -> str:
    if ground.frame == 'world':
        text = 'In the world. The soles are drawn where they stood.'
    else:
        text = (
            'In nif, which moves with the robot: x points forward, y to the left. The soles are '
            f'drawn at up to {_SHOWN_IN_NIF} instants.'
        )
    if ground.shown is not None and summary.judged is not None:
        track = ground.points[summary.judged.name]
        extent = max(float(np.ptp(scene.store.extremes(axis))) for axis in track.T)
        text += (
            f' The whole track reaches over {mm(extent)}; shown are the {2 * _VIEW_RADIUS:.0f} m '
            f'around the smallest margin at {instant(summary.judged.averaged_margin_time)}.'
        )
    return text
