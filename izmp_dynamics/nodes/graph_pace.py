"""How far a simulation or a player is ahead of a graph, which may be in other processes."""

import time
from collections import deque
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.receiving import stamp_of_bytes
from izmp_dynamics.signals.clock import AHEAD, BACK

PATIENCE = 2.0
"""Time without any result after which it is no use to wait for the graph [s]."""


class GraphPace:
    """Follows a result of the graph.

    Args:
        node: subscribes.
        ahead: pieces of a simulation, or joint messages, that may be published before results.
        topic: of the result; joint kinematics are published about every instant of the bus.
        msgtype: class of its messages, which have a header.
    """

    def __init__(
        self,
        node: Node,
        ahead: int,
        topic: str = 'joint_kinematics',
        msgtype: Any = JointTrajectory,
    ) -> None:
        self._ahead = ahead
        self._open: deque[int] = deque(maxlen=ahead + 1)
        self._newest = 0
        self._heard: float | None = None
        self._in_vain = False
        node.create_subscription(msgtype, topic, self._take, RESULT, raw=True)

    def published(self, stamp: int) -> None:
        """Note a piece that was published up to `stamp` [ns]."""
        before, self._newest = self._newest, max(stamp, self._newest)
        if before and not -BACK <= stamp - before <= AHEAD:  # another time, or a wrong stamp
            self._open.clear()
            self._newest = stamp
            return
        self._open.append(self._newest)

    @property
    def is_behind(self) -> bool:
        """Whether the graph has more to do than it should, and is at work.

        It is not waited for again if that was in vain, as its results come later in any case or
        not at all, until it has caught up.
        """
        if self._heard is None or len(self._open) <= self._ahead:
            self._in_vain = False
            return False
        if time.monotonic() - self._heard >= PATIENCE:
            self._in_vain = True
        return not self._in_vain

    def _take(self, raw: bytes) -> None:
        stamp = stamp_of_bytes(raw)
        self._heard = time.monotonic()
        while self._open and self._open[0] <= stamp:
            self._open.popleft()
