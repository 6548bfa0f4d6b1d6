"""Foot sensors as they arrive → the ground at the instants of the joints."""

from collections import deque

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.ground import Ground, LiveGround
from izmp_dynamics.live.root import live_low_pass
from izmp_dynamics.live.sample_queue import PATIENCE, SampleQueue, State
from izmp_dynamics.live.world import LiveOrientation
from izmp_dynamics.replay.credible import LARGEST_LOAD
from izmp_dynamics.replay.rig import Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState

Placed = tuple[JointKinematics, Ground | None]
"""An instant of the joints, and its ground if that is known."""


class LiveFeet:
    """Pairs the feet's wrenches with the joints and finds the ground, in the order of instants.

    Args:
        rig: the robot made ready.
        patience: lag and silence beyond which instants do not wait for a sensor [s].

    Attributes:
        queues: foot → samples of its sensor.
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
        self._from_imu = LiveOrientation(rig, rig.imu.R, patience)
        mount = rig.position or rig.imu
        self._from_pose = LiveOrientation(rig, mount.R, patience)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; the counts stay."""
        for queue in self.queues.values():
            queue.reset()
        for orientation in (self._from_imu, self._from_pose):
            orientation.reset()
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

    def add_orientation(
        self, stamp: int, quaternion: Array, of_position: bool = False
    ) -> list[Placed]:
        """Take (4,) the orientation of the IMU, or that which comes with the position."""
        self._posed |= of_position
        (self._from_pose if of_position else self._from_imu).add(stamp, quaternion)
        return self._completed()

    def flush(self) -> list[Placed]:
        """Take in the last samples, as nothing follows."""
        for queue in (*self.queues.values(), self._from_imu.queue, self._from_pose.queue):
            queue.flush()
        return self._completed()

    def _completed(self) -> list[Placed]:
        done: list[Placed] = []
        while self._pending:
            joints, root = self._pending[0]
            stamp, newest = int(joints.stamps[0]), int(self._pending[-1][0].stamps[0])
            answers = {name: queue.at(stamp, newest) for name, queue in self.queues.items()}
            oriented, R = self._orientation(stamp, newest)
            if oriented is State.WAIT or any(a.state is State.WAIT for a in answers.values()):
                break
            self._pending.popleft()
            unknown = np.full(6, np.nan)
            measured = tuple(
                None
                if foot.sensor is None
                else unknown
                if answers[foot.name].values is None
                else answers[foot.name].values
                for foot in self.rig.feet
            )
            done.append((joints, self.ground.evaluate(joints, root, measured, R)))
        return done

    def _orientation(self, stamp: int, newest: int) -> tuple[State, Array | None]:
        if not self.needs_orientation:
            return State.READY, None
        return (self._from_pose if self._posed else self._from_imu).at(stamp, newest)
