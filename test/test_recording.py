"""The recording of a simulated run, read back with rosbags' own reader."""

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import SensingError, SimulationError, UnknownNameError
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import Sampling, simulate
from izmp_lab.simulation.noisy_signals import XSENS_GYROSCOPE, add_noise, sensor_noise
from izmp_lab.simulation.physics import Push
from izmp_lab.simulation.recording import record, support_polygons
from izmp_lab.simulation.scenarios import simulate_sway
from izmp_lab.walking.sway import SwayParameters

from .bag_columns import messages, received_by_topic, xyz
from .lab.walking import ROBOT_FILE, planned
from .raising import raising

FILE = load_robot_file(ROBOT_FILE)
SHORT = SwayParameters(stand=0.1, period=0.9, squat_time=0.8, lateral=0.02, fore_aft=0.005)
EVERY_10TH = Sampling(divisor=10)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    bag = tmp_path_factory.mktemp('bags') / 'sway'
    push = Push('trunk', [10.0, 0.0, 0.0], 0.5, 0.1)
    run = simulate_sway(FILE, bag, parameters=SHORT, sampling=EVERY_10TH, pushes=[push])
    return run, bag, received_by_topic(bag)


def column(messages, get):
    return np.array([get(message) for _, message in messages])


def wrench(message):
    return xyz(message.wrench.force) + xyz(message.wrench.torque)


TYPES = {
    '/robot_description': 'std_msgs/msg/String',
    '/joint_states': 'sensor_msgs/msg/JointState',
    '/imu': 'sensor_msgs/msg/Imu',
    '/accelerometers/accelerometer_1': 'sensor_msgs/msg/Imu',
    '/accelerometers/accelerometer_2': 'sensor_msgs/msg/Imu',
    '/accelerometers/accelerometer_3': 'sensor_msgs/msg/Imu',
    '/gps': 'geometry_msgs/msg/PointStamped',
    '/l_foot/wrench': 'geometry_msgs/msg/WrenchStamped',
    '/r_foot/wrench': 'geometry_msgs/msg/WrenchStamped',
    '/ground_truth/joint_kinematics': 'trajectory_msgs/msg/JointTrajectory',
    '/ground_truth/odom': 'nav_msgs/msg/Odometry',
    '/ground_truth/root_acceleration': 'geometry_msgs/msg/AccelStamped',
    '/ground_truth/contact_wrench': 'geometry_msgs/msg/WrenchStamped',
    '/ground_truth/ground_wrench': 'geometry_msgs/msg/WrenchStamped',
    '/ground_truth/applied_wrench': 'geometry_msgs/msg/WrenchStamped',
    '/ground_truth/cop': 'geometry_msgs/msg/PointStamped',
    '/ground_truth/cop_in_world': 'geometry_msgs/msg/PointStamped',
    '/ground_truth/com_in_world': 'geometry_msgs/msg/PointStamped',
    '/ground_truth/ground_normal_in_world': 'geometry_msgs/msg/Vector3Stamped',
    '/ground_truth/support_polygon': 'geometry_msgs/msg/PolygonStamped',
    '/ground_truth/l_foot/loaded': 'std_msgs/msg/Bool',
    '/ground_truth/r_foot/loaded': 'std_msgs/msg/Bool',
    '/ground_truth/l_foot/wrench': 'geometry_msgs/msg/WrenchStamped',
    '/ground_truth/r_foot/wrench': 'geometry_msgs/msg/WrenchStamped',
}


def test_topics_and_types(recorded):
    run, bag, messages = recorded
    with BagReader(bag) as reader:
        assert {name: topic.msgtype for name, topic in reader.topics.items()} == TYPES
        assert reader.damage is None
        assert reader.custom_data == {'motion': 'sway', 'robot': 'biped31', 'fell': 'no'}
    assert {len(rows) for topic, rows in messages.items() if 'description' not in topic} == {
        len(run)
    }


def test_every_header_bears_the_instant_and_the_frame(recorded):
    run, _, messages = recorded
    frames = {
        '/imu': 'imu_link', '/accelerometers/accelerometer_2': 'accelerometer_2', '/gps': 'world',
        '/l_foot/wrench': 'l_foot_ft', '/ground_truth/odom': 'world',
        '/ground_truth/root_acceleration': 'pelvis', '/ground_truth/contact_wrench': 'pelvis',
        '/ground_truth/ground_wrench': 'pelvis',
        '/ground_truth/cop': 'pelvis', '/ground_truth/cop_in_world': 'world',
        '/ground_truth/com_in_world': 'world', '/ground_truth/r_foot/wrench': 'r_sole',
        '/ground_truth/ground_normal_in_world': 'world', '/ground_truth/support_polygon': 'world',
    }  # fmt: skip
    stamps_of_run = run.stamps.tolist()
    for topic, rows in messages.items():
        assert topic == '/robot_description' or [received for received, _ in rows] == stamps_of_run
        if not hasattr(rows[0][1], 'header'):
            continue
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in rows]
        assert stamps == stamps_of_run
        assert {m.header.frame_id for _, m in rows} == {
            frames.get(topic, rows[0][1].header.frame_id)
        }


