"""A topic with results: messages are made only where somebody subscribes to them."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.pipeline.clock import BACK


class Output:
    """Publishes with a quality of service that parameters can override.

    Args:
        node: publishes.
        topic: relative name, remappable.
        msgtype: class of the messages.
        health: counts the results and their age.
        qos: quality of service.

    Attributes:
        ahead: whether results are handed out before their time, in a pause; when their time
            comes, they are not published again.
    """

    def __init__(
        self, node: Node, topic: str, msgtype: Any, health: Health, qos: QoSProfile = RESULT
    ) -> None:
        overridable = QoSOverridingOptions.with_default_policies()
        self._publisher = node.create_publisher(
            msgtype, topic, qos, qos_overriding_options=overridable
        )
        self.topic: str = self._publisher.topic_name
        self._health = health
        self._clock = node.get_clock()
        self.ahead = False
        self._handed_out: set[int] = set()

    def __call__(self, make: Callable[..., Any], stamp: int, *values: Any) -> None:
        """Publish a result.

        Args:
            make: makes the message of stamp and values.
            stamp: of the instant [ns].
            values: of the result.
        """
        if self._handed_out and not self._is_new(stamp):
            return
        if self.ahead:
            self._handed_out.add(stamp)
        if self.wanted:
            self.publish(make(stamp, *values))
        self._health.published(self.topic, (self._clock.now().nanoseconds - stamp) * 1e-9)

    def _is_new(self, stamp: int) -> bool:
        """Whether a result was not handed out ahead of its time; forget those that were."""
        if stamp in self._handed_out:
            return False
        first, last = min(self._handed_out), max(self._handed_out)
        if not self.ahead and not first - BACK <= stamp <= last:
            self._handed_out.clear()  # their time has passed, or the clock was set back
        return True

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._publisher.get_subscription_count())

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self._publisher.publish(message)
