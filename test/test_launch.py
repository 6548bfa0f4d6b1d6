"""The launch files: described arguments, and the graph started by launch itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('launch', reason='launch comes with a ROS installation only')
pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS installation only')
pytest.importorskip('rclpy', reason='rclpy is missing')

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch.launch_description_sources import get_launch_description_from_python_launch_file

from .node_processes import (
    GRAPH,
    PATIENCE,
    ROBOT,
    ROOT,
    StandingRobot,
    free_domain,
    probe,
    wait_until,
)
from .replayed import evaluate_log

FILES = sorted((ROOT / 'launch').glob('*.launch.py'))

RUN = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
service = LaunchService()
source = PythonLaunchDescriptionSource(sys.argv[1])
arguments = [argument.split(':=', 1) for argument in sys.argv[2:]]
include = IncludeLaunchDescription(source, launch_arguments=arguments)
service.include_launch_description(LaunchDescription([include]))
sys.exit(service.run())
"""


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.name)
def test_every_argument_is_described(path):
    arguments = get_launch_description_from_python_launch_file(str(path)).get_launch_arguments()
    assert arguments
    for argument in arguments:
        assert argument.description
        assert argument.description != 'no description given'


class Launched:
    """A launch file that runs, and what it says."""

    def __init__(self, folder, name, *arguments):
        self.environment = os.environ | {
            'ROS_DOMAIN_ID': str(free_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'ROS_LOG_DIR': str(folder),
        }
        self.path = folder / 'launch.log'
        command = [sys.executable, '-c', RUN, str(ROOT / 'launch' / name), *arguments]
        with self.path.open('w') as log:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        """End it as Ctrl-C does; every process must end well."""
        os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(PATIENCE)
        if error[0] is None:
            assert 'Traceback' not in self.said, self.said
            assert 'process has died' not in self.said, self.said

    @property
    def said(self):
        return self.path.read_text()


@pytest.fixture
def installed():
    """Skip unless the package is installed where launch finds it."""
    try:
        return Path(get_package_share_directory('izmp_dynamics'))
    except (PackageNotFoundError, LookupError, OSError):
        pytest.skip('izmp_dynamics is not in the ament index (colcon build, source the workspace)')


def names(node):
    """Nodes with their namespaces."""
    return {f'{space.rstrip("/")}/{name}' for name, space in node.get_node_names_and_namespaces()}


@pytest.mark.parametrize('gait', ['walk', 'sway'])
def test_simulation_is_launched_and_evaluated(installed, tmp_path, gait):
    from geometry_msgs.msg import PointStamped

    points = []
    with (
        Launched(tmp_path, 'simulation.launch.py', f'gait:={gait}', 'steps:=4') as launched,
        probe(launched) as node,
    ):
        node.create_subscription(PointStamped, '/mr_ad/izmp', points.append, 100)
        assert wait_until(lambda: len(points) > 100), launched.said
        assert wait_until(lambda: node.count_publishers('/clock') == 1)
        assert wait_until(lambda: names(node) >= {f'/{name}' for name in (*GRAPH, 'motion')})
    assert all(point.header.frame_id == 'pelvis' for point in points)


def test_robot_balances_on_the_seesaw(installed, tmp_path):
    from geometry_msgs.msg import PoseStamped

    arguments = ('robot:=biped31', 'push:=100:lateral:0.5:0.01', 'duration:=2.0')
    poses = []
    with (
        Launched(tmp_path, 'seesaw.launch.py', *arguments) as launched,
        probe(launched) as node,
    ):
        node.create_subscription(PoseStamped, '/board/pose', poses.append, 2000)
        assert wait_until(lambda: len(poses) >= 900), launched.said
        assert abs(poses[-1].pose.orientation.x) < 0.1
        assert max(abs(pose.pose.orientation.x) for pose in poses) > 0.005


@pytest.mark.parametrize('composed', ['true', 'false'])
def test_nodes_are_launched_in_a_namespace_and_recorded(installed, tmp_path, composed, biped31):
    from geometry_msgs.msg import PointStamped
    from rosgraph_msgs.msg import Clock

    from izmp_dynamics.bags.reader import BagReader

    bag, points = tmp_path / 'recorded', []
    arguments = (
        f'robot:={ROBOT}', 'namespace:=anna', f'composed:={composed}', 'record:=true',
        f'bag:={bag}', 'use_sim_time:=true',
    )  # fmt: skip
    with (
        Launched(tmp_path, 'izmp.launch.py', *arguments) as launched,
        probe(launched, '/anna') as node,
    ):
        assert wait_until(lambda: node.count_subscribers('/anna/joint_states') >= 1)
        assert wait_until(lambda: names(node) >= {f'/anna/{n}' for n in (*GRAPH, 'recorder')})
        node.create_subscription(PointStamped, '/anna/mr_ad/izmp', points.append, 100)
        clock = node.create_publisher(Clock, '/clock', 10)
        clock.publish(Clock())
        with StandingRobot(node, biped31):
            assert wait_until(lambda: len(points) > 50), launched.said
    with BagReader(bag) as reader:
        assert {'/anna/mr_ad/izmp', '/anna/joint_states', '/diagnostics'} <= set(reader.topics)
        assert reader.topics['/anna/mr_ad/izmp'].count > 10


def test_a_recording_is_played_through_the_graph(installed, tmp_path, sound, biped31):
    """All of it: as many points as the replay has, at the same stamps."""
    from geometry_msgs.msg import PointStamped

    from izmp_dynamics.nodes.messages import stamp_of

    pytest.importorskip('rosbags', reason='the node player reads with rosbags')
    bag, points = sound.write(tmp_path / 'bag'), []
    expected = evaluate_log(bag, biped31)[0]
    with (
        Launched(tmp_path, 'replay.launch.py', f'bag:={bag}', f'robot:={ROBOT}') as launched,
        probe(launched) as node,
    ):
        node.create_subscription(PointStamped, '/mr_ad/izmp', points.append, 2000)
        assert wait_until(lambda: 'Played' in launched.said), launched.said
        wait_until(lambda: len(points) >= len(expected.stamps))
    np.testing.assert_array_equal([stamp_of(point) for point in points], expected.stamps)
