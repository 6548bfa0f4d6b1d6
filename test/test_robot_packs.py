"""Robots that are shipped: each stands still, as its IMU and joints would say it."""

import dataclasses
import re

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from scipy.spatial import ConvexHull

from izmp_dynamics.bags.cdr_layout import CdrLayout, serialized
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import RobotFileError, UnknownNameError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.audit import audit
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.topics import SignalTopics

from .raising import raising
from .sample_bags import START, raw_of, write_bag

UNITREE = {'thigh': 0.8, 'calf': -1.6}
STANDING = {
    'go2': UNITREE,
    'go1': UNITREE,
    'a1': UNITREE,
    'b1': UNITREE,
    'anymal_c': {'F_HFE': 0.4, 'F_KFE': -0.8, 'H_HFE': -0.4, 'H_KFE': 0.8},
    'solo12': {'HFE': 0.8, 'KFE': -1.6},
    'g1': {'hip_pitch': -0.2, 'knee': 0.4, 'ankle_pitch': -0.2},
    'b2': UNITREE,
    'h1': {'hip_pitch': -0.4, 'knee': 0.8, 'ankle': -0.4},
    'icub': {},
    'talos': {'leg_left_3': -0.4, 'leg_right_3': -0.4, 'leg_left_4': 0.8, 'leg_right_4': 0.8,
              'leg_left_5': -0.4, 'leg_right_5': -0.4},
}  # fmt: skip
"""Part of the name of a joint → its angle [rad]: the soles are level, and the feet as high."""


@pytest.mark.parametrize('name', STANDING)
def test_a_shipped_robot_stands(name, tmp_path):
    """Its URDF is sound; the IZMP is below the centre of mass, and the margin that of its feet."""
    robot = _shipped(name)
    urdf = robot.read_urdf()
    assert not [problem for problem in audit(urdf) if problem.severity == 'error']
    model = load_model(urdf, robot.root)
    stated = float(re.search(r'of ([\d.]+) kg', find_resource(f'robots/{name}/robot.yaml')
                             .read_text()).group(1))  # fmt: skip
    assert model.total_mass == pytest.approx(stated, abs=0.06)

    q = np.array([_angle(name, joint) for joint in model.joint_names])
    found = evaluate_bag(_standing(tmp_path / 'bag', robot, model, q), robot)
    track = found.tracks['mr_ad']
    assert track.valid.sum() > 100
    com = model.com(q)[:2]
    np.testing.assert_allclose(track.point[track.valid][:, :2] - com, 0.0, atol=2e-4)

    contacts = []
    for foot in robot.feet:
        R, p = model.frame_pose(foot.sole_frame, q)
        contacts += [(R @ [*corner, 0.0] + p)[:2] for corner in foot.corners]
    hull = ConvexHull(contacts).equations
    room = -(hull[:, :2] @ com + hull[:, 2]).max()
    assert room > 0.02
    np.testing.assert_allclose(track.margin[track.valid], room, atol=3e-4)


def _shipped(name):
    try:
        return load_robot_file(name, with_urdf=True)
    except RobotFileError as error:
        if error.kind == 'urdf_package_absent':
            pytest.skip(str(error))
        raise


