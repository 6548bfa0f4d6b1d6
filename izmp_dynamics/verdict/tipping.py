"""The point as the robot's tipping feels it: averaged over half of the tipping time constant.

A robot of COM height h tips with the time constant T = √(h/g). A point that is outside the support
polygon by d for the time t throws the capture point d·t/T outwards; half of the room for T/2 is
what can just tip it. So what happens within less than T/2 cannot tip a robot, and the point is
judged after an average over that time: a triangle of this width at half its height, in a frame
that is fixed to the ground. Noise of the sensors falls meanwhile to a tenth and less, so that the
verdict hardly depends on a filter before.

The support polygon of an instant is here that of all soles that carry load within the average,
each where it stands: a foot in the air counts where it lifts off or lands, whichever is nearer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.store import Store
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.leg_odometry import GroundFixed
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline

LEAST_FILLED = 0.7
"""Share of the usual number of instants without which an average is none: at an end, in a hole."""


@dataclass(frozen=True)
class Averaged:
    """A track after the average.

    Attributes:
        point: (K, 3) in the root frame [m]; NaN where there is none.
        margin: (K,) signed distance from the edge of the support polygon [m].
    """

    point: Array
    margin: Array


def averaged(
    evaluation: Evaluation,
    ground: GroundFixed,
    timeline: Timeline,
    usable: Mapping[str, Mask],
    width: float,
) -> dict[str, Averaged]:
    """Average tracks.

    Args:
        evaluation: with the tracks.
        ground: frame in which points are averaged.
        timeline: of the evaluation.
        usable: name of a track → (K,) instants whose point may enter.
        width: of the triangle at half its height [s].
    """
    store = evaluation.store
    window = _windows(timeline, ground.stretch, width, store)
    least = LEAST_FILLED * max(_usual_count(timeline, width), 1.0)
    points = [
        _average(evaluation.tracks[name].point, on, ground, window, least, store)
        for name, on in usable.items()
    ]
    if not evaluation.feet:
        nothing = np.full(len(timeline.time), np.nan)
        return {name: Averaged(point, nothing) for name, point in zip(usable, points, strict=True)}
    wide = _windows(timeline, ground.stretch, 2.0 * width, store)
    carrying = [store.true(foot.loaded) for foot in evaluation.feet]

    def margin(rows: slice) -> tuple[Array, ...]:
        stands = [
            _standing(foot, on, ground, timeline, wide[rows], rows)
            for foot, on in zip(evaluation.feet, carrying, strict=True)
        ]
        soles = tuple(sole for sole, _ in stands)
        loaded = np.stack([on for _, on in stands], axis=1)
        here = tuple(point[rows] for point in points)
        return margins(here, soles, loaded, evaluation.normal[rows])

    found = store.by_rows(len(timeline.time), margin)
    return {name: Averaged(*both) for name, *both in zip(usable, points, found, strict=True)}


def _average(
    track: Array, usable: Mask, ground: GroundFixed, window: Indices, least: float, store: Store
) -> Array:
    """Average the points (K, 3) of a track; NaN where fewer than `least` are in a window."""
    by_rows = partial(store.by_rows, len(usable))
    there: Mask = by_rows(lambda rows: _known(track, usable, ground, rows))
    placed: Array = by_rows(
        lambda rows: np.where(there[rows, None], ground.place(track[rows], rows), 0.0)
    )
    counts = store.running_sum(len(there), lambda rows: there[rows])
    for _ in range(2):  # a rectangle twice is a triangle
        placed = _mean(placed, there, counts, window, store)

    def mean(rows: slice) -> Array:
        first, stop = window[rows].T
        full = there[rows] & (counts[stop] - counts[first] >= least)
        return np.where(full[:, None], ground.into_root(placed[rows], rows), np.nan)

    point: Array = by_rows(mean)
    return point


def _known(track: Array, usable: Mask, ground: GroundFixed, rows: slice) -> Mask:
    known: Mask = usable[rows] & finite_rows(track[rows]) & (ground.stretch[rows] >= 0)
    return known


def _windows(timeline: Timeline, stretch: Indices, width: float, store: Store) -> Indices:
    """(K, 2) first and one-past-last instant within half of `width` that share the frame."""
    time = timeline.time
    borders = store.changes(stretch)
    begins, ends = np.append(0, borders), np.append(borders, len(time))
    half = width / 2 + 1e-9

    def window(rows: slice) -> Indices:
        here = time[rows]
        run = np.searchsorted(ends, np.arange(rows.start, rows.stop), side='right')
        first = np.maximum(np.searchsorted(time, here - half, side='left'), begins[run])
        stop = np.minimum(np.searchsorted(time, here + half, side='right'), ends[run])
        return np.stack([first, stop], axis=1)

    windows: Indices = store.by_rows(len(time), window)
    return windows


def _usual_count(timeline: Timeline, width: float) -> float:
    """How many instants a window usually holds."""
    return width / timeline.usual_step if timeline.usual_step > 0 else 1.0


def _mean(values: Array, there: Mask, counts: Indices, window: Indices, store: Store) -> Array:
    """Mean (K, 3) of the values within each window; 0 where there is none."""
    sums = store.running_sum(
        len(values), lambda rows: np.where(there[rows, None], values[rows], 0.0)
    )

    def mean(rows: slice) -> Array:
        first, stop = window[rows].T
        number = np.maximum(counts[stop] - counts[first], 1)
        within: Array = (sums[stop] - sums[first]) / number[:, None]
        return within

    means: Array = store.by_rows(len(values), mean)
    return means


def _standing(
    foot: Foot,
    carrying: Indices,
    ground: GroundFixed,
    timeline: Timeline,
    window: Indices,
    rows: slice,
) -> tuple[Array, Mask]:
    """Where a foot stands (S, V, 3) in the root frame, and whether it does within each window.

    While it is in the air its sole is that of the nearest instant at which it carries load, kept
    in place on the ground.

    Args:
        foot: which.
        carrying: the instants at which it carries load.
        ground: frame in which it stands.
        timeline: of the evaluation.
        window: (S, 2) first and one-past-last instant.
        rows: the S instants.
    """
    indices, time = np.arange(rows.start, rows.stop), timeline.time
    if not len(carrying):
        return foot.sole[rows], np.zeros(len(indices), dtype=np.bool_)
    next_one = np.searchsorted(carrying, indices)
    before = carrying[np.maximum(next_one - 1, 0)]
    after = carrying[np.minimum(next_one, len(carrying) - 1)]
    reached = [(at >= window[:, 0]) & (at < window[:, 1]) for at in (before, after)]
    away = [
        np.where(on, np.abs(time[at] - time[rows]), np.inf)
        for on, at in zip(reached, (before, after), strict=True)
    ]
    nearest = np.where(away[1] <= away[0], after, before)
    loaded: Mask = reached[0] | reached[1]
    sole = np.array(foot.sole[rows])
    moved = np.flatnonzero(loaded & (nearest != indices))
    at, here = nearest[moved], indices[moved]
    for corner in range(sole.shape[1]):
        placed = ground.place(foot.sole[at, corner], at)
        sole[moved, corner] = ground.into_root(placed, here)
    return sole, loaded
