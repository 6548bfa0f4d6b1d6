"""Node mr_ad: joint_kinematics, root_acceleration, root_twist → contact wrench (eqs. 12, 13)."""

from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, PointStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd as MrAdStage
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.messages import (
    ODOMETRY,
    joint_kinematics,
    world_instant,
)
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.wire import MotionSample, OdometrySample, TrajectorySample
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.readiness import InstantQueue


class MrAd(StageNode):
    """Newton–Euler about the moving root; the orientation serves the momentum rate only."""

    def __init__(self, **options: Any) -> None:
        super().__init__('mr_ad', SECTIONS['mr_ad'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._instants: InstantQueue[JointKinematics] = InstantQueue(
            {'root_twist': 3, 'root_acceleration': 6}
        )
        self._wrenches: InstantQueue[tuple[ContactWrench, Array]] = InstantQueue(
            {'odom': ODOMETRY}
        )
        self._oriented = False
        super().set_up()
        self._publish_wrench = self.advertise('mr_ad/contact_wrench', WrenchStamped)
        self._publish_com = self.advertise('com', PointStamped)
        self._publish_rate = self.advertise('mr_ad/momentum_rate', WrenchStamped)
        self.subscribe(
            'joint_kinematics', JointTrajectory, self._take_joints, 'start the node acd.'
        )
        source = 'start the node angular_acceleration.'
        self.subscribe('root_acceleration', AccelStamped, self._take_acceleration, source)
        self.subscribe('root_twist', TwistStamped, self._take_twist, source)
        if self.robot.position is not None:
            self.when_wanted(lambda: self._publish_rate.wanted, self._subscribe_to_odometry)
        self.health.counters.append(lambda: self._instants.faults)

    def awaited(self) -> list[str]:
        """Topics whose next message may complete an instant."""
        odometry = ['odom'] if self._oriented and self._publish_rate.wanted else []
        return [self._instants.awaited or self.instants, *odometry]

    def configure(self, robot: RobotFile) -> None:
        """Make the stage."""
        self._stage = MrAdStage(self.model)

    def reset(self) -> None:
        """Forget all messages."""
        self._instants.reset()
        self._wrenches.reset()

    def _subscribe_to_odometry(self) -> None:
        self._oriented = True
        source = 'start the node localizer; without it there is no momentum rate.'
        self.subscribe('odom', Odometry, self._take_odometry, source, required=False)

    def _take_joints(self, stamp: int, sample: TrajectorySample) -> None:
        if sample.point is not None:
            joints = joint_kinematics(stamp, sample, self.model.dof)
            self._instants.push(stamp, joints)

    def _take_acceleration(self, stamp: int, sample: MotionSample) -> None:
        self._instants.add('root_acceleration', stamp, sample.values)

    def _take_twist(self, stamp: int, sample: MotionSample) -> None:
        self._instants.add('root_twist', stamp, sample.values[3:])

    def _take_odometry(self, stamp: int, sample: OdometrySample) -> None:
        self._wrenches.add('odom', stamp, sample.values)

    def evaluate(self) -> None:
        """Evaluate the instants at which joints and root are known."""
        root = self.root
        for stamp, joints, (omega, acceleration) in self._instants.take():
            wrench, com = self._stage.update(
                acceleration[:3],
                omega,
                acceleration[3:],
                joints.positions[0],
                joints.velocities[0],
                joints.accelerations[0],
            )
            if not np.isfinite(wrench.as_array()).all():
                continue
            self._publish_wrench.numbers(stamp, root, wrench.force, wrench.moment)
            self._publish_com.numbers(stamp, root, com)
            if self._oriented:
                self._wrenches.push(stamp, (wrench, com))
        self._rate()  # also without odometry, or the wrenches would wait for ever

    def _rate(self) -> None:
        """Publish the momentum rate where the orientation is known."""
        for stamp, (wrench, com), (odometry,) in self._wrenches.take():
            if not np.isfinite(odometry).all():
                continue
            down = -self.robot.gravity * world_instant(odometry).R[2]
            rate = wrench.momentum_rate(self.model.total_mass, down, com)
            self._publish_rate.numbers(stamp, self.root, rate.force, rate.moment)
