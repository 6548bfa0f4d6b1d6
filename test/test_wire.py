"""Messages are read from their bytes, and written as bytes, as rclpy does it."""

import struct
from operator import attrgetter

import numpy as np
import pytest
from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    TransformStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.nodes.messages import header, stamp_of
from izmp_dynamics.nodes.wire import JointTemplate, Template, reader_of
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

STAMP = 1_700_000_000_123_456_789


def imu(frame='imu_link', oriented=True):
    message = Imu(header=header(STAMP, frame))
    message.orientation.x, message.orientation.w = 0.6, 0.8
    message.orientation_covariance[0] = 0.1 if oriented else -1.0
    message.angular_velocity.y = -2.5
    message.linear_acceleration.x, message.linear_acceleration.z = 1.25, 9.81
    return message


def joints(count, frame=''):
    names = [f'joint_{"x" * k}' for k in range(count)]
    return JointState(
        header=header(STAMP, frame), name=names, position=[0.1 * k for k in range(count)]
    )


def kind(cls):
    return cls.__module__.partition('.')[0] + f'/msg/{cls.__name__}'


def read(message, reader=None):
    reader = reader or reader_of(kind(type(message)))
    return reader(serialize_message(message))


@pytest.mark.parametrize('frame', ['', 'a', 'imu_link', 'Gehäuse', 'x' * 200])
def test_an_imu(frame):
    stamp, sample = read(imu(frame))
    assert (stamp, sample.frame) == (STAMP, frame)
    np.testing.assert_array_equal(sample.values, [0.0, -2.5, 0.0, 1.25, 0.0, 9.81])
    np.testing.assert_array_equal(sample.orientation, [0.6, 0.0, 0.0, 0.8])


def test_an_imu_without_orientation():
    assert read(imu(oriented=False))[1].orientation is None
    zero = imu()
    zero.orientation.x = zero.orientation.w = 0.0
    assert read(zero)[1].orientation is None


@pytest.mark.parametrize(
    ('msgtype', 'first', 'second'),
    [
        (WrenchStamped, 'wrench.force', 'wrench.torque'),
        (TwistStamped, 'twist.linear', 'twist.angular'),
        (AccelStamped, 'accel.linear', 'accel.angular'),
    ],
)
def test_wrenches_and_motion_of_the_root(msgtype, first, second):
    message = msgtype(header=header(STAMP, 'l_sole'))
    attrgetter(first)(message).z, attrgetter(second)(message).x = 300.0, -4.0
    stamp, sample = read(message)
    assert (stamp, sample.frame) == (STAMP, 'l_sole')
    np.testing.assert_array_equal(sample.values, [0.0, 0.0, 300.0, -4.0, 0.0, 0.0])
    assert sample.values.flags.writeable


@pytest.mark.parametrize('count', [0, 1, 7, 31])
def test_joint_states(count):
    message = joints(count)
    stamp, sample = read(message)
    assert (stamp, list(sample.names)) == (STAMP, list(message.name))
    np.testing.assert_array_equal(sample.positions, message.position)


def test_several_publishers_on_a_topic():
    """Each with its own layout, in any order, and more of them than are remembered."""
    reader = reader_of(kind(JointState))
    for _ in range(2):
        for count in range(1, 20):
            message = joints(count, 'f' * count)
            _, sample = read(message, reader)
            assert list(sample.names) == list(message.name)
            np.testing.assert_array_equal(sample.positions, message.position)


def test_names_that_change_are_not_read_by_the_layout_before():
    reader, message = reader_of(kind(JointState)), joints(3)
    read(message, reader)
    message.name = list(reversed([name.rjust(9, 'y')[:9] for name in message.name]))
    _, sample = read(message, reader)
    assert list(sample.names) == list(message.name)


