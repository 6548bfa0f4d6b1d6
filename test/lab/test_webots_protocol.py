"""The plugin behind the real controller library of Webots; skipped where that is absent."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the stand-in for Webots is moved by MuJoCo')
pytest.importorskip('urdf2webots', reason='the stand-in lives in a world made by urdf2webots')

from izmp_lab.simulation.webots.world import make_world

from .webots_protocol import Simulator
from .webots_recorder import drive
from .webots_stand_in import StandIn

ROOT = Path(__file__).parents[2]
BIPED31 = ROOT / 'robots' / 'biped31' / 'robot.yaml'
HOMES = ('WEBOTS_HOME', 'ROS2_WEBOTS_HOME')


@pytest.fixture(scope='module')
def home():
    """A folder with lib/controller/libController.so and its Python package."""
    for name in HOMES:
        folder = Path(os.environ.get(name, '')) / 'lib' / 'controller'
        if name in os.environ and (folder / 'libController.so').exists():
            return folder.parents[1]
    pytest.skip(
        "Webots' controller library is not here (set WEBOTS_HOME); test_webots_driver.py covers "
        'the same plugin with a stand-in for it'
    )


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    return make_world(BIPED31, tmp_path_factory.mktemp('worlds'))


def control(home, stand_in, properties, result):
    """Run the plugin in a process of its own; return the simulator and what was published."""
    simulator = Simulator(stand_in)
    simulator.start()
    library = home / 'lib' / 'controller'
    environment = os.environ | {
        'WEBOTS_HOME': str(home),
        'WEBOTS_CONTROLLER_URL': f'tcp://127.0.0.1:{simulator.port}/{stand_in.name}',
        'PYTHONPATH': os.pathsep.join([str(ROOT), str(library / 'python')]),
    }
    command = [sys.executable, '-m', 'test.lab.webots_controller', str(result)]
    command += [f'{name}={value}' for name, value in properties.items()]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    simulator.join(600)
    if simulator.failure:
        raise simulator.failure
    assert ended.returncode == 0, ended.stderr
    return simulator, np.load(result)


def test_the_plugin_behind_the_real_library_is_that_in_the_tests(home, world, tmp_path):
    properties = {
        'robot': str(world.robot), 'steps': '1', 'approach': '0.2', 'settle': '0.3',
        'push': '30:lateral:0.5', 'quit': 'true',
    }  # fmt: skip
    stand_in = StandIn(world)
    simulator, result = control(home, stand_in, properties, tmp_path / 'real.npz')
    twin = StandIn(world)
    sink = drive(twin, properties)
    signals = sink.signals()
    assert stand_in.pushes == twin.pushes
    assert len(stand_in.pushes) == 50
    assert len(simulator.motors) == 31
    assert stand_in.robot.quit_status == twin.robot.quit_status == 0
    assert [tuple(line) for line in json.loads(str(result['logged']))] == sink.logged
    assert result['unknown']
    count = min(len(signals), len(result['stamps']))
    assert abs(len(signals) - len(result['stamps'])) <= 1  # who sees the end first
    assert count > 2000
    np.testing.assert_array_equal(result['stamps'][:count], signals.stamps[:count])
    np.testing.assert_array_equal(result['q'][:count], signals.q[:count])
    np.testing.assert_array_equal(result['position'][:count], signals.position[:count])
    imu = np.hstack([
        signals.imu.angular_velocity, signals.imu.specific_force, signals.imu.orientation_xyzw,
    ])  # fmt: skip
    np.testing.assert_array_equal(result['imu'][:count], imu[:count])
    others = np.hstack([*signals.accelerometers.values(), *signals.wrenches.values()])
    np.testing.assert_array_equal(result['others'][:count], others[:count])


def test_missing_devices_and_an_end_mid_run_over_the_real_library(home, world, tmp_path):
    stand_in = StandIn(world, end=0.8)
    del stand_in.devices['accelerometer_2_accelerometer']
    properties = {'robot': str(world.robot), 'steps': '1', 'approach': '0.2', 'settle': '0.3'}
    _, result = control(home, stand_in, properties, tmp_path / 'real.npz')
    logged = json.loads(str(result['logged']))
    warnings = [sentence for level, sentence in logged if level != 'info']
    assert "no Accelerometer 'accelerometer_2_accelerometer'" in warnings[0]
    assert 'The simulation ended at 0.80 s, before the motion' in warnings[1]
