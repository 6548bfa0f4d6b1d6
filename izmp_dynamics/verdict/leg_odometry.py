"""A frame that is fixed to the ground, from the feet alone: the sole that carries does not move.

In it the points of different instants can be averaged although the robot walks. It needs neither
a localizer nor an orientation; over some tenths of a second its drift does not matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from izmp_dynamics.base.conventions import Array, cross, finite_rows, mean_of_corners
from izmp_dynamics.base.rotations import rotated, rotated_back
from izmp_dynamics.base.store import Store
from izmp_dynamics.results.evaluation import Foot
from izmp_dynamics.verdict.timeline import Indices, Mask, Timeline


@dataclass(frozen=True)
class GroundFixed:
    """Pose of the root in the frame that is fixed to the ground.

    Attributes:
        R: (K, 3, 3) ground_R_root; NaN where no foot carries load.
        p: (K, 3) position of the root [m].
        stretch: (K,) number of the stretch in which the frame is the same one; −1 without one.
    """

    R: Array
    p: Array
    stretch: Indices

    def place(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from the root frame to this one."""
        placed: Array = rotated(self.R[rows], points) + self.p[rows]
        return placed

    def into_root(self, points: Array, rows: slice | Indices) -> Array:
        """Bring points (S, 3) at the instants `rows` from this frame to the root frame."""
        seen: Array = rotated_back(self.R[rows], points - self.p[rows])
        return seen


def ground_fixed(feet: tuple[Foot, ...], timeline: Timeline, store: Store) -> GroundFixed:
    """Follow the root over the feet that carry; each keeps its place while it does.

    A stretch ends where no foot carries, where kinematics are unknown and at a gap of the
    recording.

    Args:
        feet: of the robot.
        timeline: its instants.
        store: keeps the poses.
    """
    count = len(timeline.time)
    feet = tuple(foot for foot in feet if foot.sole.ndim == 3)
    if not count or not feet:
        nothing = np.full((count, 3), np.nan)
        return GroundFixed(np.full((count, 3, 3), np.nan), nothing, np.full(count, -1))
    columns = store.column(), store.column(), store.column()
    known = [store.by_rows(count, partial(_is_known, foot.sole)) for foot in feet]
    carries: Mask = np.stack([foot.loaded & on for foot, on in zip(feet, known, strict=True)], 1)
    number, foot = -1, -1
    anchor_R, anchor_p = np.eye(3), np.zeros(3)
    R, p = np.empty((0, 3, 3)), np.empty((0, 3))
    for begin, end, joined in _segments(carries, timeline, store.block):
        carrying = np.flatnonzero(carries[begin])
        continued = joined and foot >= 0
        if len(carrying):
            if not continued or foot not in carrying:
                foot = int(carrying[0])
                if continued and known[foot][begin - 1]:
                    sole_R, sole_p = sole_frame(feet[foot].sole[begin - 1 : begin])
                    anchor_R, anchor_p = R[-1] @ sole_R[0], R[-1] @ sole_p[0] + p[-1]
                else:
                    number, anchor_R, anchor_p = number + 1, np.eye(3), np.zeros(3)
            sole_R, sole_p = sole_frame(feet[foot].sole[begin:end])
            R = anchor_R @ np.swapaxes(sole_R, 1, 2)
            p = anchor_p - rotated(R, sole_p)
        else:
            foot = -1
            R, p = np.full((end - begin, 3, 3), np.nan), np.full((end - begin, 3), np.nan)
        stretch = np.full(end - begin, number if len(carrying) else -1)
        for column, values in zip(columns, (R, p, stretch), strict=True):
            column.extend(values)
        if end % store.block == 0:
            store.release()
    return GroundFixed(*(column.rows for column in columns))


def _is_known(sole: Array, rows: slice) -> Mask:
    return finite_rows(sole_frame(sole[rows])[1])


def _segments(carries: Mask, timeline: Timeline, block: int) -> Iterator[tuple[int, int, bool]]:
    """Begin and end of the runs with the same carrying feet, and whether the next joins on.

    A run also ends after each `block` of rows.
    """
    changed: Mask = np.asarray((carries[1:] != carries[:-1]).any(axis=1)) | timeline.gap_after[:-1]
    changed[block - 1 :: block] = True
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(carries)]
    for begin, end in pairwise(edges):
        yield begin, end, begin > 0 and not timeline.gap_after[begin - 1]


def sole_frame(corners: Array) -> tuple[Array, Array]:
    """Axes that are fixed to a sole, and its middle.

    Args:
        corners: (K, V, 3) of the sole in the root frame [m].

    Returns:
        (K, 3, 3) axes of the sole in the root frame, as columns: x along the first edge, z along
        the normal, up or down by the order of the corners; (K, 3) mean of the corners [m]. NaN
        where the sole is not known; no axes if it has fewer than three corners, or its first three
        lie on a line.
    """
    R = np.full((len(corners), 3, 3), np.nan)
    if corners.shape[1] < 3:
        return R, np.full((len(corners), 3), np.nan)
    first = corners[:, 1] - corners[:, 0]
    normal = cross(first, corners[:, 2] - corners[:, 0])
    sizes = np.linalg.norm(first, axis=1), np.linalg.norm(normal, axis=1)
    there = (sizes[0] > 0) & (sizes[1] > 0)
    with np.errstate(invalid='ignore', divide='ignore'):
        x, z = first / sizes[0][:, None], normal / sizes[1][:, None]
    R[there] = np.stack([x, cross(z, x), z], axis=2)[there]
    return R, np.where(there[:, None], mean_of_corners(corners), np.nan)
