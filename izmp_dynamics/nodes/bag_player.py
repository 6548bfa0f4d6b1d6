"""Plays the sensors of a recording over DDS, as the robot would publish them."""

import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rclpy.node import Node

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.topic_names import resolve_topic
from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.errors import ReplayError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.qos import RESULT

SETTLED = 1.0
"""Time for which the numbers of subscribers must not change before the first message [s]."""

AHEAD = 100
"""Joint messages by which the player may be ahead of a graph that it waits for."""

LONGEST_WAIT = 15.0
"""Time after which it is an error that there is no subscriber [s]."""


class BagPlayer:
    """Publishes the topics of a robot file from a bag, in the order in which they were recorded.

    A topic that was recorded in a namespace is published under the name of the robot file. The
    stamps stay as they are.

    Args:
        node: publishes.
        path: the bag.
        robot: names the topics.
        rate: how many times as fast as recorded.

    Attributes:
        published: messages so far.
        observe: is given the time at which a message was received [ns], when it is published.

    Raises:
        BagError: if the bag cannot be read.
        ReplayError: if it has none of the topics.
    """

    def __init__(self, node: Node, path: Path, robot: RobotFile, rate: float = 1.0) -> None:
        self.node = node
        self.rate = rate
        self.bag = BagReader(path)
        self.published = 0
        self.observe: Callable[[int], None] = lambda received: None
        self._publishers: dict[str, Any] = {}
        for wanted in sensor_topics(robot):
            name = resolve_topic(wanted, self.bag.topics)
            if name is not None:
                kind = message_class(self.bag.topics[name].msgtype)
                self._publishers[name] = node.create_publisher(kind, wanted, RESULT)
        self._joints = resolve_topic(robot.joints.topic, self._publishers)
        if not self._publishers:
            raise ReplayError(
                f"None of the robot file's topics is in '{path}'.",
                kind='no_topics',
                path=str(path),
            )

    @property
    def duration(self) -> float:
        """Length of the recording [s]."""
        return ((self.bag.end or 0) - (self.bag.start or 0)) / NANOSECONDS

    def wait_for_subscribers(self, stop: threading.Event, patience: float = LONGEST_WAIT) -> None:
        """Wait until every topic has a subscriber and no more come.

        Args:
            stop: ends it early.
            patience: time after which topics may be without a subscriber, or it is given up [s].

        Raises:
            ReplayError: if there is no subscriber.
        """
        begin = changed = time.monotonic()
        counts: list[int] = []
        while not stop.is_set():
            now = time.monotonic()
            found = [p.get_subscription_count() for p in self._publishers.values()]
            if found != counts:
                counts, changed = found, now
            if any(found) and now - changed > SETTLED and (all(found) or now - begin > patience):
                return
            if now - begin > patience and not any(found):
                raise ReplayError(
                    f'{", ".join(self._publishers)} have no subscriber; start the nodes first.',
                    kind='no_subscriber',
                    topics=tuple(self._publishers),
                )
            time.sleep(0.02)

    def play(
        self,
        stop: threading.Event,
        taken: Callable[[], int] | None = None,
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        """Publish everything at the times at which it was recorded.

        Args:
            stop: ends it early.
            taken: counts the joint messages that the graph has taken; then it is waited for, so
                that nothing is lost on a computer that is too slow.
            progress: is called now and then with the fraction that is done.
        """
        joints = 0
        begin, first = time.monotonic(), None
        for message in self.bag.messages(list(self._publishers)):
            first = message.received if first is None else first
            due = begin + (message.received - first) / NANOSECONDS / self.rate
            if self.published % 500 == 0:
                progress((message.received - first) / NANOSECONDS / max(self.duration, 1e-9))
            wait = due - time.monotonic()
            if wait > 0.0:
                time.sleep(wait)
            while taken is not None and joints - taken() > AHEAD and not stop.is_set():
                time.sleep(0.001)
            if stop.is_set():
                return
            joints += message.topic == self._joints
            self.observe(message.received)
            self._publishers[message.topic].publish(bytes(message.raw))
            self.published += 1
        progress(1.0)

    def close(self) -> None:
        """Close the bag."""
        self.bag.close()


def sensor_topics(robot: RobotFile) -> list[str]:
    """The topics that a robot publishes, as its file names them."""
    return list(robot.topics())


def message_class(msgtype: str) -> Any:
    """Import the class of a type, e.g. 'sensor_msgs/msg/Imu'.

    Raises:
        ReplayError: if its package is not installed.
    """
    package, _, name = msgtype.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise ReplayError(
            f'The message type {msgtype} is not installed here.',
            kind='unknown_message_type',
            msgtype=msgtype,
        ) from error
