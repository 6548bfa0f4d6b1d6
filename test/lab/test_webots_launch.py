"""webots.launch.py with stand-ins for Webots and its controller, started by launch itself."""

import importlib.util
import os
import subprocess
import sys

import pytest

from ..node_processes import ROBOT, ROOT, free_domain
from ..test_launch import RUN

DRIVER = {
    'utils': """
import os
def get_webots_home(show_warning=False):
    return os.environ.get('FAKE_WEBOTS')
def has_shared_folder():
    return False
""",
    'webots_launcher': """
from launch.actions import ExecuteProcess
class WebotsLauncher(ExecuteProcess):
    def __init__(self, *, world, gui, mode, port, ros2_supervisor):
        assert ros2_supervisor
        self._supervisor = ExecuteProcess(cmd=['sleep', '100'])
        text = f'Webots: {world} {gui} {mode} {port}; '
        super().__init__(cmd=['sh', '-c', f'echo "{text}"; sleep 3'], output='screen')
""",
    'webots_controller': """
from launch.actions import ExecuteProcess
class WebotsController(ExecuteProcess):
    def __init__(self, *, robot_name, namespace, port, parameters):
        text = f'{robot_name} in /{namespace} {parameters}'.replace(chr(39), '')
        script = f'echo "controller: {text}"; echo connected >&2; sleep 100'
        super().__init__(cmd=['sh', '-c', script], output='screen')
""",
    'wait_for_controller_connection': """
from launch.actions import LogInfo, RegisterEventHandler
from launch.event_handlers import OnProcessIO
class WaitForControllerConnection(RegisterEventHandler):
    def __init__(self, *, target_driver, nodes_to_start):
        (graph,) = nodes_to_start
        given = dict(graph.launch_arguments)
        message = LogInfo(msg=f'graph: {given}')
        super().__init__(event_handler=OnProcessIO(
            target_action=target_driver, on_stderr=lambda event: [message]))
""",
}


@pytest.fixture
def driver(tmp_path):
    """Stand-ins for the classes of webots_ros2_driver, with its keyword arguments."""
    package = tmp_path / 'site' / 'webots_ros2_driver'
    package.mkdir(parents=True)
    for name, text in {'__init__': '', **DRIVER}.items():
        (package / f'{name}.py').write_text(text)
    return package.parent


def launch(tmp_path, *arguments, **environment):
    path = [str(ROOT), environment.pop('site', ''), os.environ.get('PYTHONPATH', '')]
    everything = os.environ | {
        'ROS_DOMAIN_ID': str(free_domain()), 'ROS_LOG_DIR': str(tmp_path / 'log'),
        'PYTHONPATH': os.pathsep.join(path), **environment,
    }  # fmt: skip
    file = str(ROOT / 'launch' / 'webots.launch.py')
    command = [sys.executable, '-c', RUN, file, f'robot:={ROBOT}', *arguments]
    return subprocess.run(
        command, env=everything, cwd=tmp_path, text=True, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def test_without_the_driver_it_says_what_to_install(tmp_path):
    if importlib.util.find_spec('webots_ros2_driver'):
        pytest.skip('webots_ros2_driver is installed here')
    ended = launch(tmp_path)
    assert ended.returncode == 1
    assert 'needs webots_ros2_driver, which cannot be imported here' in ended.stdout


def test_without_webots_it_says_so_and_asks_nothing(tmp_path, driver):
    ended = launch(tmp_path, site=str(driver))
    assert ended.returncode == 1
    assert 'needs Webots R2025a or newer, which is not found here' in ended.stdout


def test_all_starts_in_order_and_ends_with_webots(tmp_path, driver):
    ended = launch(
        tmp_path, 'gait:=sway', 'slope_deg:=10', 'mode:=fast', 'gui:=false', 'record:=true',
        'namespace:=anna', f'worlds:={tmp_path}/w', site=str(driver), FAKE_WEBOTS='here',
    )  # fmt: skip
    said = ended.stdout
    assert ended.returncode == 0, said
    assert f'Webots: {tmp_path}/w/biped31.wbt false fast 1234' in said
    urdf = tmp_path / 'w' / 'biped31.urdf'
    parameters = f'[{{robot_description: {urdf}, use_sim_time: True}}]'
    assert f'controller: biped31 in /anna {parameters}' in said
    assert '<gait>sway</gait>' in urdf.read_text()
    assert '<namespace>anna</namespace>' in urdf.read_text()
    assert '<wait_for_listener>true</wait_for_listener>' in urdf.read_text()
    assert f"'robot': '{tmp_path}/w/biped31.yaml'" in said
    assert "'record': 'true'" in said
    assert "'namespace': 'anna'" in said
