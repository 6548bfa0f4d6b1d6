"""Foot sensors as they arrive → the ground at the instants of the joints."""

from collections import deque

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.foot_imu import LiveFootImu
from izmp_dynamics.live.ground import Ground, LiveGround
from izmp_dynamics.live.moving_ground import LiveMovingGround, LivePose
from izmp_dynamics.live.root import live_low_pass
from izmp_dynamics.live.sample_queue import PATIENCE, Answer, SampleQueue, State
from izmp_dynamics.live.world import LiveOrientation
from izmp_dynamics.replay.credible import LARGEST_LOAD
from izmp_dynamics.replay.rig import FootRig, Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.ground_frame import GroundFrame

Placed = tuple[JointKinematics, Ground | None]
"""An instant of the joints, and its ground if that is known."""


class LiveFeet:
    """Pairs the feet's wrenches with the joints and finds the ground, in the order of instants.

    Args:
        rig: the robot made ready.
        patience: lag and silence beyond which instants do not wait for a sensor [s].

    Attributes:
        queues: foot → samples of its sensor.
        imus: foot → samples of its IMU, if the ground is theirs.
        moving: poses of a ground that moves; None if it does not.
        needs_orientation: whether `add_orientation` is to be fed.
    """

    def __init__(self, rig: Rig, patience: float = PATIENCE) -> None:
        self.rig = rig
        self.ground = LiveGround(rig)
        self.needs_orientation = self.ground.needs_orientation
        largest = LARGEST_LOAD * rig.model.total_mass * rig.robot.gravity
        self.queues = {
            foot.name: SampleQueue(
                rig.robot.pairing.max_gap, largest, live_low_pass(rig), patience
            )
            for foot in rig.feet
            if foot.sensor is not None
        }
        self.imus = {
            foot.name: LiveFootImu(rig, foot.sole_R_imu, patience)
            for foot in rig.feet
            if foot.sole_R_imu is not None and rig.robot.ground.source == 'feet_imus'
        }
        self.moving = LiveMovingGround(rig, patience) if rig.robot.ground.moves else None
        self._from_imu = LiveOrientation(rig, rig.imu.R, patience)
        mount = rig.position or rig.imu
        self._from_pose = LiveOrientation(rig, mount.R, patience)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        for queue in self.queues.values():
            queue.reset()
        for imu in self.imus.values():
            imu.reset()
        for orientation in (self._from_imu, self._from_pose):
            orientation.reset()
        for pose in self._poses:
            pose.reset()
        self._posed = False
        self._pending: deque[tuple[JointKinematics, RootState]] = deque()

    def add_instant(self, joints: JointKinematics, root: RootState) -> list[Placed]:
        """Ask for the ground at one instant; return the instants that are complete."""
        self._pending.append((joints, root))
        return self._completed()

    def add_wrench(self, foot: str, stamp: int, wrench: Array) -> list[Placed]:
        """Take (6,) force [N] and moment [N·m] of a foot's sensor in its frame."""
        self.queues[foot].push(stamp, wrench)
        return self._completed()

    def add_imu(self, foot: str, stamp: int, values: Array) -> list[Placed]:
        """Take (6,) angular velocity [rad/s] and specific force [m/s²] of a foot's IMU."""
        self.imus[foot].add(stamp, values)
        return self._completed()

    def add_orientation(
        self, stamp: int, quaternion: Array, of_position: bool = False
    ) -> list[Placed]:
        """Take (4,) the orientation of the IMU, or that which comes with the position."""
        self._posed |= of_position
        (self._from_pose if of_position else self._from_imu).add(stamp, quaternion)
        return self._completed()

    def add_ground(self, stamp: int, position: Array, quaternion: Array) -> list[Placed]:
        """Take the pose of a ground that moves, (3,) [m] and (4,), as its messages tell it."""
        if self.moving is not None:
            self.moving.ground.add(stamp, position, quaternion)
        return self._completed()

    def add_root_pose(self, stamp: int, position: Array, quaternion: Array) -> list[Placed]:
        """Take the pose of the root in the world, (3,) [m] and (4,)."""
        if self.moving is not None and self.moving.root is not None:
            self.moving.root.add(stamp, position, quaternion)
        return self._completed()

    def flush(self) -> list[Placed]:
        """Take in the last samples, as nothing follows."""
        for queue in (*self.queues.values(), self._from_imu.queue, self._from_pose.queue):
            queue.flush()
        for pose in self._poses:
            pose.queue.flush()
        for imu in self.imus.values():
            imu.flush()
        return self._completed()

    def _completed(self) -> list[Placed]:
        done: list[Placed] = []
        while self._pending:
            joints, root = self._pending[0]
            stamp, newest = int(joints.stamps[0]), int(self._pending[-1][0].stamps[0])
            answers = {name: queue.at(stamp, newest) for name, queue in self.queues.items()}
            tilts = {name: imu.at(stamp, newest) for name, imu in self.imus.items()}
            oriented, R = self._orientation(stamp, newest)
            moved, frame = self._frame(joints, newest)
            states = [moved, *(answer.state for answer in answers.values())]
            if State.WAIT in (oriented, *states, *(state for state, _ in tilts.values())):
                break
            self._pending.popleft()
            measured = tuple(self._measured(foot, answers) for foot in self.rig.feet)
            known = {name: tilt for name, (_, tilt) in tilts.items()}
            done.append((joints, self.ground.evaluate(joints, root, measured, R, known, frame)))
        return done

    @property
    def _poses(self) -> tuple[LivePose, ...]:
        return () if self.moving is None else self.moving.poses

    def _frame(self, joints: JointKinematics, newest: int) -> tuple[State, GroundFrame | None]:
        if self.moving is None:
            return State.READY, None
        return self.moving.at(int(joints.stamps[0]), newest, joints.positions)

    def _measured(self, foot: FootRig, answers: dict[str, Answer]) -> Array | None:
        if foot.sensor is None:
            return None
        values = answers[foot.name].values
        return np.full(6, np.nan) if values is None else values

    def _orientation(self, stamp: int, newest: int) -> tuple[State, Array | None]:
        if not self.needs_orientation:
            return State.READY, None
        return (self._from_pose if self._posed else self._from_imu).at(stamp, newest)
