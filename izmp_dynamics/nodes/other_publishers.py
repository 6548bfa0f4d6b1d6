"""Other programs in the ROS domain that publish what this one publishes: the data would mix."""

import time
from collections import Counter
from collections.abc import Iterable

from rclpy.node import Node

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.finding import list_names

DISCOVERED = 0.5
"""Time in which nodes are discovered [s]."""

LOOK_EVERY = 0.05
"""Time between two looks meanwhile [s]."""


class OtherPublishers:
    """Looks for them.

    Args:
        node: looks, and resolves names.
        topics: that nobody else may publish.
        remedy: a sentence that says what to do.

    Attributes:
        own: nodes of this program that publish some of the topics.
    """

    def __init__(self, node: Node, topics: Iterable[str], remedy: str) -> None:
        self.own: list[Node] = []
        self._node, self._remedy = node, remedy
        self._topics = [node.resolve_topic_name(topic) for topic in topics]

    def refuse(self, patience: float = DISCOVERED) -> None:
        """Make sure that there are none, before this program publishes.

        Args:
            patience: time in which they are to be discovered [s].

        Raises:
            IzmpError: if there are.
        """
        until = time.monotonic() + patience
        while not (found := self.found()) and time.monotonic() < until:
            time.sleep(LOOK_EVERY)
        if found:
            raise IzmpError(found, kind='others_publish')

    def found(self) -> str:
        """Say which topics others publish now, and what to do; '' if there are none."""
        own = Counter(p.topic_name for node in self.own for p in node.publishers)
        topics = [name for name in self._topics if self._node.count_publishers(name) > own[name]]
        if not topics:
            return ''
        return (
            f'Another program publishes {list_names(topics)}, so its data and those of this '
            f'session mix. {self._remedy}'
        )
