"""A burst that overflows the queues of a whole node, in simulated time."""

from collections import defaultdict, deque
from functools import partial

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

import rclpy
from rclpy.parameter import Parameter

from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.receiving import Losses
from izmp_dynamics.nodes.registry import node_class

from .node_processes import ROBOT, StandingRobot, free_domain
from .simulated_time import Sensors, clock  # noqa: F401 -- a fixture

RATE = 20
"""Samples of each sensor in a second."""

DEPTH = 50
"""Messages that a queue holds."""

PUT, COST = 10**3, 10**6
"""Time that it takes to publish and to take a message [ns]."""


class Queue:
    """A subscription of the middleware that keeps the last messages."""

    def __init__(self, topic, clock):  # noqa: F811
        self.topic_name, self.handle, self.clock = topic, self, clock
        self.waiting, self.number = deque(maxlen=DEPTH), 0

    def put(self, message):
        self.number += 1
        self.clock.stamp += PUT
        self.waiting.append((self.clock.stamp, self.number, message))

    def take_message(self, msgtype, raw):
        if not self.waiting:
            return None
        self.clock.stamp += COST
        received, number, message = self.waiting.popleft()
        return message, {'received_timestamp': received, 'publication_sequence_number': number}


class Graph:
    """The composed node, with queues of the test in place of DDS."""

    def __init__(self, robot, clock):  # noqa: F811
        self.clock, self.queues = clock, {}
        self.node = node_class('composed')(overrides=[Parameter('robot', value=str(ROBOT))])
        types = [(f'/{robot.position.topic}', ['geometry_msgs/msg/PointStamped'])]
        self.node.get_topic_names_and_types = lambda: types
        self.node.look_after(report=False)  # it subscribes to the position
        for reception in self.node.receiver._receptions:
            queue = self.queues[reception.topic] = Queue(reception.topic, clock)
            reception.subscription = queue
            reception.losses = Losses(lambda: 1, partial(reception.lost, Reason.LOST))
        self.robot = StandingRobot(Sensors(lambda topic, raw: self.queues[topic].put(raw)), robot)
        self.due = clock.stamp

    def publish(self, count):
        """Publish so many samples, whose stamps follow those before."""
        for _ in range(count):
            self.due += 10**9 // RATE
            self.robot.sample(self.due)

    def run(self, seconds):
        """Take what comes."""
        for count in range(seconds * RATE):
            self.publish(1)
            self.clock.stamp = max(self.clock.stamp, self.due)
            self.take()
            if count % RATE == 0:
                self.node.look_after(report=False)
                self.status()

    def take(self):
        """Take what waits."""
        while self.node.receiver.take(self.node.receiver._receptions):
            pass

    def status(self):
        """Key → value of the diagnostics since the last time."""
        return {item.key: item.value for item in self.node.health.status().values}


@pytest.fixture
def graph(biped31, clock):  # noqa: F811
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    graph = Graph(biped31, clock)
    yield graph
    graph.node.destroy_node()
    rclpy.shutdown()


def test_a_burst_of_ten_queues_passes(graph, monkeypatch):
    """25 s of all sensors at once: what is lost or skipped is counted, the newest counts."""
    given = defaultdict(set)

    def put(output, make, stamp, *values):
        given[output.topic].add(stamp)

    monkeypatch.setattr(Output, 'wanted', True)  # also what needs the pose
    monkeypatch.setattr(Output, '__call__', put)
    graph.run(6)
    graph.status()
    graph.publish(10 * DEPTH)
    end = graph.due
    graph.take()
    values = graph.status()
    assert 'finding burst[/joint_states]' in values
    assert int(values['joints.lost']) == 9 * DEPTH
    assert 0 < int(values['joints.skipped']) <= DEPTH
    graph.run(4)
    assert 'finding joints.skipped' not in graph.status()
    for topic in ('/mr_ad/izmp', '/ir_md/izmp'):
        new = [stamp for stamp in given[topic] if stamp > end]
        assert len(new) > 3 * RATE, topic
