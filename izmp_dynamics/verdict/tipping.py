"""The point as the robot's tipping feels it: averaged over half of the tipping time constant.

A robot of COM height h tips with the time constant T = √(h/g). A point that is outside the support
polygon by d for the time t throws the capture point d·t/T outwards; half of the room for T/2 is
what can just tip it. So what happens within less than T/2 cannot tip a robot, and the point is
judged after an average over that time: a triangle of this width at half its height, in a frame
that is fixed to the ground. Noise of the sensors falls meanwhile to a tenth and less, so that the
verdict hardly depends on a filter before.

That frame follows from the feet alone: the sole that carries does not move. In it the points of
different instants can be averaged although the robot walks. It needs neither a localizer nor an
orientation; over some tenths of a second its drift does not matter.

The support polygon of an instant is here that of all soles that carry load within the average,
each where it stands: a foot in the air counts where it lifts off or lands, whichever is nearer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from izmp_dynamics.base.columns import Column, Columns
from izmp_dynamics.base.conventions import Array, cross, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.results.evaluation import Evaluation, Foot
from izmp_dynamics.stability.support_polygon import margins
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline, changes, running_sum

LEAST_FILLED = 0.7
"""Share of the usual number of instants without which an average is none: at an end, in a hole."""


@dataclass(frozen=True)
class GroundFixed:
    """Pose of the root in the frame that is fixed to the ground.

    Attributes:
        R: (K, 3, 3) ground_R_root; NaN where no foot carries load.
        p: (K, 3) position of the root [m].
        segment: (K,) number of the segment in which the frame is the same one; −1 without one.
    """

    R: Array
    p: Array
    segment: Indices

    def place(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from the root frame to this one."""
        placed: Array = rotated(self.R[rows], points) + self.p[rows]
        return placed

    def into_root(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from this frame to the root frame."""
        seen: Array = rotated_back(self.R[rows], points - self.p[rows])
        return seen


def ground_fixed(feet: tuple[Foot, ...], timeline: Timeline, columns: Columns) -> GroundFixed:
    """Follow the root over the feet that carry; each keeps its place while it does.

    A segment ends where no foot carries, where kinematics are unknown and at a gap of the
    recording.

    Args:
        feet: of the robot.
        timeline: its instants.
        columns: makes those of the poses.
    """
    count = len(timeline.time)
    feet = tuple(foot for foot in feet if foot.sole.ndim == 3)
    if not count or not feet:
        nothing = np.full((count, 3), np.nan)
        return GroundFixed(np.full((count, 3, 3), np.nan), nothing, np.full(count, -1))
    found = Column(columns), Column(columns), Column(columns)
    known = [columns.by_blocks(count, partial(_is_known, foot)) for foot in feet]
    carries: Mask = np.stack([foot.loaded & on for foot, on in zip(feet, known, strict=True)], 1)
    number, foot = -1, -1
    anchor_R, anchor_p = np.eye(3), np.zeros(3)
    R, p = np.empty((0, 3, 3)), np.empty((0, 3))
    for begin, end, joined in _segments(carries, timeline, columns.block):
        carrying = np.flatnonzero(carries[begin])
        continued = joined and foot >= 0
        if len(carrying):
            if not continued or foot not in carrying:
                foot = int(carrying[0])
                if continued and known[foot][begin - 1]:
                    sole_R, sole_p = sole_frame(feet[foot], slice(begin - 1, begin))
                    anchor_R, anchor_p = R[-1] @ sole_R[0], R[-1] @ sole_p[0] + p[-1]
                else:
                    number, anchor_R, anchor_p = number + 1, np.eye(3), np.zeros(3)
            sole_R, sole_p = sole_frame(feet[foot], slice(begin, end))
            R = anchor_R @ np.swapaxes(sole_R, 1, 2)
            p = anchor_p - rotated(R, sole_p)
        else:
            foot = -1
            R, p = np.full((end - begin, 3, 3), np.nan), np.full((end - begin, 3), np.nan)
        segment = np.full(end - begin, number if len(carrying) else -1)
        for column, values in zip(found, (R, p, segment), strict=True):
            column.extend(values)
        if end % columns.block == 0:
            columns.release()
    return GroundFixed(*(column.rows for column in found))


def _is_known(foot: Foot, rows: slice) -> Mask:
    return finite_rows(sole_frame(foot, rows)[1])


def _segments(carries: Mask, timeline: Timeline, block: int) -> Iterator[tuple[int, int, bool]]:
    """Begin and end of the runs with the same carrying feet, and whether the next joins on.

    A run also ends after each `block` of rows.
    """
    changed: Mask = np.asarray((carries[1:] != carries[:-1]).any(axis=1)) | timeline.gap_after[:-1]
    changed[block - 1 :: block] = True
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(carries)]
    for begin, end in pairwise(edges):
        yield begin, end, begin > 0 and not timeline.gap_after[begin - 1]


def sole_frame(foot: Foot, rows: slice) -> tuple[Array, Array]:
    """Axes that are fixed to a sole, and its middle.

    A point shows no axes of its own: those of the foot, which for a ball are the ground's, turn
    about the vertical with the root. For the fractions of a second over which they are used that
    matters little.

    Args:
        foot: with the sole.
        rows: at which S of the instants.

    Returns:
        (S, 3, 3) axes of the sole in the root frame, as columns: x along the first edge, z along
        the normal, up or down by the order of the corners; (S, 3) mean of the corners [m]. NaN
        where the sole is not known; no axes if its first three corners lie on a line.
    """
    corners = foot.sole[rows]
    R = np.full((len(corners), 3, 3), np.nan)
    if corners.shape[1] < 3:
        if not corners.shape[1] or foot.axes is None:
            return R, np.full((len(corners), 3), np.nan)
        return foot.axes[rows], mean_of_corners(corners)
    first = corners[:, 1] - corners[:, 0]
    normal = cross(first, corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(first, axis=1), np.linalg.norm(normal, axis=1)
    there = (sizes[0] > 0) & (sizes[1] > 0)
    with np.errstate(invalid='ignore', divide='ignore'):
        x, z = first / sizes[0][:, None], normal / sizes[1][:, None]
    R[there] = np.stack([x, cross(z, x), z], axis=2)[there]
    return R, np.where(there[:, None], mean_of_corners(corners), np.nan)


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
    count, by_blocks = len(timeline.time), evaluation.columns.by_blocks
    window = _window(timeline, ground.segment, width)
    usual = width / timeline.usual_step if timeline.usual_step > 0 else 1.0
    least = LEAST_FILLED * max(usual, 1.0)
    points = [
        _average(evaluation, evaluation.tracks[name].point, on, ground, window, least)
        for name, on in usable.items()
    ]
    if not evaluation.feet:
        nothing = np.full(count, np.nan)
        return {name: Averaged(point, nothing) for name, point in zip(usable, points, strict=True)}
    first, stop = _window(timeline, ground.segment, 2.0 * width)
    carrying = [np.flatnonzero(foot.loaded) for foot in evaluation.feet]

    def margin(rows: slice) -> tuple[Array, ...]:
        within = first[rows], stop[rows]
        stands = [
            _standing(foot, on, ground, timeline, within, rows)
            for foot, on in zip(evaluation.feet, carrying, strict=True)
        ]
        soles = tuple(sole for sole, _ in stands)
        loaded = np.stack([on for _, on in stands], axis=1)
        here = tuple(point[rows] for point in points)
        return margins(here, soles, loaded, evaluation.normal[rows])

    found = by_blocks(count, margin)
    return {name: Averaged(*both) for name, *both in zip(usable, points, found, strict=True)}


Window = tuple[Indices, Indices]
"""(K,) first and one-past-last row of the instants about each one."""


def _average(
    evaluation: Evaluation,
    track: Array,
    usable: Mask,
    ground: GroundFixed,
    window: Window,
    least: float,
) -> Array:
    """Average the points (K, 3) of a track; NaN where fewer than `least` are in a window."""
    count, by_blocks = len(track), evaluation.columns.by_blocks
    first, stop = window
    there: Mask = usable & (ground.segment >= 0) & by_blocks(
        count, lambda rows: finite_rows(track[rows])
    )  # fmt: skip

    def placed(rows: slice) -> tuple[Array, ...]:
        return tuple(np.where(there[rows, None], ground.place(track[rows], rows), 0.0).T)

    counts = running_sum(there)
    number = counts[stop] - counts[first]
    means = []
    for values in by_blocks(count, placed):
        for _ in range(2):  # a rectangle twice is a triangle
            sums = running_sum(np.where(there, values, 0.0))
            values = (sums[stop] - sums[first]) / np.maximum(number, 1)
        means.append(values)
    full = there & (number >= least)

    def seen(rows: slice) -> Array:
        mean = np.stack([axis[rows] for axis in means], axis=1)
        return np.where(full[rows, None], ground.into_root(mean, rows), np.nan)

    point: Array = by_blocks(count, seen)
    return point


def _window(timeline: Timeline, segment: Indices, width: float) -> Window:
    """Find the instants within half of `width` [s] that share the frame."""
    time, half = timeline.time, width / 2 + 1e-9
    borders = changes(segment)
    lengths = np.diff(borders, prepend=0, append=len(time))
    begins, ends = (
        np.repeat(edges, lengths)
        for edges in (np.append(0, borders), np.append(borders, len(time)))
    )
    first = np.maximum(np.searchsorted(time, time - half, side='left'), begins)
    return first, np.minimum(np.searchsorted(time, time + half, side='right'), ends)


def _standing(
    foot: Foot,
    carrying: Indices,
    ground: GroundFixed,
    timeline: Timeline,
    window: Window,
    rows: slice,
) -> tuple[Array, Mask]:
    """Where a foot stands (S, V, 3) in the root frame, and whether it does within each window.

    While it is in the air its sole is that of the nearest of the instants `carrying`, at which it
    carries load, kept in place on the ground.
    """
    indices, time = np.arange(rows.start, rows.stop), timeline.time
    if not len(carrying):
        return foot.sole[rows], np.zeros(len(indices), dtype=np.bool_)
    next_one = np.searchsorted(carrying, indices)
    before = carrying[np.maximum(next_one - 1, 0)]
    after = carrying[np.minimum(next_one, len(carrying) - 1)]
    reached = [(at >= window[0]) & (at < window[1]) for at in (before, after)]
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
