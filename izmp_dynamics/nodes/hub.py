"""Direct delivery between nodes of one process, beside their publication over DDS.

rclpy sends every message through DDS, also to a subscriber in the same process, which costs a
serialization and a turn of the executor per hop. Nodes that share a hub hand such messages over
by a call; a sensor topic that several of them subscribe to is received once, by a node that has
nothing else to do. What leads to the IZMP of MR-AD comes first; the rest of an instant's work
follows, and the publication over DDS of what is only handed on here.
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from izmp_dynamics.nodes.receiving import Callback, Lost, Receiver
from izmp_dynamics.sensing.faults import Reason

AT_MOST_LATER = 1000
"""Pieces of work that may wait for a pause; some twenty instants."""

AT_A_TIME = 2e-4
"""Time after which new messages are looked for [s]."""


class Hub:
    """Connects the nodes that were made with it; call `connect` once all of them exist.

    Args:
        node: receives what comes from outside.

    Attributes:
        node: the same.
        receiver: of its messages.
        lock: held while messages are handed over, and while a stage is changed.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.lock = threading.RLock()
        self._callbacks: defaultdict[str, list[tuple[Callback, bool]]] = defaultdict(list)
        self._lost: defaultdict[str, list[Lost]] = defaultdict(list)
        self._published: set[str] = set()
        self._waiting: list[tuple[str, Any, QoSProfile]] = []
        self._urgent: deque[Callable[[], None]] = deque()
        self._later: deque[Callable[[], None]] = deque()
        self.receiver = Receiver(self._later, self._work_later)
        self._working = False
        self._connected = False

    def advertise(self, topic: str) -> None:
        """Note that a node here publishes a topic (its full name)."""
        self._published.add(topic)

    def subscribe(
        self,
        topic: str,
        msgtype: Any,
        callback: Callback,
        lost: Lost,
        qos: QoSProfile,
        *,
        urgent: bool,
    ) -> None:
        """Note that a node here wants a topic (its full name)."""
        first = topic not in self._callbacks
        self._callbacks[topic].append((callback, urgent))
        self._lost[topic].append(lost)
        if first:
            self._waiting.append((topic, msgtype, qos))
        if self._connected:
            self.connect()

    def connect(self) -> None:
        """Subscribe over DDS to what no node here publishes; each topic once."""
        self._connected = True
        for topic, msgtype, qos in self._waiting:
            if topic not in self._published:
                receive, lost = partial(self.deliver, topic), partial(self._lose, topic)
                self.receiver.subscribe(self.node, topic, msgtype, receive, lost, qos)
        self._waiting.clear()

    def publish(self, topic: str, message: Any, over_dds: Callback) -> None:
        """Hand a message to the subscribers here, and to DDS."""
        if topic not in self._callbacks:
            over_dds(message)
            return
        with self.lock:
            self._later.append(partial(over_dds, message))
            self.deliver(topic, message)

    def deliver(self, topic: str, message: Any) -> None:
        """Hand a message to the subscribers here; what they publish is handed over after it."""
        with self.lock:
            for callback, urgent in self._callbacks[topic]:
                (self._urgent if urgent else self._later).append(partial(callback, message))
            if not self._working:
                self._work()

    def _work(self) -> None:
        """Do what is urgent; of the rest only what is too much to wait."""
        self._working = True
        try:
            while self._urgent or len(self._later) > AT_MOST_LATER:
                (self._urgent or self._later).popleft()()
        finally:
            self._working = False

    def _work_later(self) -> None:
        """Do some of the rest."""
        with self.lock:
            end = time.monotonic() + AT_A_TIME
            while self._later and time.monotonic() < end:
                self._later.popleft()()
                self._work()

    def _lose(self, topic: str, reason: Reason, number: int) -> None:
        for lost in self._lost[topic]:
            lost(reason, number)
