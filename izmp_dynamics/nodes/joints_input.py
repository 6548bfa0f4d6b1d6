"""The topic of the joint states, and what is to be remarked about it."""

from collections.abc import Callable
from typing import Any

from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.nodes.health import ERROR, WARN
from izmp_dynamics.nodes.messages import JointReader
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.wire import JointSample
from izmp_dynamics.pipeline.joints import JointStage


class JointsInput:
    """Subscribes and reads.

    Args:
        node: subscribes.
        take: is given stamp [ns] and positions (n,) as the pipeline takes them.
        required: whether nothing comes out without it.
    """

    def __init__(
        self, node: TopicNode, take: Callable[[int, Array], None], required: bool = True
    ) -> None:
        self.node = node
        self._take_positions = take
        self._reader = JointReader(node.model.joint_names)
        self._stated: tuple[Any, ...] = ()
        self._input = node.subscribe(
            node.robot.joints.topic,
            JointState,
            self._take,
            "start the robot's joint_state_broadcaster, or remap joint_states to its topic.",
            signal='joints',
            sensor=True,
            required=required,
        )

    def _take(self, stamp: int, sample: JointSample) -> None:
        positions = self._reader.read(*sample)
        if isinstance(positions, Fault):
            self.node.health.count('joints', *positions)
        elif positions is None:
            self._no_joints(sample.names)
        else:
            self.node.health.clear('joints')
            self._take_positions(stamp, positions)

    def inspect(self, stage: JointStage) -> None:
        """State what has been learned about the joints, and remark on several publishers."""
        if not stage.groups:
            return
        if stage.groups != self._stated:
            self._stated = stage.groups
            self._state(stage)
        publishers = self.node.count_publishers(self._input.topic)
        if publishers > len(stage.groups):
            self.node.health.remark(
                'publishers',
                WARN,
                f'{publishers} nodes publish {self._input.topic}, but not different joints: their '
                'samples are mixed. Stop all but one.',
            )
        else:
            self.node.health.clear('publishers')

    def _state(self, stage: JointStage) -> None:
        rates = ', '.join(f'{len(g.columns)} at {1.0 / g.period:.0f} Hz' for g in stage.groups)
        self.node.health.values['joints published'] = rates
        self.node.get_logger().info(f'Joints: {rates}.')
        self._compare_rate(1.0 / stage.groups[0].period)
        if stage.absent:
            self.node.health.remark(
                'absent',
                WARN,
                f'Joints without a publisher are taken to be at zero: {", ".join(stage.absent)}.',
            )
        else:
            self.node.health.clear('absent')

    def _compare_rate(self, rate: float) -> None:
        stated = self.node.robot.rates.actuator
        if stated is not None and abs(rate / stated - 1.0) > 0.1:
            self.node.health.remark(
                'rate',
                WARN,
                f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz. '
                'Correct rates.actuator, or leave it out.',
            )
        else:
            self.node.health.clear('rate')

    def _no_joints(self, given: tuple[str, ...]) -> None:
        health, names = self.node.health, self.node.model.joint_names
        health.count('joints', Reason.NO_JOINT)
        health.remark(
            'joints',
            ERROR,
            f'The messages on {self._input.topic} name no joint of the robot: they have '
            f'{", ".join(given[:5]) or "no names"} …, the URDF has '
            f'{", ".join(names[:5])} …. Is it the URDF of this robot?',
        )