def test_sensors_are_those_of_the_run(recorded):
    run, _, messages = recorded
    joints = messages['/joint_states']
    assert tuple(joints[0][1].name) == run.joint_names
    assert np.array_equal(column(joints, lambda m: m.position), run.q)
    assert np.array_equal(column(joints, lambda m: m.effort), run.effort)
    assert joints[0][1].velocity.size == 0
    imu = messages['/imu']
    assert np.array_equal(column(imu, lambda m: xyz(m.angular_velocity)), run.imu.angular_velocity)
    force = column(imu, lambda m: xyz(m.linear_acceleration))
    assert np.array_equal(force, run.imu.specific_force)
    orientation = column(imu, lambda m: [*xyz(m.orientation), m.orientation.w])
    assert np.array_equal(orientation, run.imu.orientation_xyzw)
    for sensor in FILE.accelerometers:
        rows = messages['/' + sensor.topic]
        values = column(rows, lambda m: xyz(m.linear_acceleration))
        assert np.array_equal(values, run.accelerometers[sensor.topic])
        assert rows[0][1].orientation_covariance[0] == -1.0
        assert rows[0][1].angular_velocity_covariance[0] == -1.0
    assert np.array_equal(column(messages['/gps'], lambda m: xyz(m.point)), run.position)
    for foot in FILE.feet:
        values = column(messages['/' + foot.wrench.topic], wrench)
        assert np.array_equal(values, run.wrenches[foot.wrench.topic])


def test_truth_is_that_of_the_run(recorded):
    run, _, messages = recorded
    truth, root = run.truth, run.truth.root
    joints = messages['/ground_truth/joint_kinematics']
    assert tuple(joints[0][1].joint_names) == run.joint_names
    for field, values in (('positions', run.q), ('velocities', truth.qd),
                          ('accelerations', truth.qdd)):  # fmt: skip
        found = column(joints, lambda m, field=field: getattr(m.points[0], field))
        assert np.array_equal(found, values)
    odom = messages['/ground_truth/odom']
    assert odom[0][1].child_frame_id == 'pelvis'
    assert np.array_equal(column(odom, lambda m: xyz(m.pose.pose.position)), root.position)
    twist = column(odom, lambda m: xyz(m.twist.twist.linear) + xyz(m.twist.twist.angular))
    assert np.array_equal(twist, np.hstack([root.velocity_in_root(), root.angular_velocity]))
    acceleration = column(
        messages['/ground_truth/root_acceleration'],
        lambda m: xyz(m.accel.linear) + xyz(m.accel.angular),
    )
    expected = root.proper_acceleration(FILE.gravity), root.angular_acceleration
    assert np.array_equal(acceleration, np.hstack(expected))
    everything = truth.ground_wrench + truth.applied_wrench
    assert truth.applied_wrench.any()
    for name, values in (('contact_wrench', everything),
                         ('ground_wrench', truth.ground_wrench),
                         ('applied_wrench', truth.applied_wrench),
                         ('l_foot/wrench', truth.feet['l_foot'].wrench)):  # fmt: skip
        assert np.array_equal(column(messages[f'/ground_truth/{name}'], wrench), values)
    for name, values in (('cop', truth.cop_in_root()), ('cop_in_world', truth.cop),
                         ('com_in_world', truth.com)):  # fmt: skip
        found = column(messages[f'/ground_truth/{name}'], lambda m: xyz(m.point))
        assert np.array_equal(found, values)
    normals = messages['/ground_truth/ground_normal_in_world']
    assert np.array_equal(column(normals, lambda m: xyz(m.vector)), truth.ground_normal)
    for foot in FILE.feet:
        loaded = column(messages[f'/ground_truth/{foot.name}/loaded'], lambda m: m.data)
        assert np.array_equal(loaded, truth.feet[foot.name].loaded)
    polygons = [m for _, m in messages['/ground_truth/support_polygon']]
    for message, polygon in zip(polygons, support_polygons(truth), strict=True):
        found = np.array([xyz(point) for point in message.polygon.points])
        assert np.array_equal(found, polygon.astype(np.float32))


def test_the_description_is_the_urdf(recorded):
    _, _, messages = recorded
    ((_, description),) = messages['/robot_description']
    recorded, stated = (
        ElementTree.canonicalize(text, strip_text=True)  # comments do not count
        for text in (description.data, FILE.urdf_path.read_text(encoding='utf-8'))
    )
    assert recorded == stated


def test_without_push_no_topic_for_it(sway):
    with BagReader(sway[1]) as reader:
        assert '/ground_truth/applied_wrench' not in reader.topics
        assert reader.topics['/imu'].count == len(sway[0])


# ---- Noisy copies of sensor signals -------------------------------------------------------------


NOISY_FILE = load_robot_file(ROBOT_FILE.with_name('robot_noisy.yaml'))
XSENS = sensor_noise('xsens_mti20')
RATE = 500.0


@pytest.fixture(scope='module')
def run():
    return simulate(planned(steps=6).plan, build_mujoco(FILE))


@pytest.fixture(scope='module')
def noisy(run):
    return add_noise(run, FILE, XSENS, seed=3)


