"""Pose of a ground that moves, as it arrives → its frame at the instants of the joints."""

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.root import live_low_pass
from izmp_dynamics.live.sample_queue import PATIENCE, SampleQueue, State
from izmp_dynamics.live.world import rotation_matrix
from izmp_dynamics.replay.credible import LARGEST_POSE
from izmp_dynamics.replay.moving_ground import seen_from_root
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.replay.world import WorldState
from izmp_dynamics.sensing.imu import NO_ROTATION, NORM_TOLERANCE
from izmp_dynamics.stability.ground_frame import GroundFrame


class LivePose:
    """Poses of a body, paired with instants.

    Args:
        rig: the robot made ready.
        patience: lag and silence beyond which instants do not wait [s].

    Attributes:
        queue: samples (7,): position [m], quaternion x y z w.
    """

    def __init__(self, rig: Rig, patience: float = PATIENCE) -> None:
        self.queue = SampleQueue(
            rig.robot.pairing.max_gap, LARGEST_POSE, live_low_pass(rig), patience
        )
        self._last: Array | None = None

    def reset(self) -> None:
        """Forget all samples."""
        self.queue.reset()
        self._last = None

    def add(self, stamp: int, position: Array, quaternion: Array) -> None:
        """Take (3,) [m] and (4,) x y z w; its sign is made to continue the one before."""
        if not abs(float(np.linalg.norm(quaternion)) - 1.0) <= NORM_TOLERANCE:
            self.queue.counts[NO_ROTATION] += 1
            return
        if self._last is not None and quaternion @ self._last < 0.0:
            quaternion = -quaternion
        self._last = quaternion
        self.queue.push(stamp, np.concatenate([position, quaternion]))

    def at(self, instant: int, newest_instant: int) -> tuple[State, Array, Array]:
        """Give (1, 3, 3) and (1, 3) at an instant [ns]; NaN where they are not known."""
        state, values = self.queue.at(instant, newest_instant)
        if values is None:
            return state, np.full((1, 3, 3), np.nan), np.full((1, 3), np.nan)
        return state, rotation_matrix(values[3:])[None], values[None, :3]


class LiveMovingGround:
    """The live twin of `replay.moving_ground`.

    Args:
        rig: the robot made ready; its ground moves.
        patience: lag and silence beyond which instants do not wait [s].

    Attributes:
        ground: poses of the ground.
        root: poses of the root in the world, for a ground that is told there; None if it is told
            in a link.
    """

    def __init__(self, rig: Rig, patience: float = PATIENCE) -> None:
        self.rig = rig
        self.ground = LivePose(rig, patience)
        self.root = LivePose(rig, patience) if rig.ground_told_in is None else None

    @property
    def poses(self) -> tuple[LivePose, ...]:
        """All poses that are needed."""
        return (self.ground,) if self.root is None else (self.ground, self.root)

    def at(self, instant: int, newest_instant: int, q: Array) -> tuple[State, GroundFrame | None]:
        """Give the ground's frame at an instant [ns] with joint positions (1, n)."""
        state, R, p = self.ground.at(instant, newest_instant)
        nowhere = np.full((1, 3), np.nan)
        world = WorldState(np.full((1, 3, 3), np.nan), nowhere, nowhere)
        if self.root is not None:
            root_state, root_R, root_p = self.root.at(instant, newest_instant)
            state = root_state if root_state is not State.READY else state
            world = WorldState(root_R, root_p, nowhere)
        if state is not State.READY:
            return state, None
        return state, seen_from_root(self.rig, R, p, q, world)
