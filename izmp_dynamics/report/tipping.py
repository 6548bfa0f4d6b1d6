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

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.report.leg_odometry import GroundFixed
from izmp_dynamics.report.timeline import Indices, Mask, Timeline
from izmp_dynamics.stability.evaluation import Evaluation, Foot
from izmp_dynamics.stability.support_polygon import margins

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
    name: str,
    ground: GroundFixed,
    timeline: Timeline,
    usable: Mask,
    width: float,
) -> Averaged:
    """Average a track.

    Args:
        evaluation: with the track.
        name: of the track.
        ground: frame in which points are averaged.
        timeline: of the evaluation.
        usable: (K,) instants whose point may enter.
        width: of the triangle at half its height [s].
    """
    point = np.where(usable[:, None], evaluation.tracks[name].point, np.nan)
    there = usable & np.isfinite(point).all(axis=1) & (ground.stretch >= 0)
    placed = np.where(there[:, None], ground.place(point), 0.0)
    first, stop = _windows(timeline, ground.stretch, width)
    full = _filled(timeline, there, first, stop, width)
    for _ in range(2):  # a rectangle twice is a triangle
        placed = _mean(placed, there, first, stop)
    mean = np.where((there & full)[:, None], ground.into_root(placed), np.nan)
    if not evaluation.feet:
        return Averaged(mean, np.full(len(mean), np.nan))
    wide = _windows(timeline, ground.stretch, 2.0 * width)
    stands = [_standing(foot, ground, timeline, *wide) for foot in evaluation.feet]
    soles = tuple(sole for sole, _ in stands)
    loaded = np.stack([on for _, on in stands], axis=1)
    (margin,) = margins((mean,), soles, loaded, evaluation.normal)
    return Averaged(mean, margin)


def _windows(timeline: Timeline, stretch: Indices, width: float) -> tuple[Indices, Indices]:
    """First and one-past-last instant within half of `width` that share the frame."""
    time = timeline.time
    if not len(time):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    borders = np.flatnonzero(np.diff(stretch)) + 1
    begins, ends = np.append(0, borders), np.append(borders, len(time))
    run = np.searchsorted(ends, np.arange(len(time)), side='right')
    half = width / 2 + 1e-9
    first = np.maximum(np.searchsorted(time, time - half, side='left'), begins[run])
    stop = np.minimum(np.searchsorted(time, time + half, side='right'), ends[run])
    return first, stop


def _filled(timeline: Timeline, there: Mask, first: Indices, stop: Indices, width: float) -> Mask:
    """Whether enough instants lie in each window."""
    steps = timeline.span[timeline.span > 0]
    usual = width / float(np.median(steps)) if len(steps) else 1.0
    counts = np.concatenate([[0], np.cumsum(there)])
    filled: Mask = counts[stop] - counts[first] >= LEAST_FILLED * max(usual, 1.0)
    return filled


def _mean(values: Array, there: Mask, first: Indices, stop: Indices) -> Array:
    """Mean (K, 3) of the values within each window; 0 where there is none."""
    kept = np.where(there[:, None], values, 0.0)
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(kept, axis=0)])
    counts = np.concatenate([[0], np.cumsum(there)])
    number = np.maximum(counts[stop] - counts[first], 1)
    mean: Array = (sums[stop] - sums[first]) / number[:, None]
    return mean


def _standing(
    foot: Foot, ground: GroundFixed, timeline: Timeline, first: Indices, stop: Indices
) -> tuple[Array, Mask]:
    """Where a foot stands (K, V, 3) in the root frame, and whether it does within each window.

    While it is in the air its sole is that of the nearest instant at which it carries load, kept
    in place on the ground.
    """
    indices, time = np.arange(len(timeline.time)), timeline.time
    carrying = np.flatnonzero(foot.loaded)
    if not len(carrying):
        return foot.sole, np.zeros(len(indices), dtype=np.bool_)
    next_one = np.searchsorted(carrying, indices)
    before = carrying[np.maximum(next_one - 1, 0)]
    after = carrying[np.minimum(next_one, len(carrying) - 1)]
    reached = [(at >= first) & (at < stop) for at in (before, after)]
    away = [
        np.where(on, np.abs(time[at] - time), np.inf)
        for on, at in zip(reached, (before, after), strict=True)
    ]
    nearest = np.where(away[1] <= away[0], after, before)
    loaded: Mask = reached[0] | reached[1]
    there = GroundFixed(ground.R[nearest], ground.p[nearest], ground.stretch[nearest])
    sole = np.array(foot.sole)
    moved = loaded & (nearest != indices)
    for corner in range(sole.shape[1]):
        placed = ground.into_root(there.place(sole[nearest, corner]))
        sole[moved, corner] = placed[moved]
    return sole, loaded
