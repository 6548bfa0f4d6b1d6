"""The ground in a Rerun recording: a frame that is level, with z = 0 where the soles stand."""

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.export.log import Log
from izmp_dynamics.export.replayed import Replayed, Timed
from izmp_dynamics.rotations import matrices_from_quaternions

GROUND, WORLD, LEVEL = 'izmp/ground', 'izmp/world', 'izmp/level'
"""Frames, called as no link is; LEVEL has the origin of the root."""

_BACK = np.array([-1.0, -1.0, -1.0, 1.0])  # from a quaternion to that of the inverse rotation


def draw_ground(log: Log, replayed: Replayed) -> Array:
    """Write where the root is over the ground: in the world or, if that is not known, in place.

    Returns:
        (3,) where it is first [m].
    """
    stamps, poses = replayed.root_poses
    located = len(stamps) > 0
    if not located:
        stamps, level = replayed.level_frame
        poses = np.pad(level * _BACK, ((0, 0), (3, 0)))
    at, heights = soles_at((stamps, poses), replayed.polygons)
    typical = float(np.median(heights)) if len(heights) else 0.0
    log.frame(WORLD if located else LEVEL, replayed.root, stamps, poses)
    if located or not len(at):
        log.fixed_frame(WORLD if located else LEVEL, GROUND, _raised(np.array([typical]))[0])
    else:
        log.frame(LEVEL, GROUND, at, _raised(heights))
    first = poses[0, :3] if len(poses) else np.zeros(3)
    place: Array = first - np.array([0.0, 0.0, typical])
    return place


def soles_at(root: Timed, polygons: tuple[Stamps, list[Array]]) -> Timed:
    """Find the height of the ground: that of the support polygon.

    Args:
        root: stamps (K,) [ns] and poses (K, 7) of the root.
        polygons: stamps (P,) [ns], and corners (C, 3) in the root frame [m].

    Returns:
        The stamps (S,) that both have, and heights (S,) in the frame of the poses [m].
    """
    shared, rows, places = np.intersect1d(root[0], polygons[0], return_indices=True)
    upward = matrices_from_quaternions(root[1][rows, 3:])[:, 2]
    middles = np.array([polygons[1][place].mean(axis=0) for place in places]).reshape(-1, 3)
    return shared, np.einsum('ki,ki->k', upward, middles) + root[1][rows, 2]


def _raised(heights: Array) -> Array:
    """Poses (K, 7) at heights (K,) [m]."""
    poses = np.zeros((len(heights), 7))
    poses[:, 2], poses[:, 6] = heights, 1.0
    return poses
