"""The plugin for webots_ros2_driver, driving the stand-in for Webots."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.sensors import SegmentUnit
from izmp_lab.nodes.webots_driver import WebotsDriver
from izmp_lab.simulation.segment_units import files_of, with_units
from izmp_lab.simulation.webots.options import Options
from izmp_lab.simulation.webots.trajectory import Trajectory
from izmp_lab.simulation.webots.world import make_world
from izmp_lab.walking.walk import make_plan

from ..raising import raising
from .webots_recorder import drive, start
from .webots_stand_in import SENSORS, StandIn

ROBOTS = Path(__file__).parents[2] / 'robots'
BIPED31 = ROBOTS / 'biped31' / 'robot.yaml'
QUICK = {'approach': '0.2', 'settle': '0.3', 'steps': '1'}


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    return make_world(BIPED31, tmp_path_factory.mktemp('worlds'))


@pytest.fixture(scope='module')
def properties(world):
    return {'robot': str(world.robot), **QUICK}


@pytest.fixture
def stand_in(world):
    return StandIn(world)


def with_two_units(folder):
    """A robot file of biped31 with an array on a thigh and an IMU on the trunk."""
    file = with_units(load_robot_file(BIPED31), 'l_thigh', folder)
    trunk = SegmentUnit('trunk', 'segments/trunk/imu', 'trunk')
    files = files_of(replace(file, segments=(*file.segments, trunk)), noisy=False)
    (folder / 'robot.yaml').write_text(files['robot.yaml'])
    return folder / 'robot.yaml'


@pytest.fixture(scope='module')
def walked(tmp_path_factory):
    """Six steps onto a ramp, with two units: stand-in, truth, and what the plugin published."""
    folder = tmp_path_factory.mktemp('ramp')
    world = make_world(with_two_units(folder), folder / 'world', slope_deg=10.0)
    stand_in, given = StandIn(world), {'steps': '6', 'slope_deg': '10', 'quit': 'true'}
    sink = drive(stand_in, QUICK | given | {'robot': str(world.robot)})
    return stand_in, stand_in.truth(), sink


@pytest.fixture(scope='module')
def signals(walked):
    """What the plugin published, and the rows of the truth at the same instants."""
    _, truth, sink = walked
    published = sink.signals()
    rows = np.searchsorted(truth.stamps, published.stamps)
    assert (truth.stamps[rows] == published.stamps).all()
    return published, rows


def test_a_walk_is_walked(walked):
    stand_in, truth, sink = walked
    assert sink.problems == []
    begins, over = sink.sentences('info')
    assert "'walk' begins at 0.50 s" in begins
    assert "'walk' is over" in over
    assert stand_in.robot.quit_status == 0
    assert sink.closed
    plan = make_plan(stand_in.file, 'walk', 0.002, steps=6, slope=math.radians(10.0)).root
    position = truth.truth.root.position
    assert position[-1] == pytest.approx(plan.position[-1], abs=0.03)
    risen = plan.position[-1, 2] - plan.position[0, 2]
    assert position[-1, 2] - position[0, 2] == pytest.approx(risen, abs=0.01)
    x, _, z = sink.signals().wrenches['l_foot/wrench'][-1, :3]
    assert np.degrees(np.arctan2(abs(x), z)) == pytest.approx(10.0, abs=3.0)  # on the ramp
    limits = [stand_in.devices[joint].max_torque for joint in truth.joint_names]
    assert (stand_in.torque < limits).all()  # so that Webots' motors could do it


def test_everything_of_an_instant_has_one_stamp_of_the_robots_time(walked):
    stand_in, _, sink = walked
    stamps = sink.signals().stamps
    assert (np.diff(stamps) == 2_000_000).all()
    assert stamps[0] <= 6_000_000
    assert stamps[-1] == 1_000_000 * (stand_in.now - stand_in.time_step)
    first = sink.samples[0]
    assert set(first.accelerometers) == {
        *(f'accelerometers/accelerometer_{i}' for i in (1, 2, 3)),
        *(f'segments/l_thigh/accelerometer_{axis}' for axis in 'xyz'),
    }
    assert set(first.segments) == {'segments/l_thigh/imu', 'segments/trunk/imu'}
    assert set(first.wrenches) == {'l_foot/wrench', 'r_foot/wrench'}


def test_sensors_tell_what_was_at_the_stamp(walked, signals):
    _, truth, _ = walked
    published, rows = signals
    assert (published.q == truth.q[rows]).all()
    for value, true in (
        (published.imu.angular_velocity, truth.imu.angular_velocity),
        (published.imu.specific_force, truth.imu.specific_force),
        (published.position, truth.position),
        *((published.accelerometers[topic], truth.accelerometers[topic])
          for topic in published.accelerometers),
        *((published.segments[topic], truth.segments[topic]) for topic in published.segments),
    ):  # fmt: skip
        np.testing.assert_allclose(value, true[rows], atol=1e-12)
    dot = np.abs(np.sum(published.imu.orientation_xyzw * truth.imu.orientation_xyzw[rows], axis=1))
    np.testing.assert_allclose(dot, 1.0, atol=1e-12)


def test_four_forces_at_the_corners_make_the_wrench_of_the_ground(walked, signals):
    _, truth, _ = walked
    published, rows = signals
    for foot in ('l_foot', 'r_foot'):
        wrench, true = published.wrenches[f'{foot}/wrench'], truth.truth.feet[foot].wrench[rows]
        np.testing.assert_allclose(wrench, true, atol=0.1)  # of 270 N; a sphere rolls as it tilts


def test_nothing_is_published_before_every_sensor_has_measured(stand_in, properties):
    driver, sink = start(stand_in, properties)
    driver.step()
    assert sink.samples == []
    drive_on(stand_in, driver, 5)
    assert all(np.isfinite(sample.q).all() for sample in sink.samples)
    assert len(sink.samples) == 3


def drive_on(stand_in, driver, steps):
    for _ in range(steps):
        assert stand_in.step() == 0
        driver.step()


def test_a_sensor_that_never_measures_is_given_up(stand_in, properties):
    stand_in.devices['accelerometer_2_accelerometer'].measure = lambda: [math.nan] * 3
    sink = drive(stand_in, properties, 510)
    (sentence,) = sink.problems[:1]
    assert 'accelerometer_2_accelerometer' in sentence
    assert 'Physics' in sentence
    assert 'accelerometers/accelerometer_2' not in sink.samples[0].accelerometers
    assert len(sink.samples[0].accelerometers) == 2


def test_missing_devices_are_reported_with_those_there_are_and_the_rest_goes_on(
    stand_in, properties
):
    for name in ('accelerometer_1_accelerometer', 'gps_link_gps', 'l_foot_pad_2', 'head_x',
                 'neck_yaw_sensor'):  # fmt: skip
        stand_in.devices.pop(name, None)
    stand_in.devices['imu_link_gyro'] = SENSORS['GPS']('imu_link_gyro', None)
    bumper = stand_in.devices['r_foot_pad_0']
    bumper.getType = lambda: 0
    sink = drive(stand_in, properties, 20)
    (sentence,) = sink.sentences('warning')[:1]
    for part in (
        "no Accelerometer 'accelerometer_1_accelerometer', so accelerometers/accelerometer_1 is",
        "no GPS 'gps_link_gps', so gps is not published",
        "no TouchSensor 'l_foot_pad_2', so l_foot/wrench is not published",
        "no TouchSensor 'r_foot_pad_0' of type force-3d (it is of another type), so r_foot/wrench",
        "no PositionSensor 'neck_yaw_sensor', so joint_states lacks the joint",
        "no Gyro 'imu_link_gyro' (that is a GPS), so imu is not published",
        'Its devices: l_hip_yaw, l_hip_roll',
    ):
        assert part in sentence
    sample = sink.samples[-1]
    assert sample.imu is None
    assert sample.position is None
    assert set(sample.accelerometers) == {f'accelerometers/accelerometer_{i}' for i in (2, 3)}
    assert not sample.wrenches
    assert 'neck_yaw' not in sample.joint_names
    assert sample.q.shape == (1, 30)


def test_without_a_motor_the_motion_is_not_begun(stand_in, properties):
    del stand_in.devices['l_knee']
    stand_in._command = lambda: None
    sink = drive(stand_in, properties | {'quit': 'true'}, 30)
    missing, refused, *_ = sink.problems
    assert "no Motor 'l_knee', so its joint cannot be moved" in missing
    assert "The motion 'walk' is not begun: it needs the motors l_knee" in refused
    assert stand_in.robot.quit_status == 1
    assert sink.sentences('info') == []


def test_a_simulator_that_ends_mid_run_is_told(world, properties):
    stand_in = StandIn(world, end=0.7)
    sink = drive(stand_in, properties)
    (sentence,) = sink.problems
    assert (
        "The simulation ended at 0.70 s, before the motion 'walk' was over (at 3.95 s)" in sentence
    )
    assert sink.closed


def test_a_fall_is_reported_once(stand_in, properties):
    stand_in.devices['imu_link_inertial_unit'].measure = lambda: [0.0, 1.0, 0.0, 0.0]
    sink = drive(stand_in, properties | {'quit': 'true'})
    assert ['fell' in sentence for sentence in sink.problems] == [True, False]
    assert stand_in.robot.quit_status == 1


def test_the_motion_waits_for_a_listener_if_asked_to(stand_in, properties):
    driver, sink = start(stand_in, properties | {'wait_for_listener': 'true'})
    sink.listening = False
    drive_on(stand_in, driver, 20)
    assert sink.logged == []
    sink.listening = True
    drive_on(stand_in, driver, 1)
    assert 'begins' in sink.logged[0][1]


def test_pushes_act_on_their_link_and_for_their_time(stand_in, properties):
    sink = drive(stand_in, properties | {'push': '40:lateral:0.1 30:back:0.15:0.05'}, 420)
    (ended,) = sink.problems
    assert 'The simulation ended' in ended
    trunk = stand_in.plant.body_of('trunk')
    left = [time for time, body, force in stand_in.pushes if force == [0.0, 40.0, 0.0]]
    back = [time for time, body, force in stand_in.pushes if force[0] == pytest.approx(-30.0)]
    assert {body for _, body, _ in stand_in.pushes} == {trunk}
    assert len(left) == 50
    assert len(back) == 25
    assert back[0] - left[0] == 50
    assert left[0] == pytest.approx(1e3 * 0.604, abs=2)


@pytest.mark.parametrize(
    ('given', 'supervisor', 'sentence'),
    [
        ({'push': '40:lateral:0.1'}, False, 'set its field supervisor to TRUE'),
        ({'push': '40:lateral:0.1', 'push_on': 'tail'}, True, "'tail'"),
        ({'push': '40:lateral:99'}, True, 'does not fit into the motion'),
    ],
)
def test_impossible_pushes_are_reported(stand_in, properties, given, supervisor, sentence):
    stand_in.supervisor = supervisor
    (warning,) = drive(stand_in, properties | given, 10).sentences('warning')[:1]
    assert sentence in warning


def test_a_trajectory_is_followed_and_other_joints_hold(stand_in, properties):
    driver, sink = start(stand_in, properties | {'gait': 'none', 'settle': '0'})
    held = {name: stand_in.devices[name].target for name in stand_in.plant.robot.joint_names}
    drive_on(stand_in, driver, 5)
    assert sink.logged == []
    sink.wanted = Trajectory(
        ('neck_yaw', 'neck_pitch'), np.array([0.0, 0.1, 0.2]),
        np.array([[0.0, 0.0], [0.1, 0.2], [0.3, 0.0]]),
    )  # fmt: skip
    drive_on(stand_in, driver, 205)
    assert stand_in.devices['neck_yaw'].target == 0.3
    yaw = sink.signals().q[:, stand_in.plant.robot.joint_names.index('neck_yaw')]
    assert yaw[-1] == pytest.approx(0.3, abs=1e-3)
    assert np.abs(np.diff(yaw)).max() < 0.006  # no jump
    for name, target in held.items():
        if not name.startswith('neck'):
            assert stand_in.devices[name].target == target
    assert "'trajectory' is over" in sink.logged[-1][1]


POINTS = {'times': np.array([0.0, 0.1]), 'positions': np.zeros((2, 1))}


@pytest.mark.parametrize(
    ('wrong', 'kind', 'data'),
    [
        ({'joint_names': ('tail',)}, 'other_joints', {'joints': ('tail',)}),
        ({'positions': np.zeros((2, 2))}, 'positions_missing', {'points': 2}),
        ({'times': np.array([0.1, 0.1])}, 'times_not_increasing', {}),
        ({'positions': np.full((2, 1), math.nan)}, 'not_finite', {}),
        ({'positions': np.full((2, 1), 9.0)}, 'joint_limit',
         {'joint': 'neck_yaw', 'value': 9.0, 'time': 0.0}),
        ({'times': np.array([]), 'positions': np.zeros((0, 1))}, 'positions_missing',
         {'points': 0}),
        ({'joint_names': (), 'positions': np.zeros((2, 0))}, 'no_joints', {}),
        ({'times': np.array([0.0, 1e6])}, 'times_out_of_range', {'last': 1e6, 'longest': 600.0}),
        ({'times': np.array([-1.0, 0.0])}, 'times_out_of_range', {'first': -1.0}),
        ({'velocities': np.zeros((2, 3))}, 'velocities_missing', {'shape': (2, 3)}),
        ({'joint_names': ('l_knee',), 'times': np.array([0.0, 1.0]),
          'positions': np.full((2, 1), 0.1), 'velocities': np.array([[-20.0], [20.0]])},
         'joint_limit', {'joint': 'l_knee'}),
    ],
)  # fmt: skip
def test_wrong_trajectories_are_refused(wrong, kind, data):
    model = load_model(ROBOTS / 'biped31' / 'biped31.urdf')
    with raising(MotionError, kind, **data):
        Trajectory(**{'joint_names': ('neck_yaw',), **POINTS, **wrong}).rows(model, 0.002)


@pytest.mark.parametrize(
    'wanted',
    [
        Trajectory((), np.array([0.0, 1.0]), np.zeros((2, 0))),
        Trajectory(('neck_yaw',), None, None),
        MemoryError('a message too large'),
    ],
    ids=['no names', 'nothing', 'not read'],
)
def test_no_message_stops_the_robot(stand_in, properties, wanted):
    driver, sink = start(stand_in, properties)
    drive_on(stand_in, driver, 5)
    sink.wanted = wanted
    drive_on(stand_in, driver, 5)
    assert len(sink.problems) == 1
    count = len(sink.samples)
    drive_on(stand_in, driver, 5)
    assert len(sink.samples) == count + 5


@pytest.mark.parametrize(
    ('first', 'position', 'begins'),
    [(0.25, 0.2, 0.25), (0.25, 0.0, 0.25), (0.0, 0.0, 0.0), (0.0, 0.2, 0.5)],
    ids=['first time', 'first time, there', 'there', 'not there'],
)
def test_the_first_time_of_a_trajectory_is_its_approach(
    stand_in, properties, first, position, begins
):
    driver, sink = start(stand_in, properties | {'gait': 'none'})
    drive_on(stand_in, driver, 5)
    now = 1e-3 * stand_in.now
    times = np.array([first, first + 0.1])
    sink.wanted = Trajectory(('neck_yaw',), times, np.full((2, 1), position))
    drive_on(stand_in, driver, 1)
    assert f'begins at {now + 0.002 + begins:.2f} s' in sink.logged[-1][1]


def test_velocities_make_a_smooth_trajectory():
    times = np.linspace(0.0, 1.0, 5)
    smooth = Trajectory(('neck_yaw',), times, np.sin(times)[:, None], np.cos(times)[:, None])
    rows = smooth.rows(load_model(ROBOTS / 'biped31' / 'biped31.urdf'), 0.002)
    assert rows.shape == (501, 1)
    np.testing.assert_allclose(rows[:, 0], np.sin(np.linspace(0.0, 1.0, 501)), atol=1e-4)


def test_own_names_of_devices(stand_in, properties):
    renamed = {'imu_link_gyro': 'my gyro', 'r_foot_pad_3': 'toe'}
    stand_in.devices = {renamed.get(name, name): item for name, item in stand_in.devices.items()}
    for old, new in renamed.items():
        stand_in.devices[new].name = new
        assert old not in stand_in.devices
    names = {'imu_gyro': 'my gyro', 'r_foot_pads': 'r_foot_pad_0, r_foot_pad_1,r_foot_pad_2, toe'}
    sink = drive(stand_in, properties | names, 10)
    assert sink.sentences('error') == []
    assert sink.samples[-1].imu is not None
    assert set(sink.samples[-1].wrenches) == {'l_foot/wrench', 'r_foot/wrench'}


@pytest.mark.parametrize(
    ('given', 'error', 'kind', 'data'),
    [
        ({'gaits': 'walk'}, UnknownNameError, 'unknown_name',
         {'denotes': 'property', 'name': 'gaits'}),
        ({'gait': 'run'}, UnknownNameError, 'unknown_name',
         {'name': 'run', 'valid': ('walk', 'sway', 'none')}),
        ({'speed': 'fast'}, SimulationError, 'property_value',
         {'property': 'speed', 'value': 'fast'}),
        ({'approach': '-1'}, SimulationError, 'property_value', {'property': 'approach'}),
        ({'steps': '2.5'}, SimulationError, 'property_value', {'property': 'steps'}),
        ({'quit': 'yes'}, SimulationError, 'property_value', {'property': 'quit'}),
        ({'push': 'hard'}, SimulationError, 'push_format', {'text': 'hard'}),
        ({'l_foot_pads': 'a, b'}, SimulationError, 'device_count', {'given': 2, 'needed': 4}),
        ({'accelerometers': 'a'}, SimulationError, 'device_count', {'given': 1, 'needed': 3}),
    ],
)  # fmt: skip
def test_wrong_properties_are_refused(properties, given, error, kind, data):
    with raising(error, kind, **data):
        Options.read(properties | given)


@pytest.mark.parametrize(
    ('given', 'sentence'),
    [
        ({}, 'needs the robot file'),
        ({'robot': '/nowhere/robot.yaml'}, 'There is no robot file'),
        ({'robot': str(BIPED31)}, "needs the library 'rclpy'"),
    ],
)
def test_without_a_robot_file_or_ros_the_plugin_says_so_and_stays_quiet(
    capfd, monkeypatch, given, sentence
):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    driver = WebotsDriver()
    driver.init(SimpleNamespace(robot=None), given)
    driver.step()
    driver.stop()
    assert capfd.readouterr().err.count(sentence) == 1


@pytest.mark.parametrize(
    ('wish', 'supervisor', 'status'),
    [('true', True, 1), ('true', False, None), ('false', True, None)],
)
def test_an_unforeseen_error_is_reported_once_and_quits_if_wished(
    stand_in, properties, wish, supervisor, status
):
    stand_in.supervisor = supervisor
    driver, sink = start(stand_in, properties | {'quit': wish})
    drive_on(stand_in, driver, 4)
    stand_in.devices['l_knee'].setPosition = None
    for _ in range(5):
        stand_in.step()
        driver.step()
    assert stand_in.robot.quit_status == status
    driver.stop()
    (sentence,) = sink.problems
    assert "It stops here (TypeError: 'NoneType' object is not callable)" in sentence
    assert sink.closed


def test_a_reset_of_the_simulation_pairs_nothing_across(stand_in, properties):
    driver, sink = start(stand_in, properties | {'gait': 'none'})
    drive_on(stand_in, driver, 10)
    count = len(sink.samples)
    stand_in.now = 0
    drive_on(stand_in, driver, 1)
    assert len(sink.samples) == count
    drive_on(stand_in, driver, 1)
    assert sink.samples[-1].stamps[0] == 2_000_000


def test_a_wrench_in_a_frame_off_its_sole_is_left_out(world, properties, tmp_path):
    text = world.robot.read_text().replace('urdf: ', f'urdf: {world.robot.parent}/')
    assert text.count('frame: l_sole') == 1
    text = text.replace('frame: l_sole', 'frame: pelvis')
    (tmp_path / 'robot.yaml').write_text(text)
    sink = drive(StandIn(world), properties | {'robot': str(tmp_path / 'robot.yaml')}, 20)
    left_out, ended = sink.problems
    assert left_out.startswith('l_foot/wrench is not published. The wrench of')
    assert 'ended' in ended
    assert set(sink.samples[-1].wrenches) == {'r_foot/wrench'}
