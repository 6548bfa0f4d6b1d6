"""When the robot lies on the ground: it stood before, and is down for longer than a fall takes.

It is down where its centre of mass is lower than half of what it was, or where it is tilted by 45°
and its centre of mass is beside its feet, where none can stand: a quadruped that lies on its
side is half as high as before.
"""

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.timeline import Indices, Mask, Timeline
from izmp_dynamics.stability.evaluation import Foot
from izmp_dynamics.stability.fall_alarm import FALLEN
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.store import Store

FALLEN_HEIGHT = 0.5
"""Share of the height of the standing robot's COM below which it is down [-]."""

STANDS = 0.9
"""Share of the greatest height from which on the robot stands upright [-]."""

_REFERENCE_TIME = 1.0  # [s] of standing that is the reference
_SAMPLES = 2000


def standing_rows(timeline: Timeline, height: Array, carried: Mask) -> Indices:
    """Rows of the first second in which the robot stands; none if its height is never known.

    That is the first second of the recording, unless the robot is much higher later on: it may
    begin on the ground.

    Args:
        timeline: of the recording.
        height: (K,) of the centre of mass above the ground [m].
        carried: (K,) where the feet carry the robot, as far as that is known.
    """
    known: Mask = np.isfinite(height)
    able = np.flatnonzero(known & carried)
    rows = able if len(able) else np.flatnonzero(known)
    if not len(rows):
        return rows
    some = rows[:: max(1, len(rows) // _SAMPLES)]
    upright = STANDS * float(np.percentile(height[some], 90.0))
    first = _one_second(timeline, rows, 0)
    if np.median(height[first]) >= upright:
        return first
    return _one_second(timeline, rows, int(np.argmax(height[rows] >= upright)))


def _one_second(timeline: Timeline, rows: Indices, begin: int) -> Indices:
    time = timeline.time[rows]
    until = np.searchsorted(time, time[begin] + _REFERENCE_TIME, side='right')
    return rows[begin:until]


def tilted_beside(
    up: Array, standing: Indices, com: Array, feet: tuple[Foot, ...], store: Store
) -> Mask:
    """(K,) where the robot is tilted by 45° and its centre of mass is beside all of its feet.

    Args:
        up: (K, 3) vertical in the root frame; NaN where it is not known.
        standing: rows at which the robot stands upright.
        com: (K, 3) centre of mass [m].
        feet: their soles.
        store: keeps what is as long as the recording.
    """
    found: Mask = np.zeros(len(up), dtype=np.bool_)
    upright = up[standing]
    upright = upright[np.isfinite(upright).all(axis=1)]
    if not len(upright) or not feet:
        return found
    axis = np.median(upright, axis=0)
    axis = axis / np.linalg.norm(axis)
    cosine: Array = store.by_rows(len(up), lambda rows: up[rows] @ axis)
    rows = np.flatnonzero(cosine < np.cos(FALLEN))
    soles = tuple(store.take(foot.sole, rows) for foot in feet)
    every: Mask = np.ones((len(rows), len(feet)), dtype=np.bool_)
    vertical = store.take(up, rows)
    (margin,) = margins((store.take(com, rows),), soles, every, vertical)
    found[rows] = margin < 0.0
    return found


def times_lying(
    timeline: Timeline, low: Mask, beside: Mask, known: Mask, standing: Indices, longest: float
) -> tuple[slice, ...]:
    """Rows of each time in which the robot lies.

    Args:
        timeline: of the recording.
        low: (K,) where its centre of mass is low; low at the end of a recording it lies.
        beside: (K,) where it is tilted beside its feet.
        known: (K,) where the height is known.
        standing: rows at which it stands upright; before them it has not fallen.
        longest: who is up again after this time did not fall [s].
    """
    if not len(standing):
        return ()
    down, high = timeline.sustained(low | beside), timeline.sustained(known & ~(low | beside))
    last_high = int(np.max(np.flatnonzero(high), initial=-1))
    found: list[slice] = []
    for start, stop in zip(*(edges.tolist() for edges in timeline.runs(down)), strict=True):
        never_up = stop > last_high
        lasts = timeline.time[stop - 1] - timeline.time[start] > longest
        if start > standing[0] and (lasts or (never_up and low[start:stop].any())):
            found.append(slice(start, len(down) if never_up else stop))
            if never_up:
                break
    return tuple(found)
