"""Node ir_md: joint_kinematics, odom → contact wrench from differenced momentum (sect. 4.4.2)."""

from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import WARN
from izmp_dynamics.nodes.messages import (
    ODOMETRY,
    joint_kinematics,
    world_instant,
)
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import UNWANTED, StageNode
from izmp_dynamics.nodes.wire import OdometrySample, TrajectorySample
from izmp_dynamics.pipeline.momentum import Differenced, IrMdStage
from izmp_dynamics.pipeline.world import WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.readiness import InstantQueue


class IrMd(StageNode):
    """Differences the momentum in the world; needs odometry at every instant of the joints."""

    def __init__(self, **options: Any) -> None:
        super().__init__('ir_md', SECTIONS['ir_md'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._instants: InstantQueue[JointKinematics] = InstantQueue({'odom': ODOMETRY})
        self._located = False
        super().set_up()
        self._wrench = self.advertise('ir_md/contact_wrench', WrenchStamped)
        self._rate = self.advertise('ir_md/momentum_rate', WrenchStamped)
        if self.robot.position is None:
            self.health.values['position'] = 'The robot file names no position; there is no IR-MD.'
            return
        self.subscribe(
            'joint_kinematics', JointTrajectory, self._take_joints, 'start the node acd.'
        )
        wanted = (self._wrench, self._rate)
        self.when_wanted(
            lambda: any(output.wanted for output in wanted), self._subscribe_to_odometry
        )
        self.health.counters.append(lambda: self._instants.faults)

    def awaited(self) -> list[str]:
        """Topics whose next message may complete an instant."""
        return [self._instants.awaited or self.instants] if self._located else []

    def configure(self, robot: RobotFile) -> None:
        """Make the stage."""
        self._stage = IrMdStage(self.model, robot)
        if robot.ir_md.step == 'actuator':
            self.health.remark(
                'step',
                WARN,
                'ir_md.step is actuator, but live the momentum is differenced at the bus rate, '
                'which is what reaches this node; set it to bus, or evaluate a recording.',
            )
        else:
            self.health.clear('step')

    def inspect(self) -> None:
        """State whether anything is computed."""
        self.health.values['wanted'] = 'yes' if self._located else UNWANTED

    def reset(self) -> None:
        """Forget all messages."""
        self._stage.reset()
        self._instants.reset()

    def _subscribe_to_odometry(self) -> None:
        self._located = True
        self.subscribe('odom', Odometry, self._take_odometry, 'start the node localizer.')

    def _take_joints(self, stamp: int, sample: TrajectorySample) -> None:
        if self._located:
            self._instants.push(stamp, joint_kinematics(stamp, sample, self.model.dof))

    def _take_odometry(self, stamp: int, sample: OdometrySample) -> None:
        self._instants.add('odom', stamp, sample.values)

    def evaluate(self) -> None:
        """Go through the instants in their order; each has odometry, or it never will."""
        for _, joints, (odometry,) in self._instants.take():
            root = world_instant(odometry)
            world = WorldState(root.R[None], root.p[None], root.v[None])
            self._put(self._stage.push(joints, world, root.angular_velocity[None]))

    def _put(self, differenced: Differenced) -> None:
        gravity = np.array([0.0, 0.0, -self.robot.gravity])
        for stamp, values, com in zip(*differenced, strict=True):
            if not np.isfinite(values).all():
                continue
            wrench = ContactWrench.from_array(values)
            self._wrench.numbers(int(stamp), self.frame_names.world, values)
            rate = wrench.momentum_rate(self.model.total_mass, gravity, com)
            self._rate.numbers(int(stamp), self.frame_names.world, rate.force, rate.moment)
