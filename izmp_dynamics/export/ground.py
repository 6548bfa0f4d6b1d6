"""The ground in a Rerun recording: a level frame with z = 0 where the soles stand."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.rotations import matrices_from_quaternions
from izmp_dynamics.export.replayed import Replayed, Timed

GROUND = 'izmp/ground'
"""The frame, called as no link is."""

_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # from a quaternion to that of the inverse rotation


def height_of_ground(first: Replayed) -> float:
    """Find the median height of the soles in the world in a span [m]; 0 if it is not known."""
    _, heights = soles_at(first.values('/odom'), first.polygons)
    return float(np.median(heights)) if len(heights) else 0.0


def root_over_ground(replayed: Replayed, height: float) -> Timed:
    """Find where the root is: in the world or, if that is not known, in place over the soles.

    Args:
        replayed: the results.
        height: of the ground in the world [m].

    Returns:
        Stamps (K,) [ns], and poses (K, 7) in GROUND: positions [m], quaternions (x, y, z, w).
    """
    if replayed.located:
        stamps, odometry = replayed.values('/odom')
        return stamps, odometry[:, :7] - np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 0.0])
    stamps, level = replayed.level_frame
    poses = np.pad(level * _BACK, ((0, 0), (3, 0)))
    at, heights = soles_at((stamps, poses), replayed.polygons)
    if len(at):
        stamps, poses = at, poses[np.isin(stamps, at)]
        poses[:, 2] = -heights
    return stamps, poses


def soles_at(root: Timed, polygons: tuple[Stamps, list[Array]]) -> Timed:
    """Find the height of the ground: that of the support polygon.

    Args:
        root: stamps (K,) [ns] and poses (K, 7 …) of the root.
        polygons: stamps (P,) [ns], and corners (C, 3) in the root frame [m].

    Returns:
        The stamps (S,) that both have, and heights (S,) in the frame of the poses [m].
    """
    shared, rows, places = np.intersect1d(root[0], polygons[0], return_indices=True)
    upward = matrices_from_quaternions(root[1][rows, 3:7])[:, 2]
    middles = np.array([polygons[1][place].mean(axis=0) for place in places]).reshape(-1, 3)
    return shared, np.einsum('ki,ki->k', upward, middles) + root[1][rows, 2]
