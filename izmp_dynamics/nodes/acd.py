"""Node acd: joint_states → joint_kinematics (actuator coordinate differentiation, sect. 4.4.1)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import ERROR, WARN
from izmp_dynamics.nodes.messages import JointReader, joint_trajectory
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.pipeline.joints import JointStage
from izmp_dynamics.pipeline.samples import Samples
from izmp_dynamics.pipeline.standstill import compile_joints
from izmp_dynamics.sensing.faults import Fault, Reason
from izmp_dynamics.sensing.joint_kinematics import JointKinematics


class Acd(StageNode):
    """Differentiates the joint positions and decimates them to the rate of the bus."""

    def __init__(self, **options: Any) -> None:
        super().__init__('acd', ('acd', 'rates', 'low_pass', 'pairing'), **options)
        self._reader = JointReader(self.model.joint_names)
        self._names = list(self.model.joint_names)
        self._publish_joints = self.advertise('joint_kinematics', JointTrajectory)
        self._input = self.subscribe(
            self.robot.joints.topic,
            JointState,
            self._take,
            "start the robot's joint_state_broadcaster, or remap joint_states to its topic.",
            signal='joints',
            sensor=True,
        )
        self.health.counters.append(lambda: {'joints': self._stage.faults})

    def configure(self, robot: RobotFile) -> None:
        """Make the differentiation."""
        compile_joints(self.model, robot)
        self._stage = JointStage(
            self.model, robot, self.filtering(robot), patience=self.patience, relearn=True
        )

    def periods(self) -> Iterator[tuple[str, float]]:
        """Time between the messages of each group of joints, once it is known [s]."""
        return (('joints', group.period) for group in self._stage.groups)

    def reset(self) -> None:
        """Forget all samples."""
        self._stage.reset()

    def flush(self) -> None:
        """Hand out the last instants."""
        self._put(self._stage.flush(final=False))

    def _take(self, stamp: int, message: JointState) -> None:
        positions = self._reader.read(message)
        if isinstance(positions, Fault):
            self.health.count('joints', *positions)
            return
        if np.isnan(positions).all():
            self._no_joints(message)
            return
        self.health.clear('joints')
        learning = not self._stage.groups
        self._put(self._stage.push(Samples.one(stamp, positions)))
        if learning and self._stage.groups:
            self._learned()

    def _put(self, joints: JointKinematics) -> None:
        if not len(joints):
            return
        for row in np.flatnonzero(self._stage.on_bus(joints.stamps)).tolist():
            self._publish_joints(joint_trajectory(joints, row, self._names))

    def _learned(self) -> None:
        groups, absent = self._stage.groups, self._stage.absent
        rates = ', '.join(f'{len(g.columns)} at {1.0 / g.period:.0f} Hz' for g in groups)
        self.health.values['joints published'] = rates
        self.get_logger().info(f'Joints: {rates}.')
        self._compare_rate(1.0 / groups[0].period)
        if absent:
            self.health.remark(
                'absent',
                WARN,
                f'Joints without a publisher are taken to be at zero: {", ".join(absent)}.',
            )
        else:
            self.health.clear('absent')

    def _compare_rate(self, rate: float) -> None:
        stated = self.robot.rates.actuator
        if stated is not None and abs(rate / stated - 1.0) > 0.1:
            self.health.remark(
                'rate',
                WARN,
                f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz. '
                'Correct rates.actuator, or leave it out.',
            )
        else:
            self.health.clear('rate')

    def inspect(self) -> None:
        """Remark on several publishers of the same joints."""
        publishers = self.count_publishers(self._input.topic)
        if self._stage.groups and publishers > len(self._stage.groups):
            self.health.remark(
                'publishers',
                WARN,
                f'{publishers} nodes publish {self._input.topic}, but not different joints: their '
                'samples are mixed. Stop all but one.',
            )
        else:
            self.health.clear('publishers')

    def _no_joints(self, message: JointState) -> None:
        self.health.count('joints', Reason.NO_JOINT)
        self.health.remark(
            'joints',
            ERROR,
            f'The messages on {self._input.topic} name no joint of the robot: they have '
            f'{", ".join(message.name[:5]) or "no names"} …, the URDF has '
            f'{", ".join(self._names[:5])} …. Is it the URDF of this robot?',
        )
