"""When the robot lies on the ground: it stood before, and is down for longer than a fall takes.

It is down where its centre of mass is lower than half of what it was, or where it is tilted by 45°
and its centre of mass is beside its feet, where none can stand: a quadruped that lies on its
side is half as high as before.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.store import Store
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.stability.fall_probability import FALLEN
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline

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
    store = timeline.store
    known: Mask = timeline.by_rows(lambda rows: np.isfinite(height[rows]))
    able = known & carried if (known & carried).any() else known
    rows = store.true(able)
    if not len(rows):
        return rows
    some = rows[:: max(1, len(rows) // _SAMPLES)]
    upright = STANDS * float(np.percentile(store.take(height, some), 90.0))
    first = _one_second(timeline, rows, 0)
    if np.median(height[first]) >= upright:
        return first
    high = store.true(timeline.by_rows(lambda rows: able[rows] & (height[rows] >= upright)))
    return _one_second(timeline, rows, int(np.searchsorted(rows, high[0])) if len(high) else 0)


def _one_second(timeline: Timeline, rows: Indices, begin: int) -> Indices:
    until = timeline.time[rows[begin]] + _REFERENCE_TIME
    after = np.searchsorted(timeline.time, until, side='right')
    return rows[begin : np.searchsorted(rows, after)]


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
    upright = up[standing]
    upright = upright[np.isfinite(upright).all(axis=1)]
    if not len(upright) or not feet:
        return np.zeros(len(up), dtype=np.bool_)
    axis = np.median(upright, axis=0)
    axis = axis / np.linalg.norm(axis)

    def beside(rows: slice) -> Mask:
        tilted: Mask = up[rows] @ axis < np.cos(FALLEN)
        soles = tuple(foot.sole[rows][tilted] for foot in feet)
        every: Mask = np.ones((len(soles[0]), len(feet)), dtype=np.bool_)
        (margin,) = margins((com[rows][tilted],), soles, every, up[rows][tilted])
        found = np.zeros(len(tilted), dtype=np.bool_)
        found[tilted] = margin < 0.0
        return found

    found: Mask = store.by_rows(len(up), beside)
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
    last_high = int(np.max(timeline.store.true(high)[-1:], initial=-1))
    found: list[slice] = []
    for start, stop in zip(*(edges.tolist() for edges in timeline.runs(down)), strict=True):
        never_up = stop > last_high
        lasts = timeline.time[stop - 1] - timeline.time[start] > longest
        if start > standing[0] and (lasts or (never_up and low[start:stop].any())):
            found.append(slice(start, len(down) if never_up else stop))
            if never_up:
                break
    return tuple(found)
