"""The topic of the joints."""

from typing import Any

import numpy as np

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.model.signals import JOINT_STATE
from izmp_dynamics.nodes.messages import JointReader
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.wire import JointSample
from izmp_dynamics.pipeline.joints import JointStage


class JointsInput:
    """Subscribes and reads.

    Args:
        node: collects 'joints' and 'efforts', positions (n,) and torques (n,) as the pipeline
            takes them.
        required: whether nothing comes out without it.
    """

    def __init__(self, node: TopicNode, required: bool = True) -> None:
        self.node = node
        self._reader = JointReader(node.model.joint_names)
        self._stated: tuple[Any, ...] = ()
        self._input = node.subscribe(
            node.robot.joints.topic,
            node.robot.joints.type or JOINT_STATE,
            self._take,
            "start the robot's joint_state_broadcaster, or remap joint_states to its topic.",
            signal='joints',
            sensor=True,
            required=required,
        )

    def _take(self, stamp: int, sample: JointSample) -> None:
        positions = self._reader.read(sample.names, sample.positions)
        if isinstance(positions, Fault):
            self.node.health.count('joints', *positions)
        elif positions is None:
            self._no_joints(sample.names)
        else:
            self.node.health.clear('joints')
            self.node.collect('joints', stamp, positions)
            if not (len(sample.efforts) and self.node.robot.estimates_loads):
                return
            efforts = self._reader.read(sample.names, sample.efforts)
            if isinstance(efforts, np.ndarray):
                self.node.collect('efforts', stamp, efforts)

    def inspect(self, stage: JointStage) -> None:
        """State what has been learned about the joints."""
        if stage.groups and stage.groups != self._stated:
            self._stated = stage.groups
            self._input.publishers = len(stage.groups)
            self._state(stage)

    def _state(self, stage: JointStage) -> None:
        rates = ', '.join(f'{len(g.columns)} at {1.0 / g.period:.0f} Hz' for g in stage.groups)
        self.node.health.values['joints published'] = rates
        self.node.get_logger().info(f'Joints: {rates}.')
        rate, stated = 1.0 / stage.groups[0].period, self.node.robot.rates.actuator
        wrong = ''
        if stated is not None and abs(rate / stated - 1.0) > 0.1:
            wrong = (
                f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz. '
                'Correct rates.actuator, or leave it out.'
            )
        self.node.health.remark('rate', 'warning', wrong)
        names = ', '.join(stage.absent)
        absent = names and f'Joints without a publisher are taken to be at zero: {names}.'
        self.node.health.remark('absent', 'warning', absent)

    def _no_joints(self, given: tuple[str, ...]) -> None:
        health, names = self.node.health, self.node.model.joint_names
        health.count('joints', Reason.NO_JOINT)
        health.remark(
            'joints',
            'error',
            f'The messages on {self._input.topic} name no joint of the robot: they have '
            f'{", ".join(given[:5]) or "no names"} …, the URDF has '
            f'{", ".join(names[:5])} …. Is it the URDF of this robot?',
        )
