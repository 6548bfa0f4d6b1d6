"""A topic with results: messages are made only where somebody subscribes to them."""

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.wire import Template
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.results.topics import Topic
from izmp_dynamics.signals.clock import BACK

LOOK_EVERY = 0.2
"""Time after which it is looked again who subscribes [s]."""


class Audience:
    """Who subscribes to a topic: asking the middleware each time would cost more than it saves."""

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher
        self._is_there, self._next_look = False, 0.0

    def __bool__(self) -> bool:
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY
            self._is_there = bool(self._publisher.get_subscription_count())
        return self._is_there


class Output:
    """Publishes with a quality of service that parameters can override.

    Args:
        topic: relative name, remappable.
        constants: values of fields that all messages share, see `template`.

    Attributes:
        msgtype: class of the messages.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        msgtype: Any,
        health: Health,
        qos: QoSProfile = RESULT,
        **constants: Any,
    ) -> None:
        overridable = QoSOverridingOptions.with_default_policies()
        self._publisher = node.create_publisher(
            msgtype, topic, qos, qos_overriding_options=overridable
        )
        self.topic: str = self._publisher.topic_name
        self.msgtype = msgtype
        self._audience = Audience(self._publisher)
        self._template = Template(msgtype, **constants)
        self._health = health
        self._handed_out: set[int] = set()

    def __call__(self, make: Callable[..., Any], stamp: int, *values: Any) -> None:
        """Publish a result.

        Args:
            make: makes the message, or its bytes, of stamp and values.
            stamp: of the instant [ns].
            values: of the result.
        """
        if (self._health.ahead or self._handed_out) and not self._is_due(stamp):
            return
        if self.wanted:
            self.publish(make(stamp, *values))
        self._health.published(self.topic, stamp)

    def numbers(self, stamp: int, frame: str, *values: Array) -> None:
        """Publish a result whose message is a header and these numbers, see `template`.

        Args:
            stamp: of the instant [ns].
            frame: of the header.
            values: float64 arrays, in the order of the message.
        """
        self(self._template.write, stamp, frame, *values)

    def computed(
        self, stamp: int, frame: str, compute: Callable[..., tuple[Array, ...]], *given: Any
    ) -> None:
        """Publish as `numbers` what `compute` makes of what is given, if anybody subscribes."""
        self(lambda stamp: self._template.write(stamp, frame, *compute(*given)), stamp)

    def _is_due(self, stamp: int) -> bool:
        """Whether a result was not handed out ahead of its time; remember those that are."""
        handed_out = self._handed_out
        if stamp in handed_out:
            return False
        if self._health.ahead:
            handed_out.add(stamp)
        elif not min(handed_out) - BACK <= stamp <= max(handed_out):
            handed_out.clear()  # their time has passed, or the clock was set back
        return True

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._audience)

    def publish(self, message: Any) -> None:
        """Publish a message, or its bytes."""
        self._publisher.publish(message)


def numbers(topic: Topic, instant: Evaluated, rig: Rig) -> tuple[Array, ...]:
    """What a message of an instant holds, by the table of results."""
    return tuple(each[0] for each in topic.values(instant, rig) or ())
