"""What the Webots plugin costs a step of the simulation: `python benchmarks/bench_webots_step.py`.

biped31 (31 joints, 4 accelerometers, gyroscope, InertialUnit, GPS, 8 force sensors) walks in the
stand-in for Webots of the tests. Timed is `step()` of the plugin: reading the devices, making and
publishing the sample, commanding the motors' positions. The stand-in's devices are Python
objects; those of Webots call libController through ctypes, which is measured beside it with a
function of the C library that returns a double.
"""

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault('ROS_DOMAIN_ID', '97')
os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from izmp_dynamics.base.errors import MissingDependencyError  # noqa: E402
from izmp_lab.nodes.webots_driver import WebotsDriver  # noqa: E402
from izmp_lab.simulation.webots.world import World, make_world  # noqa: E402
from test.lab.webots_recorder import Recorder  # noqa: E402
from test.lab.webots_stand_in import StandIn  # noqa: E402

STEPS = 3000
CALLS = 31 + 3 + 3 + 1 + 8 + 31
"""Calls of libController in one step: joints, accelerometers …, pads, motors."""


def measure(world: World, driver: WebotsDriver, subscribed: bool = False) -> np.ndarray:
    """Return the times of `step()` while the robot stands and walks [ms].

    Args:
        world: the robot's.
        driver: the plugin.
        subscribed: wait for a subscriber of the joint states.
    """
    stand_in = StandIn(world)
    properties = {'robot': str(world.robot), 'steps': '8'}
    driver.init(SimpleNamespace(robot=stand_in.robot), properties)
    while subscribed and not driver._sink.node.count_subscribers('/joint_states'):
        time.sleep(0.1)
    times = []
    for _ in range(STEPS):
        stand_in.step()
        start = time.perf_counter()
        driver.step()
        times.append(1e3 * (time.perf_counter() - start))
    driver.stop()
    return np.array(times[10:])


@contextmanager
def recorder(folder: Path) -> Iterator[None]:
    """Record all topics in another process."""
    arguments = ['recorder', '--ros-args', '-p', f'output:={folder / "bag"}']
    command = [sys.executable, '-m', 'izmp_dynamics.nodes', *arguments]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        yield
        process.send_signal(signal.SIGINT)


def call_through_ctypes() -> float:
    """Return what a call of a C function with a number and a double result costs [ms]."""
    function = ctypes.CDLL('libm.so.6').fabs
    function.restype = ctypes.c_double
    argument = ctypes.c_double(1.0)
    start = time.perf_counter()
    for _ in range(100_000):
        function(argument)
    return 1e3 * (time.perf_counter() - start) / 100_000


def print_times(name: str, times: np.ndarray) -> None:
    """Print a row of the table."""
    p99 = np.percentile(times, 99)
    print(f'| {name} | {np.median(times):.3f} | {p99:.3f} | {times.max():.2f} |', flush=True)


def main() -> None:
    """Measure with both sinks and print a table."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(ROOT / 'robots' / 'biped31' / 'robot.yaml', Path(folder))
        print('| sink | median [ms] | p99 [ms] | max [ms] |')
        print('|---|---:|---:|---:|')
        print_times('none', measure(world, WebotsDriver(lambda options: (Recorder(), 0))))
        try:
            print_times('rclpy, no subscriber', measure(world, WebotsDriver()))
        except MissingDependencyError as error:
            print(error)
            return
        with recorder(Path(folder)):
            print_times('rclpy, recorded', measure(world, WebotsDriver(), subscribed=True))
    print(f'{CALLS} calls through ctypes: {CALLS * call_through_ctypes():.3f} ms')


if __name__ == '__main__':
    main()
