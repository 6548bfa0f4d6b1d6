"""The launch files: described arguments, and the graph started by launch itself."""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import launch_ros.actions  # before launch: in this repository a folder has that name
import numpy as np
import pytest
from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from launch import LaunchContext
from launch.launch_description_sources import get_launch_description_from_python_launch_file
from launch.utilities import perform_substitutions

from izmp_dynamics.launching.graph import node

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
from .recorded import evaluate_log
from .requiring import need

COMPOSED = 'izmp_dynamics'
"""Name of the node that is the whole graph."""

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


def test_the_robot_of_webots_is_shown_as_a_path():
    path = ROOT / 'launch' / 'webots.launch.py'
    arguments = get_launch_description_from_python_launch_file(str(path)).get_launch_arguments()
    (default,) = [argument.default_value for argument in arguments if argument.name == 'robot']
    assert Path(perform_substitutions(LaunchContext(), default)).samefile(ROBOT)
    assert all(hasattr(part, 'text') for part in default)  # what --show-args prints


@pytest.mark.parametrize('name', ['simulation', 'replay', 'seesaw'])
def test_the_default_that_is_shown_is_the_one_that_holds(name):
    """The first declaration is shown; the value that the graph gets must be the same."""
    path = ROOT / 'launch' / f'{name}.launch.py'
    arguments = get_launch_description_from_python_launch_file(str(path)).get_launch_arguments()
    shown = {}
    for argument in arguments:
        shown.setdefault(argument.name, argument.default_value)
    for flag in ('use_sim_time', 'reliable_inputs', 'composed'):
        assert perform_substitutions(LaunchContext(), shown[flag]) == 'true', flag


@pytest.mark.parametrize(
    ('given', 'expected'), [(None, 'env --block-signal=INT'), ('gdb --args', 'gdb --args')]
)
def test_nodes_start_with_sigint_blocked_unless_a_prefix_is_given(installed, given, expected):
    context = LaunchContext()
    if given is not None:
        context.launch_configurations['launch-prefix'] = given
    group = node('acd')
    commands = []
    for action in group.execute(context):
        if isinstance(action, launch_ros.actions.Node):
            action.process_description.prepare(context, action)
            commands.append(action.process_description.final_cmd)
        else:
            action.visit(context)
    (command,) = commands
    assert shlex.join(command).startswith(f'{expected} /')
    assert context.launch_configurations.get('launch-prefix') == given


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
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(PATIENCE)
        if error[0] is None:
            assert 'Traceback' not in self.said, self.said
            assert 'process has died' not in self.said, self.said
            assert 'SIGTERM' not in self.said, self.said

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
        assert wait_until(lambda: names(node) >= {f'/{COMPOSED}', '/motion'})
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
    nodes = (COMPOSED,) if composed == 'true' else GRAPH
    arguments = (
        f'robot:={ROBOT}', 'namespace:=anna', f'composed:={composed}', 'record:=true',
        f'bag:={bag}', 'use_sim_time:=true',
    )  # fmt: skip
    with (
        Launched(tmp_path, 'izmp.launch.py', *arguments) as launched,
        probe(launched, '/anna') as node,
    ):
        assert wait_until(lambda: node.count_subscribers('/anna/joint_states') >= 1)
        assert wait_until(lambda: names(node) >= {f'/anna/{n}' for n in (*nodes, 'recorder')})
        node.create_subscription(PointStamped, '/anna/mr_ad/izmp', points.append, 100)
        clock = node.create_publisher(Clock, '/clock', 10)
        clock.publish(Clock())
        with StandingRobot(node, biped31):
            assert wait_until(lambda: len(points) > 50), launched.said
    with BagReader(bag) as reader:
        assert {'/anna/mr_ad/izmp', '/anna/joint_states', '/diagnostics'} <= set(reader.topics)
        assert reader.topics['/anna/mr_ad/izmp'].count > 10


def test_a_namespace_holds_for_the_whole_simulation(installed, tmp_path):
    """Two robots side by side, each with its own names and frames."""
    from geometry_msgs.msg import PointStamped

    points = {'anna': [], 'bert': []}
    path = tmp_path / 'two.launch.py'
    path.write_text(TWO.format(launch=ROOT / 'launch' / 'simulation.launch.py'))
    with Launched(tmp_path, path) as launched, probe(launched) as node:
        for name, taken in points.items():
            node.create_subscription(PointStamped, f'/{name}/mr_ad/izmp', taken.append, 1000)
        assert wait_until(lambda: all(len(taken) > 50 for taken in points.values()))
        assert wait_until(
            lambda: names(node) >= {f'/{name}/{each}' for name in points for each in MOVING}
        )
        topics = {topic for topic, _ in node.get_topic_names_and_types()}
    assert {topic for topic in topics if not topic.startswith(('/anna/', '/bert/'))} <= SHARED
    for name, taken in points.items():
        assert {point.header.frame_id for point in taken} == {f'{name}/pelvis'}


MOVING = (COMPOSED, 'simulation', 'motion')
SHARED = {'/diagnostics', '/parameter_events', '/rosout', '/tf', '/tf_static'}
TWO = """
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

def robot(name):
    arguments = {{'namespace': name, 'frame_prefix': name + '/', 'use_sim_time': 'false',
                 'gait': 'sway', 'robot_state_publisher': 'false'}}
    source = PythonLaunchDescriptionSource('{launch}')
    return GroupAction([IncludeLaunchDescription(source, launch_arguments=arguments.items())])

def generate_launch_description():
    return LaunchDescription([robot('anna'), robot('bert')])
"""


