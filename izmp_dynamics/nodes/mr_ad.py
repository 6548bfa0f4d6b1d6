"""Node mr_ad: joint_kinematics, root_acceleration, root_twist → contact wrench (eqs. 12, 13)."""

from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, PointStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd as MrAdStage
from izmp_dynamics.live.warm_up import warm_up_mr_ad
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.exact_join import ExactJoin
from izmp_dynamics.nodes.messages import (
    joint_arrays,
    odometry_instant,
    point_stamped,
    vector,
    wrench_stamped,
)
from izmp_dynamics.nodes.stage_node import StageNode

_KEPT = 1000
"""Instants whose momentum rate may wait for an orientation."""


class MrAd(StageNode):
    """Newton–Euler about the moving root; the orientation serves the momentum rate only."""

    def __init__(self, **options: Any) -> None:
        self._join = ExactJoin('joint_kinematics', 'root_acceleration', 'root_twist')
        self._wrenches: OrderedDict[int, tuple[ContactWrench, Array]] = OrderedDict()
        super().__init__('mr_ad', ('gravity',), **options)
        self._publish_wrench = self.speak('mr_ad/contact_wrench', WrenchStamped)
        self._publish_com = self.speak('com', PointStamped)
        self._publish_rate = self.speak('mr_ad/momentum_rate', WrenchStamped)
        for topic, msgtype, who in (
            ('joint_kinematics', JointTrajectory, 'acd'),
            ('root_acceleration', AccelStamped, 'angular_acceleration'),
            ('root_twist', TwistStamped, 'angular_acceleration'),
        ):
            self.listen(topic, msgtype, partial(self._take, topic), f'start the node {who}.')
        if self.robot.position is not None:
            self.listen(
                'odom',
                Odometry,
                self._take_odometry,
                'start the node localizer; without it there is no momentum rate.',
                required=False,
            )
        self.health.counters.append(('pairing', lambda: self._join.counts))

    def configure(self, robot: RobotFile) -> None:
        """Make the stage."""
        self._stage = warm_up_mr_ad(MrAdStage(self.model))

    def reset(self) -> None:
        """Forget all messages."""
        self._join.reset()
        self._wrenches.clear()

    def _take(self, topic: str, stamp: int, message: Any) -> None:
        if topic == 'joint_kinematics' and not message.points:
            return
        parts = self._join.add(topic, stamp, message)
        if parts is None:
            return
        joints, acceleration, twist = parts
        arrays = joint_arrays(joints)
        if arrays is None:
            return
        wrench, com = self._stage.update(
            vector(acceleration.accel.linear),
            vector(twist.twist.angular),
            vector(acceleration.accel.angular),
            *arrays,
        )
        if not np.isfinite(wrench.as_array()).all():
            self.health.counts['a message held values that are not finite'] += 1
            return
        root = self.model.root
        self._publish_wrench(wrench_stamped(stamp, root, wrench.as_array()))
        self._publish_com(point_stamped(stamp, root, com))
        if self.robot.position is not None:
            self._wrenches[stamp] = (wrench, com)
            while len(self._wrenches) > _KEPT:
                self._wrenches.popitem(last=False)

    def _take_odometry(self, stamp: int, message: Odometry) -> None:
        if stamp not in self._wrenches:
            return
        wrench, com = self._wrenches.pop(stamp)
        down = -self.robot.gravity * odometry_instant(message).R[2]
        rate = wrench.momentum_rate(self.model.total_mass, down, com)
        self._publish_rate(wrench_stamped(stamp, self.model.root, rate.as_array()))
