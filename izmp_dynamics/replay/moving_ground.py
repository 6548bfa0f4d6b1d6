"""Pose of a ground that moves, as a topic tells it → its frame, seen from the root."""

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.pairing import same_sign
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.replay.world import WorldState
from izmp_dynamics.sensing.imu import rotations
from izmp_dynamics.stability.ground_frame import GroundFrame


class MovingGroundStage:
    """Brings the ground's pose to the instants of the joints.

    Args:
        rig: the robot.
        conditioning: of its signals.
    """

    def __init__(self, rig: Rig, conditioning: Conditioning) -> None:
        self.rig = rig
        self.conditioning = conditioning

    def evaluate(
        self, instants: Stamps, q: Array, world: WorldState, stream: Stream, counts: Counts
    ) -> GroundFrame | None:
        """Give the frame of the ground at the instants (K,) [ns].

        Args:
            instants: of the joints.
            q: (K, n) joint positions.
            world: pose of the root, for a ground that is told in the world.
            stream: (T, 7) position [m] and quaternion x y z w of the ground.
            counts: takes what is missing.

        Returns:
            NaN at instants without a pose; None if the ground is none that moves.
        """
        ground = self.rig.robot.ground
        if ground.source != 'frame' or ground.frame is None:
            return None
        if not ground.moves:
            return GroundFrame(*self.rig.model.frame_pose(ground.frame, q))
        continuous = np.hstack([stream.values[:, :3], same_sign(stream.values[:, 3:])])
        usable = self.conditioning.usable('ground', Stream(stream.stamps, continuous), counts)
        paired = self.conditioning.at(instants, 'ground', usable, counts).values
        length = np.linalg.norm(paired[:, 3:], axis=1, keepdims=True)
        R, _ = rotations(paired[:, 3:] / length)
        return seen_from_root(self.rig, R, paired[:, :3], q, world)


def seen_from_root(rig: Rig, R: Array, p: Array, q: Array, world: WorldState) -> GroundFrame:
    """Bring the ground's pose to the root from what it is told in.

    Args:
        rig: the robot; it knows whether that is a link or the world.
        R: (K, 3, 3) orientation of the ground there.
        p: (K, 3) its origin there [m].
        q: (K, n) joint positions.
        world: pose of the root in the world, if it is that.
    """
    link = rig.ground_told_in
    if link is None:
        return GroundFrame.from_world(R, p, world.R, world.p)
    return GroundFrame.from_link(R, p, *rig.model.frame_pose(link, q))
