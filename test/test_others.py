"""Other nodes: a graph that is behind, and two sessions in one ROS domain, whose data mix."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from geometry_msgs.msg import PointStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes import others
from izmp_dynamics.nodes.messages import header
from izmp_dynamics.nodes.others import GraphPace, refuse_others

from .node_processes import PATIENCE, ROBOT, ROOT, Processes, probe

STEP = 8_000_000
"""Between two pieces [ns]."""


class Graph:
    """Publishes results when it is told to, by a clock of the test."""

    def __init__(self, monkeypatch):
        self.now, self.count = 100.0, 0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(others, 'time', clock)
        self.pace = GraphPace(self, ahead=3)

    def create_subscription(self, msgtype, topic, callback, qos, raw):
        assert (msgtype, topic, raw) == (JointTrajectory, 'joint_kinematics', True)
        self.answer = callback

    def publish_until_behind(self, most=20):
        """Let the simulation go on; return how many pieces it publishes."""
        for count in range(most):
            if self.pace.is_behind:
                return count
            self.count += 1
            self.pace.published(self.count * STEP)
        return most

    def result(self, piece):
        self.answer(serialize_message(JointTrajectory(header=header(piece * STEP, ''))))


def test_from_the_first_result_on_it_waits_for_that_of_the_oldest_piece(monkeypatch):
    assert Graph(monkeypatch).publish_until_behind() == 20
    graph = Graph(monkeypatch)
    graph.result(0)
    for piece, published in ((0, 4), (0, 0), (1, 1), (5, 4)):
        graph.result(piece)
        assert graph.publish_until_behind() == published


def test_a_clock_that_is_set_back_is_no_reason_to_wait(monkeypatch):
    graph = Graph(monkeypatch)
    graph.count = 1000
    graph.pace.published(1000 * STEP)
    graph.result(1000)
    graph.publish_until_behind()
    graph.count = 0
    graph.pace.published(0)
    assert graph.publish_until_behind() == 4
    graph.result(2)
    assert graph.publish_until_behind() == 2


def test_wrong_stamps_and_those_of_two_publishers_do_not_hide_that_it_is_behind(monkeypatch):
    graph = Graph(monkeypatch)
    graph.pace.published(STEP)
    graph.result(0)
    for stamp in (3 * STEP, 2 * STEP, 10**18, 4 * STEP, 6 * STEP, 5 * STEP, 7 * STEP, 8 * STEP):
        graph.pace.published(stamp)
    assert graph.pace.is_behind
    graph.result(20)
    assert not graph.pace.is_behind


def test_results_that_come_late_in_any_case_are_waited_for_once(monkeypatch):
    """As of a sensor that is silent: each comes when others have been published."""
    graph = Graph(monkeypatch)
    graph.result(0)
    assert graph.publish_until_behind() == 4
    graph.now += others.PATIENCE
    for piece in range(1, 50):
        assert graph.publish_until_behind(most=4) == 4
        graph.result(piece)
    graph.result(graph.count)
    assert graph.publish_until_behind() == 4


@pytest.fixture
def processes(tmp_path):
    with Processes(tmp_path) as processes:
        yield processes


def test_others_that_publish_the_same_are_refused(processes):
    topics = ['mr_ad/izmp', 'joint_states']
    with probe(processes) as node, probe(processes) as other:
        refuse_others(node, topics, 'End it.', patience=0.1)
        other.create_publisher(JointState, 'joint_states', 1)
        sentence = 'Another program publishes /joint_states, so its data and those .* mix. End it.'
        with pytest.raises(IzmpError, match=sentence):
            refuse_others(node, topics, 'End it.', PATIENCE)


PATIENT = """
import sys
from functools import partial
from izmp_dynamics.cli.main import main
from izmp_dynamics.nodes import session
session.refuse_others = partial(session.refuse_others, patience=float(sys.argv[1]))
sys.exit(main(['live', '--robot', sys.argv[2]]))
"""
"""Looks longer for others, which a busy computer may discover late."""


def test_live_says_that_a_graph_runs_already_but_wants_the_sensors_of_the_robot(processes):
    with probe(processes) as node:
        for kind, topic in ((PointStamped, 'mr_ad/izmp'), (JointState, 'joint_states')):
            node.create_publisher(kind, topic, 1)
        live = subprocess.run(
            [sys.executable, '-c', PATIENT, str(PATIENCE), str(ROBOT)],
            env=processes.environment, cwd=ROOT, text=True, timeout=2 * PATIENCE,
            check=False, stderr=subprocess.PIPE,
        )  # fmt: skip
    assert live.returncode == 1
    assert 'Another program publishes /mr_ad/izmp, so' in live.stderr