def test_a_message_of_the_other_byte_order():
    """As a robot with another processor sends it."""
    raw = struct.pack('>BBHiII', 0, 0, 0, STAMP // 10**9, STAMP % 10**9, 2) + b'i\0' + b'\0\0'
    raw += bytes(-(len(raw) - 4) % 8) + struct.pack('>37d', *np.arange(37.0))
    stamp, sample = reader_of(kind(Imu))(raw)
    assert (stamp, sample.frame) == (STAMP, 'i')
    np.testing.assert_array_equal(sample.values, [13.0, 14.0, 15.0, 25.0, 26.0, 27.0])
    assert sample.values.dtype.isnative
    assert sample.orientation.dtype.isnative


def test_other_bytes_are_refused():
    raw = serialize_message(imu())
    for wrong in (b'', raw[:3], raw[:-9], raw + bytes(40), b'\7' + raw[1:]):
        with pytest.raises(BagError):
            reader_of(kind(Imu))(wrong)


@pytest.mark.parametrize(
    ('msgtype', 'position', 'orientation'),
    [
        (PointStamped, 'point', ''),
        (PoseStamped, 'pose.position', 'pose.orientation'),
        (PoseWithCovarianceStamped, 'pose.pose.position', 'pose.pose.orientation'),
        (TransformStamped, 'transform.translation', 'transform.rotation'),
    ],
)
def test_points_and_poses(msgtype, position, orientation):
    message = msgtype(header=header(STAMP, 'world'))
    place = attrgetter(position)(message)
    place.x, place.z = 1.5, 2.5
    if orientation:
        turn = attrgetter(orientation)(message)
        turn.y, turn.w = 0.6, 0.8
    stamp, sample = read(message)
    assert (stamp, sample.frame) == (STAMP, 'world')
    np.testing.assert_array_equal(sample.values, [1.5, 0.0, 2.5])
    expected = [0.0, 0.6, 0.0, 0.8] if orientation else None
    np.testing.assert_array_equal(sample.orientation, expected)


@pytest.mark.parametrize('child', ['', 'pelvis', 'left_foot_link'])
def test_odometry(child):
    message = Odometry(header=header(STAMP, 'world'), child_frame_id=child)
    message.pose.pose.position.x, message.pose.pose.orientation.w = 4.0, 1.0
    message.pose.covariance[:] = np.full(36, 7.0)
    message.twist.twist.linear.z, message.twist.twist.angular.x = 5.0, 6.0
    stamp, sample = read(message)
    assert (stamp, sample.frame, sample.child) == (STAMP, 'world', child)
    np.testing.assert_array_equal(sample.values, [4, 0, 0, 0, 0, 0, 1, 0, 0, 5, 6, 0, 0])


def test_padding_may_have_any_bytes():
    """As rclpy leaves it."""
    reader, raw = reader_of(kind(Imu)), bytearray(serialize_message(imu('abcd')))
    for padding in (bytes(7), b'paddin!'):
        raw[21:28] = padding
        stamp, sample = reader(bytes(raw))
        assert (stamp, sample.frame, sample.values[5]) == (STAMP, 'abcd', 9.81)
    assert len(reader._known) == 1


def test_other_messages_are_left_to_the_middleware():
    assert reader_of(kind(Float64)) is None


COUNTS = {
    PointStamped: 3, Vector3Stamped: 3, WrenchStamped: 6, TwistStamped: 6, AccelStamped: 6,
    PoseWithCovarianceStamped: 43, Float64: 1,
}  # fmt: skip


def leaves(message):
    """All numbers of a message in their order, without the header."""
    if not hasattr(message, 'get_fields_and_field_types'):
        return np.ravel(message).tolist()
    fields = [name for name in message.get_fields_and_field_types() if name != 'header']
    return [number for name in fields for number in leaves(getattr(message, name))]


@pytest.mark.parametrize('msgtype', COUNTS, ids=lambda msgtype: msgtype.__name__)
def test_a_message_is_read_as_it_was_meant(msgtype):
    template, count = Template(msgtype), COUNTS[msgtype]
    for turn, frame in enumerate(['', 'a', 'pelvis', 'Gehäuse', 'pelvis']):
        numbers = np.arange(float(count)) + 0.5 + turn
        raw = template.write(STAMP + turn, frame, numbers[:2], numbers[2:])
        message = deserialize_message(raw, msgtype)
        assert leaves(message) == numbers.tolist()
        if msgtype is not Float64:
            assert (stamp_of(message), message.header.frame_id) == (STAMP + turn, frame)


def test_odometry_of_a_frame():
    template = Template(Odometry, child_frame_id='pelvis')
    message = deserialize_message(template.write(STAMP, 'world', np.arange(85.0)), Odometry)
    assert (stamp_of(message), message.header.frame_id) == (STAMP, 'world')
    assert message.child_frame_id == 'pelvis'
    assert leaves(message)[1:] == np.arange(85.0).tolist()


@pytest.mark.parametrize('count', [0, 1, 2, 31])
def test_joint_kinematics(count):
    """With and without a point, as rclpy and as the other nodes read it."""
    names = tuple(f'joint_{"x" * k}' for k in range(count))
    parts = np.arange(6.0 * count).reshape(3, 2, count)
    joints = JointKinematics(np.array([1, 2]), *parts, np.array([True, False]))
    template, reader = JointTemplate(names), reader_of(kind(JointTrajectory))
    for row in (0, 1, 0):
        raw = template.write(STAMP + row, joints, row)
        message = deserialize_message(raw, JointTrajectory)
        assert (stamp_of(message), tuple(message.joint_names)) == (STAMP + row, names)
        by_rosbags = standard_types().deserialize_cdr(raw, 'trajectory_msgs/msg/JointTrajectory')
        assert len(by_rosbags.points) == 1 - row
        stamp, sample = reader(raw)
        assert (stamp, len(message.points), sample is None) == (STAMP + row, 1 - row, bool(row))
        if not row:
            (point,) = message.points
            values = np.array([point.positions, point.velocities, point.accelerations])
            np.testing.assert_array_equal(values, parts[:, 0])
            np.testing.assert_array_equal(sample, parts[:, 0].reshape(-1))
