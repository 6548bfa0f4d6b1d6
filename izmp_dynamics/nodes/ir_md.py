"""Node ir_md: joint_kinematics, odom → contact wrench from differenced momentum (sect. 4.4.2)."""

import time
from collections import deque
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.dynamics.ir_md import IrMd as IrMdStage
from izmp_dynamics.dynamics.ir_md import Momentum
from izmp_dynamics.live.warm_up import warm_up_ir_md
from izmp_dynamics.live.world import WorldInstant
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import WARN
from izmp_dynamics.nodes.messages import (
    joint_arrays,
    odometry_instant,
    wrench_stamped,
)
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.transforms import WORLD

PATIENCE = 8.0
"""Joints wait no longer than this for their odometry [s]."""


class IrMd(StageNode):
    """Differences the momentum in the world; needs odometry at every instant of the joints."""

    urgent = False

    def __init__(self, **options: Any) -> None:
        self._pending: deque[tuple[int, Any, float]] = deque()
        self._odometry: dict[int, WorldInstant] = {}
        self._newest_odometry = 0
        super().__init__('ir_md', ('gravity', 'ir_md', 'acd', 'rates'), **options)
        self._publish_wrench = self.speak('ir_md/contact_wrench', WrenchStamped)
        self._publish_rate = self.speak('ir_md/momentum_rate', WrenchStamped)
        if self.robot.position is None:
            self.health.values['position'] = 'The robot file names no position; there is no IR-MD.'
            return
        self.listen('joint_kinematics', JointTrajectory, self._take_joints, 'start the node acd.')
        self.listen('odom', Odometry, self._take_odometry, 'start the node localizer.')

    def configure(self, robot: RobotFile) -> None:
        """Make the stage anew."""
        self._stage = warm_up_ir_md(IrMdStage(self.model, robot.gravity, robot.ir_md.difference))
        self._max_gap = max(robot.acd.max_gap, 2.5 / robot.rates.bus)
        if robot.ir_md.step == 'actuator':
            self.health.remark(
                'step',
                WARN,
                'ir_md.step is actuator, but live the momentum is differenced at the bus rate, '
                'which is what reaches this node; set it to bus, or evaluate a recording.',
            )
        else:
            self.health.clear('step')

    def reset(self) -> None:
        """Forget all messages."""
        self._stage.reset()
        self._pending.clear()
        self._odometry.clear()
        self._newest_odometry = 0

    def flush(self) -> None:
        """Give up waiting for odometry."""
        self._work(final=True)

    def _take_joints(self, stamp: int, message: JointTrajectory) -> None:
        self._pending.append((stamp, message, time.monotonic()))
        self._work()

    def _take_odometry(self, stamp: int, message: Odometry) -> None:
        self._odometry[stamp] = odometry_instant(message)
        self._newest_odometry = max(self._newest_odometry, stamp)
        self._work()

    def _work(self, final: bool = False) -> None:
        """Go through the instants in their order; each has odometry, or it never will."""
        while self._pending:
            stamp, message, arrived = self._pending[0]
            late = time.monotonic() - arrived > PATIENCE
            known = stamp <= self._newest_odometry or not message.points
            if not (known or late or final):
                return
            self._pending.popleft()
            for old in [other for other in self._odometry if other < stamp]:
                del self._odometry[old]
            self._difference(stamp, message, self._odometry.pop(stamp, None))

    def _difference(self, stamp: int, message: Any, pose: WorldInstant | None) -> None:
        arrays = joint_arrays(message)
        if arrays is not None and pose is None:
            self.health.counts['no odom at this instant'] += 1
        done = self._stage.update(stamp, self._momentum(arrays, pose), self._max_gap)
        if done is None:
            return
        instant, wrench, com = done
        self._publish_wrench(wrench_stamped(instant, WORLD, wrench.as_array()))
        gravity = np.array([0.0, 0.0, -self.robot.gravity])
        rate = wrench.momentum_rate(self.model.total_mass, gravity, com)
        self._publish_rate(wrench_stamped(instant, WORLD, rate.as_array()))

    def _momentum(self, arrays: Any, pose: WorldInstant | None) -> Momentum | None:
        if arrays is None or pose is None:
            return None
        root = (pose.R, pose.p, pose.v, pose.angular_velocity)
        return self._stage.momentum(*(values[None] for values in (*root, *arrays[:2])))
