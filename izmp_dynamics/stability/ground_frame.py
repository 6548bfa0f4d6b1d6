"""A moving ground: a named frame, relative to the root, whose plane z = height is the ground.

A board that rolls or a deck that heaves accelerates, and so does a robot that stands on it. The
contact wrench of MR-AD needs no inertial frame, so the ground enters as a plane only, and that
may move arbitrarily.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.columns import Record
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.stability.ground_plane import GroundPlane


@dataclass(frozen=True)
class GroundFrame(Record):
    """Pose of the ground's frame at T instants, in the root frame; NaN where it is not known.

    Attributes:
        R: (T, 3, 3) root_R_ground.
        p: (T, 3) origin of the frame [m].
    """

    R: Array
    p: Array

    @classmethod
    def from_world(
        cls, world_R_ground: Array, world_p_ground: Array, world_R_root: Array, world_p_root: Array
    ) -> 'GroundFrame':
        """Convert poses given in the world; shapes as those of the attributes."""
        root_R_world = np.swapaxes(world_R_root, 1, 2)
        p = np.einsum('tij,tj->ti', root_R_world, world_p_ground - world_p_root)
        return cls(root_R_world @ world_R_ground, p)

    @classmethod
    def from_link(
        cls, link_R_ground: Array, link_p_ground: Array, root_R_link: Array, root_p_link: Array
    ) -> 'GroundFrame':
        """Convert a pose given in a link; shapes as those of the attributes."""
        p = root_p_link + np.einsum('tij,tj->ti', root_R_link, link_p_ground)
        return cls(root_R_link @ link_R_ground, p)

    def plane(self, height: float = 0.0) -> GroundPlane:
        """The plane z = height [m] of the frame, in the root frame."""
        normal = self.R[:, :, 2]
        return GroundPlane(normal, self.p + height * normal)

    def points(self, points: Array) -> Array:
        """Express points (T, 3) [m] of the root frame in this frame."""
        seen: Array = np.einsum('tji,tj->ti', self.R, points - self.p)
        return seen
