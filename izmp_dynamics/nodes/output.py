"""A topic with results: messages are made only where somebody subscribes to them."""

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.qos import RESULT


class Output:
    """Publishes with a quality of service that parameters can override.

    Args:
        node: publishes.
        topic: relative name, remappable.
        msgtype: class of the messages.
        health: counts the results and their age.
        qos: quality of service.
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

    def __call__(self, make: Callable[..., Any], stamp: int, *values: Any) -> None:
        """Publish a result.

        Args:
            make: makes the message of stamp and values.
            stamp: of the instant [ns].
            values: of the result.
        """
        if self.wanted:
            self.publish(make(stamp, *values))
        self._health.published(self.topic, (self._clock.now().nanoseconds - stamp) * 1e-9)

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._publisher.get_subscription_count())

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self._publisher.publish(message)
