"""Messages that are written as bytes are those that rclpy serializes."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    PoseWithCovarianceStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.template import JointTemplate, Template
from izmp_dynamics.nodes.wire import reader_of
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

STAMP = 1_700_000_000_123_456_789
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
    template, reader = JointTemplate(names), reader_of(JointTrajectory)
    for row in (0, 1, 0):
        raw = template.write(STAMP + row, joints, row)
        message = deserialize_message(raw, JointTrajectory)
        assert (stamp_of(message), tuple(message.joint_names)) == (STAMP + row, names)
        by_rosbags = standard_types().deserialize_cdr(raw, 'trajectory_msgs/msg/JointTrajectory')
        assert len(by_rosbags.points) == 1 - row
        stamp, sample = reader(raw)
        assert (stamp, sample.names) == (STAMP + row, names)
        assert (len(message.points), sample.point is None) == (1 - row, bool(row))
        if not row:
            (point,) = message.points
            values = np.array([point.positions, point.velocities, point.accelerations])
            np.testing.assert_array_equal(values, parts[:, 0])
            np.testing.assert_array_equal(sample.point, parts[:, 0])
