"""How far a simulation is ahead of a graph, which may be in other processes."""

import time
from collections import deque

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.wire import MessageReader, reader_of

PATIENCE = 2.0
"""Time without any result after which it is no use to wait for the graph [s]."""


class GraphPace:
    """Follows the joint kinematics, which the graph publishes about every instant of the bus.

    Args:
        node: subscribes.
        ahead: pieces of the simulation that may be published before their results.
    """

    def __init__(self, node: Node, ahead: int) -> None:
        reader = reader_of(JointTrajectory)
        assert reader is not None
        self._read: MessageReader = reader
        self._ahead = ahead
        self._open: deque[int] = deque(maxlen=ahead + 1)
        self._heard: float | None = None
        node.create_subscription(JointTrajectory, 'joint_kinematics', self._take, RESULT, raw=True)

    def published(self, stamp: int) -> None:
        """Note a piece that was published up to `stamp` [ns]."""
        self._open.append(stamp)

    @property
    def is_behind(self) -> bool:
        """Whether the graph has more to do than it should, and is at work."""
        if self._heard is None or len(self._open) <= self._ahead:
            return False
        return time.monotonic() - self._heard < PATIENCE

    def _take(self, raw: bytes) -> None:
        stamp, _ = self._read(raw)
        self._heard = time.monotonic()
        while self._open and self._open[0] <= stamp:
            self._open.popleft()
