"""The whole graph in this process: messages of a bag in, one by one, without DDS; results out."""

from collections import defaultdict

import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.serialization import deserialize_message

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.nodes.bag_player import message_class, sensor_topics
from izmp_dynamics.nodes.main import GRAPH
from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.process import Graph

from .node_processes import wait_until


class PlayedGraph:
    """Use it as a context manager.

    Args:
        robot: its file, loaded.
        overrides: parameters of the nodes.

    Attributes:
        graph: the nodes.
        messages: topic → stamp → message that the graph published.
    """

    def __init__(self, robot, overrides):
        self.robot, self.overrides = robot, overrides
        self.messages = defaultdict(dict)

    def __enter__(self):
        position = self.robot.position.topic
        self.gps = rclpy.create_node('gps')  # its publisher defines the type of the position
        self.gps.create_publisher(PointStamped, position, 10)
        assert wait_until(lambda: self.gps.count_publishers(position))
        self.graph = Graph(GRAPH, self.overrides)
        publish = self.graph.hub.publish

        def record(topic, message, over_dds):
            if hasattr(message, 'header'):
                self.messages[topic][stamp_of(message)] = message
            publish(topic, message, lambda message: None)

        self.graph.hub.publish = record
        return self

    def __exit__(self, *error):
        self.graph.destroy()
        self.gps.destroy_node()

    def node(self, name):
        return next(node for node in self.graph.nodes if node.get_name() == name)

    def play(self, bag, change=lambda topic, message: message, flush=True):
        """Play a bag; `change` returns what comes in place of a message, None if nothing."""
        topics = [f'/{topic}' for topic in sensor_topics(self.robot)]
        with BagReader(bag) as reader:
            for item in reader.messages([topic for topic in topics if topic in reader.topics]):
                kind = message_class(reader.topics[item.topic].msgtype)
                message = change(item.topic, deserialize_message(item.raw, kind))
                if message is not None:
                    self.graph.hub.deliver(item.topic, message)
                    self.finish()
        for node in self.graph.nodes if flush else ():
            with node._guarded('flush'):
                node.flush()
            self.finish()

    def finish(self):
        """Do what waits for a pause between messages."""
        while self.graph.hub._later:
            self.graph.hub._work_later()

    def values(self, name):
        """Level of a node's diagnostics, and its values by key."""
        status = self.node(name).health.status()
        return status.level, {item.key: item.value for item in status.values}
