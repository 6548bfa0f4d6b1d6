"""Excursions of the averaged point outside the support polygon that are no errors."""

import numpy as np

from izmp_dynamics.stability.support_polygon import Outline
from izmp_dynamics.verdict.events.directions import edge_towards
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.events.push import described
from izmp_dynamics.verdict.excursions import Excursion, excursions_of
from izmp_dynamics.verdict.formatting import mm, seconds
from izmp_dynamics.verdict.pushes import PushStatistics
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.statistics import TrackStatistics


def excursions(
    scene: Scene, judged: TrackStatistics, pushes: tuple[PushStatistics, ...]
) -> list[Event]:
    """Make an event of each excursion of the judged track that its error does not explain.

    The significance is its depth over the standard deviation per axis of the averaged point.
    An average reaches half of its base to either side, so an excursion may begin as long before
    its cause; a push is named if it acted meanwhile, or if it is within that of an excursion.
    """
    name = 'CoP' if judged.name == 'cop' else 'IZMP'
    events = []
    for found in excursions_of(scene, judged.name, judged.error):
        if found.cause == 'error':
            continue
        edge = _edge(scene, judged.name, found)
        outside = (
            f'{name}, averaged over {seconds(scene.averaging_time)}, outside {edge} for '
            f'{seconds(found.duration)}, by up to {mm(found.depth)}'
        )
        reason = _pushed(found, pushes, scene.averaging_time)
        if found.cause == 'edge' and np.isfinite(found.cop_margin):
            reason = f'; the measured CoP is at the edge too{reason}'
        sigma = judged.error.sigma
        events.append(
            Event(
                found.start,
                found.start + found.duration,
                'excursion',
                f'{outside}{reason}',
                judged.name,
                found.depth,
                'm',
                found.depth / sigma if sigma > 0 else np.nan,
            )
        )
    return events


def _pushed(found: Excursion, pushes: tuple[PushStatistics, ...], reach: float) -> str:
    """The largest push that acted within `reach` [s] of an excursion, if there was one."""
    end = found.start + found.duration
    near = [
        push
        for push in pushes
        if push.start <= end + reach and found.start <= push.start + push.duration + reach
    ]
    return f'; pushed {described(max(near, key=lambda push: push.size))}' if near else ''


def _edge(scene: Scene, name: str, found: Excursion) -> str:
    """Which edge it is, seen from the robot, where the point is farthest outside."""
    averaged, time = scene.averaged(name), scene.timeline.time
    end = found.start + found.duration
    first = int(np.searchsorted(time, found.start - 1e-6))
    stop = int(np.searchsorted(time, end + 1e-6, side='right'))
    row = first + int(np.nanargmin(averaged.margin[first:stop]))
    evaluation = scene.evaluation
    soles = [foot.sole[row] for foot in evaluation.feet if foot.loaded[row]]
    outline = Outline.of(soles, evaluation.normal[row], evaluation.ground_point[row])
    if outline is None:
        return 'the support polygon'
    axes = evaluation.nif_R_root(slice(row, row + 1))[0, :2]
    point = axes @ averaged.point[row]
    corners = outline.corners @ axes.T
    nearest = min(
        (_nearest(corners[k - 1], corners[k], point) for k in range(len(corners))),
        key=lambda place: float(np.linalg.norm(point - place)),
    )
    return f'the {edge_towards(point - nearest)} edge'


def _nearest(start: np.ndarray, end: np.ndarray, point: np.ndarray) -> np.ndarray:
    """The point of the line from `start` to `end` that is nearest to a point, each (2,)."""
    along = end - start
    share = np.clip((point - start) @ along / max(float(along @ along), 1e-12), 0.0, 1.0)
    nearest: np.ndarray = start + share * along
    return nearest
