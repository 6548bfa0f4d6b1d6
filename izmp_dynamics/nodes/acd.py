"""Node acd: joint_states → joint_kinematics (actuator coordinate differentiation, sect. 4.4.1)."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.collected import MOST_COLLECTED, Collected, together
from izmp_dynamics.nodes.joints_input import JointsInput
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.template import JointTemplate
from izmp_dynamics.nodes.wire import ImuSample, WrenchSample
from izmp_dynamics.pipeline.joints import JointStage
from izmp_dynamics.pipeline.standstill import compile_joints
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.clock import Clocks


class Acd(StageNode):
    """Differentiates the joint positions and decimates them to the rate of the bus."""

    def __init__(self, **options: Any) -> None:
        super().__init__('acd', SECTIONS['acd'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._collected = Collected()
        super().set_up()
        # The other topics only show whether the robot moves.
        self._clocks = Clocks(self.resolve_topic_name(self.robot.joints.topic))
        self._template = JointTemplate(self.model.joint_names)
        self._joints = self.advertise('joint_kinematics', JointTrajectory)
        self._input = JointsInput(self, self._take)
        self._subscribe_to_witnesses()
        self.health.counters.append(lambda: {'joints': self._stage.faults})

    def configure(self, robot: RobotFile) -> None:
        """Make the differentiation."""
        compile_joints(self.model, robot)
        former: JointStage | None = getattr(self, '_stage', None)
        self._stage = JointStage(
            self.model,
            robot,
            self.filtering(robot),
            patience=self.patience,
            witnesses=_witnesses(robot),
            relearn=True,
        )
        if former is not None:
            self._stage.assume(former.groups)

    def periods(self) -> Iterator[tuple[str, float]]:
        """Time between the messages of each group of joints, once it is known [s]."""
        return (('joints', group.period) for group in self._stage.groups)

    def reset(self) -> None:
        """Forget all samples."""
        self._collected.take()
        self._stage.reset()

    def flush(self) -> None:
        """Hand out the last instants."""
        self.evaluate()
        self._put(self._stage.flush(final=False))

    def awaited(self) -> list[str]:
        """Topics whose next message may complete an instant."""
        return [self.robot.joints.topic]

    def advance(self) -> None:
        """Evaluate if an instant that reaches the bus can be complete; rest until the next one."""
        stamp = self._collected.newest.get('joints', 0)
        due = stamp > 0 and stamp >= self._stage.due(stamp)
        if due or self._collected.count >= MOST_COLLECTED:
            now = time.monotonic()
            self.evaluate()
            self.rest(now + self._stage.idle_after(stamp), stamp)

    def evaluate(self) -> None:
        """Differentiate what was collected."""
        for signal, samples in self._collected.take():
            try:
                if signal == 'joints':
                    self._put(self._stage.push(together(samples)))
                else:
                    self._stage.witness(signal, together(samples))
            except Exception as error:
                self.fail(signal, error)
        with self._guarded('joints'):
            self._put(self._stage.settle())

    def inspect(self) -> None:
        """State what has been learned about the joints, and remark on several publishers."""
        self._input.inspect(self._stage)

    def _subscribe_to_witnesses(self) -> None:
        """Subscribe to what shows whether the robot moves while joints repeat their positions."""
        for signal, topic in _witnesses(self.robot).items():
            msgtype = Imu if signal == 'imu' else WrenchStamped
            self.subscribe(
                topic,
                msgtype,
                partial(self._see, signal),
                'without it, joints that hang may go unnoticed.',
                signal=signal,
                sensor=True,
                required=False,
            )

    def _take(self, stamp: int, positions: Array) -> None:
        self._collected.add('joints', stamp, positions)

    def _see(self, signal: str, stamp: int, sample: ImuSample | WrenchSample) -> None:
        self._collected.add(signal, stamp, sample.values)

    def _put(self, joints: JointKinematics) -> None:
        if not len(joints):
            return
        for row in np.flatnonzero(self._stage.on_bus(joints.stamps)).tolist():
            self._joints(self._template.write, int(joints.stamps[row]), joints, row)


def _witnesses(robot: RobotFile) -> dict[str, str]:
    """Signal → topic of IMU and force sensors."""
    wrenches = {f'feet[{foot.name}]': foot.wrench.topic for foot in robot.feet if foot.wrench}
    return {'imu': robot.imu.topic, **wrenches}
