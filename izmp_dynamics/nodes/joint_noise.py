"""The noise of the joints, for the node izmp, which gets their motion from another node."""

import numpy as np
from sensor_msgs.msg import JointState

from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.nodes.messages import JointReader
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.wire import JointSample
from izmp_dynamics.pipeline.joints import (
    LEARNED_MESSAGES,
    LEARNED_TIME,
    Flags,
    JointGroup,
    group_joints,
)
from izmp_dynamics.pipeline.uncertainty import JointSpeeds, encoder_variance, joint_speeds


class JointNoise:
    """Learns which joints are published together and how often.

    As in the node acd, joints that appear later become further groups.

    The joints are subscribed to by `learn`, or when something is asked for the first time.

    Args:
        node: subscribes.
    """

    def __init__(self, node: StageNode) -> None:
        self._node = node
        self._reader = JointReader(node.model.joint_names)
        self._seen: list[tuple[int, Flags]] | None = None
        self._groups: tuple[JointGroup, ...] = ()
        self._unknown = np.ones(len(node.model.joint_names), dtype=np.bool_)
        self._speeds: tuple[float | None, JointSpeeds] | None = None

    @property
    def groups(self) -> tuple[JointGroup, ...]:
        """Joints that are published together; empty while that is being learned."""
        self.learn()
        return self._groups

    def variance(self, stamps: Stamps, velocities: Array) -> Array | None:
        """Variance (K, n) of q̈; None while the rates of the joints are not known.

        Args:
            stamps: (K,) of the instants [ns].
            velocities: (K, n) q̇ [rad/s] or [m/s].
        """
        robot = self._node.robot
        if not robot.noise.encoder:
            return np.zeros_like(velocities)
        groups, half_width = self.groups, robot.filter.half_width
        if not groups:
            return None
        if self._speeds is None or self._speeds[0] != half_width:
            self._speeds = half_width, joint_speeds(groups, half_width)
        speeds = self._speeds[1].update(stamps, velocities)
        return encoder_variance(robot, groups, speeds)

    def learn(self) -> None:
        """Subscribe to the joints, unless that has been done."""
        if self._seen is not None:
            return
        self._seen = []
        self._node.subscribe(
            self._node.robot.joints.topic,
            JointState,
            self._take,
            "start the robot's joint_state_broadcaster.",
            signal='joints',
            sensor=True,
            required=False,
        )

    def _take(self, stamp: int, sample: JointSample) -> None:
        if self._seen is None or stamp <= 0 or not self._unknown.any():
            return
        positions = self._reader.read(*sample)
        if not isinstance(positions, np.ndarray):
            return
        present = self._unknown & ~np.isnan(positions)
        if not present.any():
            return
        self._seen.append((stamp, present))  # publishers may share their stamps
        if len(self._seen) < LEARNED_MESSAGES:
            return
        stamps = np.array([seen for seen, _ in self._seen])
        if np.ptp(stamps) >= LEARNED_TIME * NANOSECONDS:
            found = group_joints(np.array([present for _, present in self._seen]), stamps)
            for group in found:
                self._unknown[list(group.columns)] = False
            self._groups, self._seen, self._speeds = (*self._groups, *found), [], None
