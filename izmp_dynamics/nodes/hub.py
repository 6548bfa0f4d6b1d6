"""Direct delivery between nodes of one process, beside their publication over DDS.

rclpy sends every message through DDS, also to a subscriber in the same process, which costs a
serialization and a turn of the executor per hop. Nodes that share a hub hand such messages over
by a call, in the order in which they were published; a sensor topic that several of them listen
to is received once. Publications still go out over DDS for whoever else listens.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

Callback = Callable[[Any], None]


class Hub:
    """Connects the nodes that were made with it; call `connect` once all of them exist."""

    def __init__(self) -> None:
        self._callbacks: defaultdict[str, list[Callback]] = defaultdict(list)
        self._published: set[str] = set()
        self._waiting: list[tuple[Node, str, Any, QoSProfile]] = []
        self._queue: deque[tuple[str, Any]] = deque()
        self._delivering = False
        self._connected = False

    def publishes(self, topic: str) -> None:
        """Note that a node here publishes a topic (its full name)."""
        self._published.add(topic)

    def listens(
        self, node: Node, topic: str, msgtype: Any, callback: Callback, qos: QoSProfile
    ) -> None:
        """Note that a node here wants a topic (its full name)."""
        first = topic not in self._callbacks
        self._callbacks[topic].append(callback)
        if first:
            self._waiting.append((node, topic, msgtype, qos))
        if self._connected:
            self.connect()

    def connect(self) -> None:
        """Subscribe over DDS to what no node here publishes; each topic once."""
        self._connected = True
        for node, topic, msgtype, qos in self._waiting:
            if topic not in self._published:
                subscribe(node, topic, msgtype, self._receiver(topic), qos)
        self._waiting.clear()

    def deliver(self, topic: str, message: Any) -> None:
        """Hand a message to the listeners here; what they publish is handed over after it."""
        if topic not in self._callbacks:
            return
        self._queue.append((topic, message))
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._queue:
                name, waiting = self._queue.popleft()
                for callback in self._callbacks[name]:
                    callback(waiting)
        finally:
            self._delivering = False

    def _receiver(self, topic: str) -> Callback:
        return lambda message: self.deliver(topic, message)


def subscribe(node: Node, topic: str, msgtype: Any, callback: Callback, qos: QoSProfile) -> Any:
    """Subscribe over DDS with a quality of service that parameters can override."""
    return node.create_subscription(
        msgtype,
        topic,
        callback,
        qos,
        qos_overriding_options=QoSOverridingOptions.with_default_policies(),
    )
