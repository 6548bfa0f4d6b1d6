"""Excursions of the averaged point outside the support polygon, and what they come from."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.verdict.errors import TrackError
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.significance import significance
from izmp_dynamics.verdict.timeline import Indices, Mask, running_sum

TOLERANCE = 0.005
"""Distance from the edge [m] that the geometry of soles and model leaves open at best."""

_FLOOR = 0.001
"""Least standard deviation [m] of the gap between IZMP and CoP that an event is compared with."""


@dataclass(frozen=True)
class Excursion:
    """A stretch in which the averaged point was outside the support polygon.

    Attributes:
        start: first instant outside [s].
        duration: time spent outside [s].
        depth: farthest distance outside [m].
        throw: ∫ distance dt / √(h/g) [m]: how far it carries the capture point outwards.
        cop_margin: minimum margin of the averaged CoP meanwhile [m]; NaN without a CoP.
        cause: 'edge': nothing contradicts that the robot was on that edge; 'push': the CoP stayed
            inside, and no error in the recording is nearly as large; 'error': the CoP stayed
            inside, and errors as large occur elsewhere, or it is within the uncertainty.
        significance: size of the gap to the CoP in its standard deviations; NaN without a CoP.
    """

    start: float
    duration: float
    depth: float
    throw: float
    cop_margin: float
    cause: str
    significance: float


def excursions_of(scene: Scene, name: str, error: TrackError) -> tuple[Excursion, ...]:
    """Find the excursions of a track; errors last, those first that throw farthest."""
    timeline, margin = scene.timeline, scene.judged_margin(name)
    first, last = timeline.runs(margin < 0)
    deep = running_sum(margin < -TOLERANCE)
    kept = deep[last] > deep[first]
    first, last = first[kept], last[kept]
    if not len(first):
        return ()
    with_cop = name != 'cop' and scene.cop_is_whole
    cop = scene.averaged('cop').margin if with_cop else None
    sizes, stands_out = _significance(scene, name, first, last, with_cop)
    runs = [slice(*run) for run in zip(first.tolist(), last.tolist(), strict=True)]
    found = []
    for k, run in enumerate(runs):
        depth, span = -margin[run], timeline.span[run]
        deepest = float(depth.max())
        cop_margin = np.nan if cop is None else float(np.fmin.reduce(cop[run]))
        if cop_margin > TOLERANCE:
            cause = 'push' if stands_out[k] else 'error'
        else:
            at_edge = np.isfinite(cop_margin) or deepest > error.uncertainty
            cause = 'edge' if at_edge else 'error'
        found.append(
            Excursion(
                start=float(timeline.time[run.start]),
                duration=float(span.sum()),
                depth=deepest,
                throw=float((depth * span).sum()) / scene.time_constant,
                cop_margin=cop_margin,
                cause=cause,
                significance=float(sizes[k]),
            )
        )
    return tuple(sorted(found, key=lambda found: (found.cause == 'error', -found.throw)))


def _significance(
    scene: Scene, name: str, first: Indices, last: Indices, with_cop: bool
) -> tuple[Array, Mask]:
    """How far each gap to the CoP stands out of all others; NaN and False without a CoP."""
    if not with_cop:
        return np.full(len(first), np.nan), np.zeros(len(first), dtype=bool)
    both = scene.judged(name) & scene.judged('cop')
    point, cop = (scene.averaged(track).point for track in (name, 'cop'))

    def gap(rows: slice) -> Array:
        off = scene.level(point[rows] - cop[rows], rows)
        level: Array = np.where(both[rows, None], off, np.nan)
        return level

    events = list(zip(first.tolist(), last.tolist(), strict=True))
    gaps = scene.columns.by_blocks(len(both), gap)
    return significance(scene.timeline.time, gaps, events, _FLOOR)
