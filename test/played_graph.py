"""The whole graph in this process: messages of a bag in, one by one, without DDS; results out."""

import struct
import time
from collections import defaultdict, deque
from collections.abc import Mapping
from unittest.mock import patch

import rclpy
import yaml
from geometry_msgs.msg import PointStamped
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.messages import message_class, stamp_of
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.pause import FLUSH_AFTER, LOOK_EVERY
from izmp_dynamics.nodes.registry import node_class

from .node_processes import GRAPH, ROBOT, STAMP_AT, wait_until

COMPOSED = ('composed',)

LONG = 4 * FLUSH_AFTER + 1.0
"""A pause in which each of the nodes acd, localizer, ir_md, izmp waits for the one before [s]."""


def parameters(**values):
    """Parameters of the robot biped31, and others by name, with __ for a dot."""
    given = {'robot': str(ROBOT), **values}
    return [Parameter(name.replace('__', '.'), value=value) for name, value in given.items()]


def written(content, folder, **changes):
    """A robot file with this content and changes of it; its path."""
    path = folder / 'robot.yaml'
    path.write_text(yaml.safe_dump(content | changes))
    return path


class Messages(Mapping):
    """Stamp [ns] → message; what was published as bytes is deserialized when it is looked at."""

    def __init__(self):
        self._found = {}

    def add(self, message, kind):
        """Add a message with a header, or its bytes, which begin with the stamp."""
        if isinstance(message, bytes):
            seconds, rest = struct.unpack_from('<iI', message, STAMP_AT)
            self._found[10**9 * seconds + rest] = message, kind
        else:
            self._found[stamp_of(message)] = message, None

    def __getitem__(self, stamp):
        message, kind = self._found[stamp]
        if kind is not None:
            message = deserialize_message(message, kind)
            self._found[stamp] = message, None
        return message

    def __iter__(self):
        return iter(self._found)

    def __len__(self):
        return len(self._found)


class PlayedGraph:
    """Use it as a context manager; meanwhile the steady clock goes on in pauses alone.

    Args:
        robot: its file, loaded.
        overrides: parameters of the nodes.
        names: of the nodes.
        wanted: whether somebody subscribes to an output, as `Output.wanted`.

    Attributes:
        nodes: the nodes.
        messages: topic → stamp → message that the graph published.
        published: topics of all that it published, with a stamp or without.
        unstamped: topic → messages of those without a stamp.
        late: names of the nodes that skip what comes, as the computer is too slow for them.
    """

    def __init__(self, robot, overrides, names=GRAPH, wanted=True):
        self.robot, self.overrides, self.names = robot, overrides, names
        self.messages = defaultdict(Messages)
        self.nodes, self.late, self.published = [], frozenset(), set()
        self.unstamped = defaultdict(list)
        self._waiting, self._wanted = deque(), wanted
        self._now = time.monotonic()
        self._clock = patch('time.monotonic', lambda: self._now)

    def __enter__(self):
        position = self.robot.position.topic
        self.gps = rclpy.create_node('gps')  # its publisher defines the type of the position
        self.gps.create_publisher(PointStamped, position, 10)
        assert wait_until(lambda: self.gps.count_publishers(position))
        self._clock.start()
        self._before = Output.wanted, Output.publish
        Output.wanted, Output.publish = self._wanted, self._publisher()
        try:
            for name in self.names:
                self.nodes.append(node_class(name)(overrides=self.overrides))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        Output.wanted, Output.publish = self._before
        self._clock.stop()
        for node in (*self.nodes, self.gps):
            node.destroy_node()

    def _publisher(self):
        def publish(output, message):
            self._waiting.append((output.topic, message))
            self.published.add(output.topic)
            if hasattr(output.msgtype, 'header'):
                self.messages[output.topic].add(message, output.msgtype)
            elif isinstance(message, bytes):
                found = deserialize_message(message, output.msgtype)
                self.unstamped[output.topic].append(found)

        return publish

    def give(self, topic, message):
        """Let a sensor publish a message, or its bytes."""
        self._waiting.append((topic, message))

    def node(self, name):
        """The node with this task; the composed one has them all."""
        if self.names == COMPOSED:
            return self.nodes[0]
        return next(node for node in self.nodes if node.get_name() == name)

    def play(self, bag, change=None, flush=True):
        """Play a bag; `change` returns what comes in place of a message, None if nothing."""
        topics = [f'/{topic}' for topic in self.robot.topics()]
        with BagReader(bag) as reader:
            for item in reader.messages([topic for topic in topics if topic in reader.topics]):
                for node in self.nodes:
                    node.receiver.received = item.received
                message = bytes(item.raw)
                if change is not None:
                    kind = message_class(reader.topics[item.topic].msgtype)
                    message = change(item.topic, deserialize_message(message, kind))
                if message is not None:
                    self._waiting.append((item.topic, message))
                    self.deliver()
        for node in self.nodes:
            node.evaluate()
            with node._guarded('flush'):
                if flush:
                    node.flush()
            self.deliver()

    def pause(self):
        """Let so much time pass without a message that all nodes notice it, one after another."""
        for _ in range(round(LONG / LOOK_EVERY)):
            self._now += LOOK_EVERY
            for node in self.nodes:
                node.look_after(report=False)
            self.deliver()

    def deliver(self):
        """Hand what waits to the nodes that subscribe to it, and what they publish then."""
        while self._waiting:
            topic, message = self._waiting.popleft()
            for node in self.nodes:
                for reception in node.receiver._receptions:
                    if reception.topic != topic:
                        continue
                    if self.late and node.get_name() in self.late:
                        reception.lost(Reason.SKIPPED, 1)
                        continue
                    if not isinstance(message, bytes):
                        message = serialize_message(message)
                    raw, kind = reception.raw, reception.msgtype
                    reception.callback(message if raw else deserialize_message(message, kind))
                    node.advance()

    def values(self, name):
        """Level of a node's diagnostics, and its values by key."""
        return self.status(self.node(name))

    def status(self, node):
        """Level of the diagnostics since the last time, and their values by key."""
        node.inspect()
        status = node.health.status()
        return status.level, {item.key: item.value for item in status.values}