def _standing(path, robot, model, q):
    """A bag of 1.3 s at 200 Hz with the noise of good sensors."""
    noise = np.random.default_rng(1)
    R = model.frame_pose(robot.imu.frame, q)[0]
    stamps = [START + k * 5_000_000 for k in range(260)]
    joints, imu = [], []
    for stamp in stamps:
        header = {'header.stamp.sec': stamp // 10**9, 'header.stamp.nanosec': stamp % 10**9}
        position = q + noise.normal(0.0, 1e-8, len(q))
        joints.append(raw_of('sensor_msgs/msg/JointState', header | {
            'name': list(model.joint_names), 'position': position,
            'velocity': np.zeros(0), 'effort': np.zeros(0),
        }))  # fmt: skip
        force = R.T @ [0.0, 0.0, GRAVITY] + noise.normal(0.0, 1e-4, 3)
        turn = noise.normal(0.0, 1e-5, 3)
        imu.append(raw_of('sensor_msgs/msg/Imu', header | {
            'header.frame_id': robot.imu.frame,
            **{f'linear_acceleration.{a}': v for a, v in zip('xyz', force, strict=True)},
            **{f'angular_velocity.{a}': v for a, v in zip('xyz', turn, strict=True)},
            'orientation_covariance': np.array([-1.0, *np.zeros(8)]),
        }))  # fmt: skip
    return write_bag(path, [
        (f'/{robot.joints.topic}', 'sensor_msgs/msg/JointState', stamps, joints),
        (f'/{robot.imu.topic}', 'sensor_msgs/msg/Imu', stamps, imu),
    ])  # fmt: skip


def test_a_urdf_of_a_package_is_found_and_one_that_is_not_there_is_named(tmp_path, monkeypatch):
    urdf = tmp_path / 'prefix' / 'share' / 'my_robots' / 'biped31.urdf'
    urdf.parent.mkdir(parents=True)
    urdf.write_text(find_resource('robots/biped31/biped31.urdf').read_text())
    file = tmp_path / 'robot.yaml'
    text = find_resource('robots/biped31/robot.yaml').read_text()
    file.write_text(text.replace('biped31.urdf', 'package://my_robots/biped31.urdf'))
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    with raising(RobotFileError, 'urdf_package_absent') as caught:
        load_robot_file(file, with_urdf=True)
    assert 'pip install my_robots' in str(caught.value)
    assert load_robot_file(file, urdf, with_urdf=True).urdf_path == urdf
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'))
    assert load_robot_file(file, with_urdf=True).urdf_path == urdf


def test_a_robot_has_a_name():
    assert load_robot_file('biped31').path == find_resource('robots/biped31/robot.yaml')
    with raising(UnknownNameError, 'unknown_name', name='go22'):
        load_robot_file('go22')
    with raising(RobotFileError, 'file_absent') as caught:
        load_robot_file('go2.yaml')
    assert "named 'go2'" in str(caught.value)


LOW_STATES = {'unitree_go': 20, 'unitree_hg': 35, 'ros2_unitree_legged_msgs': 20}
"""Package of a LowState → its motors, as the maker defines them."""


@pytest.mark.parametrize('name', ['go2', 'g1', 'h1', 'go1', 'a1', 'b1', 'b2'])
def test_a_robot_by_name_reads_the_messages_of_its_maker(name, tmp_path):
    """In the order of the motors: each joint has its own angle; `izmp draft` maps it too."""
    robot, mapped = _shipped(name), load_robot_file(f'{name}/lowstate')
    for key in ('urdf', 'root'):
        assert getattr(robot, key) == getattr(mapped, key)
    assert robot.feet == tuple(dataclasses.replace(foot, contact=None) for foot in mapped.feet)
    assert robot.imu.frame == mapped.imu.frame
    model = load_model(robot.read_urdf(), robot.root)
    assert sorted(mapped.joints.names) == sorted(model.joint_names)
    store = _low_state(mapped.joints.type)
    noise = np.random.default_rng(1)
    angles = {joint: _angle(name, joint) + noise.uniform(-0.1, 0.1) for joint in model.joint_names}
    q = np.array([angles[joint] for joint in mapped.joints.names])
    imu = mapped.imu.orientation.partition('.')[0]
    stamps = [START + k * 5_000_000 for k in range(260)]
    raw = serialized(store, mapped.joints.type, {})
    layout = CdrLayout(store, mapped.joints.type, raw)
    force = noise.normal([0.0, 0.0, GRAVITY], 1e-4, (len(stamps), 3))
    slices = re.findall(r'motor_state\[(\d+):(\d+)\]', mapped.joints.positions)
    motors = [motor for begin, end in slices for motor in range(int(begin), int(end))]
    values = {
        f'motor_state[{motor}].q': np.full(len(stamps), angle)
        for motor, angle in zip(motors, q, strict=True)
    }
    raws = layout.encode_rows(len(stamps), values | {
        f'{imu}.quaternion': np.tile([1.0, 0.0, 0.0, 0.0], (len(stamps), 1)),
        f'{imu}.accelerometer': force,
        'tick': np.arange(len(stamps)) * 5 + 100,
        'foot_force': np.tile([80, 30, 80, 80], (len(stamps), 1)),  # FR, FL, RR, RL
    })  # fmt: skip
    log = f'/{mapped.joints.topic}', mapped.joints.type, stamps, [row.tobytes() for row in raws]
    bag = write_bag(tmp_path / 'bag', [log], typestore=store)
    corrected = dataclasses.replace(robot.imu, delay=0.01)
    with BagReader(bag) as reader:
        taken = SignalTopics(reader, dataclasses.replace(robot, imu=corrected)).robot
    assert taken.imu == dataclasses.replace(mapped.imu, delay=0.01)
    evaluation = evaluate_bag(bag, robot)
    if robot.alternative in ('go2/lowstate', 'a1/lowstate'):
        assert taken.feet == mapped.feet
        assert [foot.name for foot in evaluation.feet if not foot.loaded[20:-20].any()] == [
            'FL_foot'
        ]
    track = evaluation.tracks['mr_ad']
    assert track.valid.sum() > 100
    com = model.com(np.array(list(angles.values())))[:2]
    np.testing.assert_allclose(track.point[track.valid][:, :2] - com, 0.0, atol=3e-4)

    write_draft(bag, robot.urdf_path, tmp_path / 'drafted.yaml')
    drafted = load_robot_file(tmp_path / 'drafted.yaml')
    assert (drafted.joints, drafted.imu) == (mapped.joints, mapped.imu)
    if name == 'go2':  # others share a type of messages, and the counts of their feet differ
        contacts = [{foot.name: foot.contact for foot in file.feet} for file in (drafted, mapped)]
        assert contacts[0] == contacts[1]
        assert [foot.radius for foot in drafted.feet] == pytest.approx([0.022] * 4, abs=1.5e-3)


def _angle(name, joint):
    return sum(angle for part, angle in STANDING[name].items() if part in joint)


def _low_state(msgtype):
    """A typestore with the fields of this LowState that are read."""
    package = msgtype.partition('/')[0]
    store = get_typestore(Stores.LATEST)
    imu = 'imu' if package == 'ros2_unitree_legged_msgs' else 'imu_state'
    for part, text in (
        ('Imu', 'float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer'),
        ('Motor', 'uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau_est'),
        ('LowState', f'uint32 tick\nuint8 mode_pr\nint16[4] foot_force\n{package}/Imu {imu}\n'
                     f'{package}/Motor[{LOW_STATES[package]}] motor_state'),
    ):  # fmt: skip
        store.register(get_types_from_msg(text, f'{package}/msg/{part}'))
    return store
