"""Settings and simulated recordings that many tests share."""

import copy
import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, settings

from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model

from .requiring import check_required, skipped_if_missing

# The first example that a test sees may have to wait for numba's compiler. Where CI is set, the
# same examples are tried in every run; elsewhere new ones, so that the search goes on.
settings.register_profile(
    'izmp_dynamics',
    deadline=None,
    derandomize=bool(os.environ.get('CI')),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile('izmp_dynamics')

REPOSITORY = Path(__file__).parents[1]


LONGEST = (
    'test_bad_input', 'test_report_browser', 'test_study_angular_momentum', 'test_nodes',
    'test_study_itu_biped', 'test_study_paper', 'test_node_graph', 'test_fuzz', 'test_node_faults',
    'test_fleet_page', 'test_same_numbers', 'test_engine', 'test_node_frames', 'test_node_events',
    'test_calibration', 'test_quadruped', 'test_seesaw_closed_loop', 'test_fleet',
    'test_online_walk', 'test_mapped_nodes', 'test_walk_in_simulation', 'test_managed_nodes',
    'test_seesaw_controller', 'test_hostile_bags', 'test_documentation', 'test_joint_watch',
)  # fmt: skip
"""Files to begin with, so that at the end no process works on a long one alone."""


def pytest_collection_modifyitems(items):
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONGEST)))


def pytest_sessionstart():
    check_required()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Look for no garbage meanwhile, which took a third of the time, nor later in what stays."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return skipped_if_missing(report, report.call, collector.path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return skipped_if_missing(report, call, item.path)


@pytest.fixture(scope='session', autouse=True)
def _interrupts():
    """Let Ctrl-C act as on a terminal, in the tests' own processes too.

    A shell starts what runs in the background with SIGINT ignored, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope='session')
def biped31():
    """The robot file of biped31."""
    return load_robot_file(REPOSITORY / 'robots' / 'biped31' / 'robot.yaml')


@pytest.fixture(scope='session')
def model(biped31):
    """The model of biped31."""
    return load_model(biped31.urdf_path, biped31.root)


@pytest.fixture(scope='session')
def sway(biped31, tmp_path_factory):
    """The simulated sway of biped31: the run with its truth, and its recording."""
    from izmp_lab.simulation.scenarios import simulate_sway

    bag = tmp_path_factory.mktemp('sway') / 'sway'
    return simulate_sway(biped31, bag), bag


@pytest.fixture(scope='session')
def fall(biped31, tmp_path_factory):
    """Pushed forward with 120 N, biped31 tips over its toes; the recording ends in mid-fall."""
    from izmp_lab.simulation.physics import Push
    from izmp_lab.simulation.scenarios import simulate_sway

    bag = tmp_path_factory.mktemp('fall') / 'bag'
    push = Push('trunk', np.array([120.0, 0.0, 0.0]), start=1.0, duration=0.25)
    assert simulate_sway(biped31, bag, pushes=[push]).fall
    return bag


@pytest.fixture(scope='session')
def sound(sway):
    """Two seconds of the sway in which every joint of the legs moves, a draft to be corrupted."""
    from .bag_surgery import TOPICS, Draft

    return Draft.of_bag(sway[1], TOPICS, start=1.0, stop=3.0)


@pytest.fixture(scope='session')
def sound_bag(sound, tmp_path_factory):
    """The same as a recording."""
    return sound.write(tmp_path_factory.mktemp('sound') / 'bag')


@pytest.fixture(scope='session')
def slower(sound):
    """The same at 250 Hz, a draft for graphs that are played message by message."""
    return sound.every(2)


@pytest.fixture(scope='session')
def short_bag(slower, tmp_path_factory):
    """The first 1.2 s of that as a recording."""
    return slower.until(1.2).write(tmp_path_factory.mktemp('short') / 'bag')


@pytest.fixture(scope='session')
def sound_results(sound_bag, biped31):
    """What the pipeline makes of it."""
    from .recorded import evaluate_log

    return evaluate_log(sound_bag, biped31)[0]


@pytest.fixture(scope='module')
def ros():
    """A context of ROS, as a process has one, in a domain of its own."""
    import rclpy

    from .node_processes import free_domain

    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    yield rclpy
    rclpy.try_shutdown()


@pytest.fixture
def robot_yaml(robot_content):
    """The robot file of biped31 as a dictionary, with the whole path of the URDF."""
    return copy.deepcopy(robot_content)


@pytest.fixture(scope='session')
def robot_content():
    """The same, which no test may change."""
    folder = REPOSITORY / 'robots' / 'biped31'
    robot = yaml.safe_load((folder / 'robot.yaml').read_text())
    return robot | {'urdf': str(folder / 'biped31.urdf')}


@pytest.fixture(scope='session')
def sound_desk(sound, robot_content, tmp_path_factory):
    """The sound recording and its results; afterwards all kernels are compiled."""
    from .command_line import Desk, assert_whole

    desk = Desk(tmp_path_factory.mktemp('sound'), sound, robot_content)
    assert desk.check().status == 0
    assert_whole(desk, desk.replay())
    assert not any(desk.gated().values())
    return desk


@pytest.fixture(scope='session')
def sound_points(sound_desk):
    """Topic → stamp → IZMP or CoP of the sound recording."""
    return sound_desk.points()


@pytest.fixture
def corrupted(sound, robot_yaml, sound_points, tmp_path):
    """Makes a `command_line.Desk` whose draft and robot file a function has corrupted."""
    from .command_line import Desk

    def make(damage=lambda draft, robot: None, storage='mcap'):
        draft, robot = sound.copy(), copy.deepcopy(robot_yaml)
        damage(draft, robot)
        return Desk(tmp_path, draft, robot, storage)

    return make


@pytest.fixture(scope='session')
def icub_walking():
    """The real robot's walk: a folder with a rosbag2 and its URDF, which is not in this package.

    `IZMP_SHARED_DATA` names the folder that holds `icub_walking`; otherwise `../shared/data`
    beside the repository is tried.
    """
    from .sample_bags import SHARED

    folder = SHARED / 'icub_walking'
    if not (folder / 'walking.mcap').is_file():
        pytest.skip(
            'the recording icub_walking is not here (set IZMP_SHARED_DATA); test_replay.py '
            'covers the same code with the simulated sway'
        )
    return folder
