"""Excursions of the averaged point outside the support polygon, and what they come from."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.errors import TrackError
from izmp_dynamics.report.scene import Scene
from izmp_dynamics.report.significance import significance
from izmp_dynamics.report.timeline import Indices, Mask

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
    timeline = scene.timeline
    judged = scene.judged(name)
    margin = np.where(judged, scene.averaged(name).margin, np.nan)
    outside = margin < 0
    instants = np.flatnonzero(outside)
    first, last = timeline.runs(outside)
    deep = np.concatenate([[0], np.cumsum(margin < -TOLERANCE)])
    kept = deep[last] > deep[first]
    first, last = first[kept], last[kept]
    if not len(first):
        return ()
    with_cop = name != 'cop' and scene.cop_is_whole
    cop = scene.averaged('cop').margin if with_cop else np.full(len(margin), np.nan)
    sizes, stands_out = _significance(scene, name, first, last, with_cop)
    lows, highs = np.searchsorted(instants, first), np.searchsorted(instants, last)
    depth = over_runs(np.maximum, -margin[instants], lows, highs)
    duration = over_runs(np.add, timeline.span[instants], lows, highs)
    throw = over_runs(np.add, (-margin * timeline.span)[instants], lows, highs)
    cop_margin = over_runs(np.fmin, cop[instants], lows, highs)
    found = []
    for k in range(len(first)):
        if cop_margin[k] > TOLERANCE:
            cause = 'push' if stands_out[k] else 'error'
        else:
            at_edge = np.isfinite(cop_margin[k]) or depth[k] > error.uncertainty
            cause = 'edge' if at_edge else 'error'
        found.append(
            Excursion(
                start=float(timeline.time[first[k]]),
                duration=float(duration[k]),
                depth=float(depth[k]),
                throw=float(throw[k]) / scene.time_constant,
                cop_margin=float(cop_margin[k]),
                cause=cause,
                significance=float(sizes[k]),
            )
        )
    return tuple(sorted(found, key=lambda found: (found.cause == 'error', -found.throw)))


def over_runs(ufunc: np.ufunc, values: Array, first: Indices, last: Indices) -> Array:
    """Reduce `values` over each of the disjoint, ascending runs [first, last)."""
    if not len(first):
        return np.empty(0)
    padded = np.append(values, np.nan)
    reduced: Array = ufunc.reduceat(padded, np.ravel([first, last], order='F'))[::2]
    return reduced


def _significance(
    scene: Scene, name: str, first: Indices, last: Indices, with_cop: bool
) -> tuple[Array, Mask]:
    """How far each gap to the CoP stands out of all others; NaN and False without a CoP."""
    if not with_cop:
        return np.full(len(first), np.nan), np.zeros(len(first), dtype=bool)
    both = scene.judged(name) & scene.judged('cop')
    points = [scene.averaged(track).point for track in (name, 'cop')]
    level = scene.by_rows(
        lambda rows: np.where(
            both[rows, None], scene.level(points[0][rows] - points[1][rows], rows), np.nan
        )
    )
    events = list(zip(first.tolist(), last.tolist(), strict=True))
    return significance(scene.timeline.time, level, events, _FLOOR)
