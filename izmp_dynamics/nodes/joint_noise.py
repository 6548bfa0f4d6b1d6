"""The noise of the joints, for the node izmp, which gets their motion from another node."""

import numpy as np
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
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

RATE_MESSAGES = 100
"""Messages after which it is looked whether they come at another rate than before."""

OTHER_RATE = 1.5
"""A rate that is so many times another one, or less than the inverse, is a new one."""


class JointNoise:
    """Learns which joints are published together and how often.

    As in the node acd, joints that appear later become further groups. Where messages come at
    another rate than before, as of a publisher that was restarted, all is learned anew.

    The joints are subscribed to by `learn`, or when something is asked for the first time.

    Args:
        node: subscribes.
    """

    def __init__(self, node: StageNode) -> None:
        self._node = node
        self._reader = JointReader(node.model.joint_names)
        self._seen: list[tuple[int, Flags]] | None = None
        self._forget()

    def reset(self) -> None:
        """Forget what has been learned, and learn it anew if that was begun."""
        if self._seen is not None:
            self._seen = []
        self._forget()

    def _forget(self) -> None:
        self._groups: tuple[JointGroup, ...] = ()
        self._unknown = np.ones(len(self._node.model.joint_names), dtype=np.bool_)
        self._speeds: tuple[float | None, JointSpeeds] | None = None
        self._stamps: list[int] = []
        self._step = 0.0

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
        if self._seen is None or stamp <= 0:
            return
        if self._groups and self._has_new_rate(stamp):
            self.reset()
        if not self._unknown.any():
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
            self._stamps, self._step = [], 0.0

    def _has_new_rate(self, stamp: int) -> bool:
        """Whether the median time between messages is another one than it was at first."""
        self._stamps.append(stamp)
        if len(self._stamps) <= RATE_MESSAGES:
            return False
        steps = np.diff(self._stamps)
        self._stamps = [stamp]
        if not (steps > 0).any():
            return False
        step = float(np.median(steps[steps > 0]))
        before, self._step = self._step, self._step or step
        return before > 0.0 and not before / OTHER_RATE < step < before * OTHER_RATE
