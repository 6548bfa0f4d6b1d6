"""Two sessions in one ROS domain: it is said that their data mix."""

import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

from geometry_msgs.msg import PointStamped
from sensor_msgs.msg import JointState

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.other_publishers import OtherPublishers

from .node_processes import PATIENCE, ROBOT, ROOT, Processes, probe, wait_until


@pytest.fixture
def processes(tmp_path):
    with Processes(tmp_path) as processes:
        yield processes


def test_publishers_of_others_are_distinguished_from_ones_own(processes):
    with probe(processes) as node, probe(processes) as other:
        others = OtherPublishers(node, ['mr_ad/izmp', 'joint_states'], 'End it.')
        others.own.append(node)
        own = node.create_publisher(PointStamped, 'mr_ad/izmp', 1)
        assert wait_until(lambda: node.count_publishers('/mr_ad/izmp') == 1)
        assert others.found() == ''
        others.refuse(patience=0.1)
        added = other.create_publisher(JointState, 'joint_states', 1)
        sentence = 'Another program publishes /joint_states, so its data and those .* mix. End it.'
        with pytest.raises(IzmpError, match=sentence):
            others.refuse(PATIENCE)
        other.destroy_publisher(added)
        assert wait_until(lambda: not others.found())
        other.create_publisher(PointStamped, 'mr_ad/izmp', 1)
        assert wait_until(others.found)
        node.destroy_publisher(own)


def test_live_says_that_a_graph_runs_already_but_wants_the_sensors_of_the_robot(
    processes, tmp_path
):
    log = tmp_path / 'said'
    with probe(processes) as node, log.open('w') as said:
        for kind, topic in ((PointStamped, 'mr_ad/izmp'), (JointState, 'joint_states')):
            node.create_publisher(kind, topic, 1)
        live = subprocess.Popen(
            [sys.executable, '-m', 'izmp_dynamics.cli.main', 'live', '--robot', str(ROBOT)],
            env=processes.environment, cwd=ROOT, stdout=said, stderr=said,
        )  # fmt: skip
        try:
            assert wait_until(lambda: 'Another program publishes /mr_ad/izmp, so' in read(log))
        finally:  # it has ended, unless the other one was discovered late
            live.kill()
            live.wait()


def read(log):
    return log.read_text()
