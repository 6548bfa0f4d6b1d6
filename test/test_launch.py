"""The launch files: described arguments, and the graph started by launch itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('launch', reason='launch comes with a ROS installation only')
pytest.importorskip('launch_ros', reason='launch_ros comes with a ROS installation only')
pytest.importorskip('rclpy', reason='rclpy is missing')

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch.launch_description_sources import get_launch_description_from_python_launch_file

from .node_processes import ROBOT, ROOT, free_domain, patched_environment, probe, wait_until

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


def start(name, *arguments):
    environment = os.environ | {
        'ROS_DOMAIN_ID': str(free_domain()),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }
    command = [sys.executable, '-c', RUN, str(ROOT / 'launch' / name), *arguments]
    return environment, subprocess.Popen(command, env=environment, start_new_session=True)


class Environment:
    """What `probe` wants to know of processes."""

    def __init__(self, environment):
        self.environment = environment


@pytest.fixture
def installed():
    """Skip unless the package is installed where launch finds it."""
    try:
        return Path(get_package_share_directory('izmp_dynamics'))
    except (PackageNotFoundError, LookupError, OSError):
        pytest.skip('izmp_dynamics is not in the ament index (colcon build, source the workspace)')


def test_simulation_is_launched_and_evaluated(installed):
    from geometry_msgs.msg import PointStamped

    environment, process = start('simulation.launch.py', 'gait:=sway', f'robot:={ROBOT}')
    points = []
    try:
        with patched_environment(environment), probe(Environment(environment)) as node:
            node.create_subscription(PointStamped, '/mr_ad/izmp', points.append, 100)
            assert wait_until(lambda: len(points) > 100, 90)
            assert wait_until(lambda: node.count_publishers('/clock') == 1)
            assert {name for name, _ in node.get_node_names_and_namespaces()} >= {
                'acd', 'angular_acceleration', 'mr_ad', 'localizer', 'ir_md', 'izmp', 'motion',
            }  # fmt: skip
    finally:
        process.send_signal(2)
        process.wait(30)


def test_robot_balances_on_the_seesaw(installed):
    from geometry_msgs.msg import PoseStamped

    arguments = ('robot:=biped31', 'push:=100:lateral:0.5:0.01', 'duration:=2.0')
    environment, process = start('seesaw.launch.py', *arguments)
    poses = []
    try:
        with patched_environment(environment), probe(Environment(environment)) as node:
            node.create_subscription(PoseStamped, '/board/pose', poses.append, 2000)
            assert wait_until(lambda: len(poses) >= 900, 90)
            assert abs(poses[-1].pose.orientation.x) < 0.1
            assert max(abs(pose.pose.orientation.x) for pose in poses) > 0.005
    finally:
        process.send_signal(2)
        process.wait(30)


def test_nodes_are_launched_in_a_namespace(installed):
    environment, process = start('izmp.launch.py', f'robot:={ROBOT}', 'namespace:=anna')
    try:
        with patched_environment(environment), probe(Environment(environment)) as node:
            assert wait_until(lambda: node.count_publishers('/anna/mr_ad/izmp') == 1, 90)
            assert wait_until(lambda: node.count_subscribers('/anna/joint_states') == 1)
            assert wait_until(lambda: node.count_subscribers('/anna/imu') == 2)
    finally:
        process.send_signal(2)
        process.wait(30)