@pytest.fixture(scope='module')
def bag(run, noisy, tmp_path_factory):
    path = tmp_path_factory.mktemp('noise') / 'bag'
    record(run, FILE, path, noisy=noisy)
    return path


def differences(run, noisy):
    """Signal → (noise (T, 3), standard deviation it should have)."""
    acceleration, rate = XSENS_ACCELEROMETER * np.sqrt(RATE), XSENS_GYROSCOPE * np.sqrt(RATE)
    found = {
        'gyroscope': (noisy.imu.angular_velocity - run.imu.angular_velocity, rate),
        'accelerometer': (noisy.imu.specific_force - run.imu.specific_force, acceleration),
    }
    for topic, signal in noisy.accelerometers.items():
        found[topic] = (signal - run.accelerometers[topic], acceleration)
    velocity = np.diff(noisy.position - run.position, axis=0) * RATE
    return found | {'velocity': (velocity, acceleration)}


def test_each_signal_has_white_noise_of_the_papers_deviation(run, noisy):
    """σ = ν √f; mean 0; no correlation from sample to sample, between axes or signals."""
    signals = differences(run, noisy)
    assert len(signals) == 6
    for noise, sigma in signals.values():
        count = noise.size
        assert abs(noise.mean()) < 4.0 * sigma / np.sqrt(count)
        assert noise.std() == pytest.approx(sigma, rel=4.0 / np.sqrt(2.0 * count))
    columns = np.hstack([noise[: len(run) - 1] for noise, _ in signals.values()])
    together = np.corrcoef(np.hstack([columns[1:], columns[:-1]]).T)
    off_diagonal = together - np.diag(np.diag(together))
    assert np.abs(off_diagonal).max() < 5.0 / np.sqrt(len(run))


def test_what_the_paper_leaves_ideal_is_ideal(run, noisy):
    assert np.array_equal(noisy.imu.orientation_xyzw, run.imu.orientation_xyzw)
    assert (noisy.position[0] != run.position[0]).all()
    assert np.abs(noisy.position - run.position).max() < 0.01


def test_bad_noise_is_refused(run):
    with raising(UnknownNameError, 'unknown_name', name='xsens', valid=('xsens_mti20',)):
        sensor_noise('xsens')
    with raising(SensingError, 'seed', seed=-1):
        add_noise(run, FILE, XSENS, -1)
    single = dataclasses.replace(run, stamps=run.stamps[:1])
    with raising(SimulationError, 'no_sample_rate', samples=1):
        add_noise(single, FILE, XSENS, 0)


def test_ideal_and_noisy_signals_are_both_recorded(bag, run, noisy):
    with BagReader(bag) as reader:
        names = set(reader.topics)
        assert reader.custom_data['noise'] == 'xsens_mti20'
        assert reader.custom_data['seed'] == '3'
        for topic in ('imu', 'gps', *(sensor.topic for sensor in FILE.accelerometers)):
            ideal, copy = reader.topics[f'/{topic}'], reader.topics[f'/noisy/{topic}']
            assert (copy.msgtype, copy.count) == (ideal.msgtype, ideal.count)
        assert {name for name in names if name.startswith('/noisy/')} == {
            '/noisy/imu', '/noisy/gps', '/noisy/accelerometers/accelerometer_1',
            '/noisy/accelerometers/accelerometer_2', '/noisy/accelerometers/accelerometer_3',
        }  # fmt: skip
        for topic, signals, sigma in (
            ('/imu', run, (0.0, 0.0)),
            ('/noisy/imu', noisy, (noisy.sigma_angular_velocity, noisy.sigma_acceleration)),
        ):
            message = messages(bag, topic)[0]
            for field, value, deviation in zip(
                ('angular_velocity', 'linear_acceleration'),
                (signals.imu.angular_velocity, signals.imu.specific_force),
                sigma,
                strict=True,
            ):
                assert xyz(getattr(message, field)) == value[0].tolist()
                covariance = getattr(message, f'{field}_covariance').reshape(3, 3)
                assert covariance == pytest.approx(deviation**2 * np.eye(3), rel=1e-12)


def test_the_robot_file_chooses_between_ideal_and_noisy(bag):
    """The same bag, two robot files: the noise shows in the IZMP by millimetres."""
    without, with_noise = (
        evaluate_bag(bag, file).tracks['mr_ad'].point for file in (FILE, NOISY_FILE)
    )
    error = np.abs(with_noise - without)[5:-5, :2]
    assert 1e-4 < error.mean() < 0.01


def test_noisy_and_ideal_robot_files_differ_in_topics_only():
    def without_topics(file):
        return dataclasses.replace(
            file,
            path=None,
            imu=dataclasses.replace(file.imu, topic=file.imu.topic.removeprefix('noisy/')),
            position=dataclasses.replace(
                file.position, topic=file.position.topic.removeprefix('noisy/')
            ),
            accelerometers=tuple(
                dataclasses.replace(sensor, topic=sensor.topic.removeprefix('noisy/'))
                for sensor in file.accelerometers
            ),
        )

    assert without_topics(NOISY_FILE) == without_topics(FILE)
    assert NOISY_FILE != FILE