def test_a_parameter_file_reaches_the_nodes_and_arguments_have_precedence(installed, tmp_path):
    from rcl_interfaces.srv import GetParameters

    file = tmp_path / 'parameters.yaml'
    file.write_text(
        f'/**:\n  ros__parameters:\n    robot: {ROBOT}\n    evaluation_frame: l_sole\n'
        '    acd: {max_gap: 0.03}\n'
    )
    arguments = (f'params_file:={file}', 'composed:=true', 'evaluation_frame:=r_sole',
                 'robot_state_publisher:=true')  # fmt: skip
    with Launched(tmp_path, 'izmp.launch.py', *arguments) as launched, probe(launched) as node:
        client = node.create_client(GetParameters, f'/{COMPOSED}/get_parameters')
        assert wait_until(client.service_is_ready), launched.said
        names = ['robot', 'evaluation_frame', 'acd.max_gap']
        future = client.call_async(GetParameters.Request(names=names))
        assert wait_until(future.done), launched.said
        robot, frame, gap = future.result().values
    assert (robot.string_value, frame.string_value) == (str(ROBOT), 'r_sole')
    assert gap.double_value == 0.03
    assert 'robot_state_publisher' in launched.said  # it starts, or is not installed


@pytest.mark.parametrize(
    ('name', 'arguments', 'sentence'),
    [
        ('izmp', ['robot:=absent.yaml'], 'absent.yaml'),
        ('izmp', [f'robot:={ROBOT}', 'record:=true', f'bag:={ROOT}'], f"'{ROOT}' exists"),
        ('izmp', [f'robot:={ROBOT}', 'urdf:=absent.urdf'], 'absent.urdf'),
        ('izmp', [], 'State the robot file'),
        (
            'izmp',
            [f'params_file:={ROOT / "config" / "parameters.yaml"}', 'robot_state_publisher:=true'],
            'needs the path of the robot file',
        ),
        ('izmp', [f'robot:={ROBOT}', 'params_file:=absent.yaml'], "'absent.yaml' cannot be read"),
        ('izmp', [f'robot:={ROBOT}', f'params_file:={ROOT}'], f"'{ROOT}' cannot be read"),
        ('simulation', ['speed:=fast'], "argument speed is 'fast'; a number is needed."),
        ('simulation', ['steps:=2.5'], "argument steps is '2.5'; a whole number is needed."),
        ('seesaw', ['duration:=long'], "argument duration is 'long'; a number is needed."),
        (
            'replay',
            ['bag:=absent', 'robot:=absent', 'rate:=x'],
            "rate is 'x'; a number is needed.",
        ),
        ('replay', ['bag:=absent', f'robot:={ROBOT}'], "There is no bag at 'absent'"),
        ('simulation', ['record:=true', f'bag:={ROOT}'], 'or set overwrite:=true'),
    ],
)
def test_what_cannot_be_used_ends_the_launch(installed, tmp_path, name, arguments, sentence):
    launched = Launched(tmp_path, f'{name}.launch.py', *arguments)
    assert launched.process.wait(PATIENCE) != 0
    assert sentence in launched.said
    assert 'Traceback' not in launched.said
    assert f'bag:={ROOT}' not in arguments or 'process started' not in launched.said


def test_a_start_that_compiles_is_interrupted_in_good_order(installed, tmp_path, monkeypatch):
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'cold'))
    arguments = (f'robot:={ROBOT}', 'composed:=true')
    with Launched(tmp_path, 'izmp.launch.py', *arguments) as launched:
        assert wait_until(lambda: 'Compiling' in launched.said), launched.said
    assert launched.process.returncode == 0
    assert 'escalating' not in launched.said


def test_a_recording_is_played_through_the_graph(installed, tmp_path, sound, biped31):
    """All of it, in the results and in the new recording: as many points as the replay has."""
    from izmp_dynamics.bags.messages import pose_batch
    from izmp_dynamics.bags.reader import BagReader

    need('rosbags')
    bag, recorded = sound.write(tmp_path / 'bag'), tmp_path / 'recorded'
    expected = evaluate_log(bag, biped31)[0]
    arguments = (f'bag:={bag}', f'robot:={ROBOT}', 'record:=true', f'output:={recorded}')
    with Launched(tmp_path, 'replay.launch.py', *arguments) as launched:
        assert launched.process.wait(PATIENCE) == 0, launched.said
    with BagReader(bag) as before, BagReader(recorded) as after:
        for topic in biped31.topics():
            assert after.topics[f'/{topic}'].count == before.topics[f'/{topic}'].count, topic
        points = pose_batch(next(iter(after.batches(['/mr_ad/izmp'], 1e6)))['/mr_ad/izmp'])
    np.testing.assert_array_equal(np.sort(points.stamps), expected.stamps)


def test_the_robot_on_the_seesaw_is_evaluated(installed, tmp_path):
    """The graph follows when its robot file is written."""
    from geometry_msgs.msg import PointStamped

    arguments = ('robot:=biped31', 'duration:=3.0', 'izmp:=true', 'namespace:=anna')
    points = []
    with (
        Launched(tmp_path, 'seesaw.launch.py', *arguments) as launched,
        probe(launched) as node,
    ):
        node.create_subscription(PointStamped, '/anna/mr_ad/izmp', points.append, 2000)
        assert wait_until(lambda: len(points) > 10), launched.said
        assert wait_until(lambda: names(node) >= {f'/anna/{n}' for n in ('seesaw', COMPOSED)})
