"""Signals from raw messages, against the messages that were written."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import CdrDecoder
from izmp_dynamics.bags.messages import (
    imu_batch,
    joint_state_batch,
    pose_batch,
    wrench_batch,
)
from izmp_dynamics.base.errors import BagError

from .raising import raising
from .sample_bags import START, TYPES, raw_of

IMU = 'sensor_msgs/msg/Imu'
JOINTS = 'sensor_msgs/msg/JointState'


def batch_of(msgtype, raws):
    received = START + 1000 * np.arange(len(raws))
    return RawMessages('/topic', msgtype, received, raws, CdrDecoder(TYPES, msgtype))


def stamped(msgtype, values, nanosec=0, frame='f'):
    head = {'header.stamp.sec': 7, 'header.stamp.nanosec': nanosec, 'header.frame_id': frame}
    return raw_of(msgtype, {**head, **values})


def joints(names, positions=(), velocities=(), efforts=(), nanosec=0):
    values = {'name': names, 'position': positions, 'velocity': velocities, 'effort': efforts}
    return stamped(JOINTS, values, nanosec)


# -- joints -----------------------------------------------------------------------------------


def test_a_joint_without_position_is_not_present():
    batch = joint_state_batch(batch_of(JOINTS, [joints(['a'], (), [1.0])]), ['a'])
    assert not batch.present.any()
    assert np.isnan(batch.positions).all()


def test_nan_in_a_message_is_passed_on_as_present():
    batch = joint_state_batch(batch_of(JOINTS, [joints(['a'], [np.nan])]), ['a'])
    assert batch.present.all()
    assert np.isnan(batch.positions).all()


def test_efforts_are_sorted_by_joint_and_no_number_is_infinite():
    raws = [joints(['a', 'b'], efforts=[1.0, np.nan]), joints(['b', 'a'])]
    efforts = joint_state_batch(batch_of(JOINTS, raws), ['b', 'c', 'a']).efforts
    np.testing.assert_array_equal(efforts, [[np.inf, np.nan, 1.0], [np.nan] * 3])


@pytest.mark.parametrize(
    ('bad', 'sentence'),
    [
        (joints(['a', 'b'], [1]), '1 values of position for 2 joints'),
        (joints(['a', 'b'], [1, 2], [1, 2, 3]), '3 values of velocity for 2 joints'),
        (joints([], [1]), '1 values of position but no names. State joints.type'),
        (joints(['a', 'a'], [1, 2]), 'names a joint twice'),
        (b'\0\1\0\0', 'ends after 4 bytes'),
        (b'', 'does not begin'),
    ],
)
def test_messages_that_contradict_themselves_are_counted(bad, sentence):
    raws = [joints(['a', 'b'], [1, 2]), bad, joints(['a', 'b'], [3, 4]), bad]
    batch = joint_state_batch(batch_of(JOINTS, raws), ['b'])
    np.testing.assert_array_equal(batch.positions, [[2], [4]])
    np.testing.assert_array_equal(batch.received, [START, START + 2000])
    assert batch.broken == 2
    assert sentence in batch.fault


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from('abcdef'), st.floats(allow_nan=False), max_size=6),
        max_size=30,
    ),
    st.lists(st.sampled_from('abcdefg'), unique=True),
)
def test_any_mixture_of_joint_sets(sent, wanted):
    raws = [joints(list(entry), list(entry.values()), nanosec=i) for i, entry in enumerate(sent)]
    batch = joint_state_batch(batch_of(JOINTS, raws), wanted)
    expected = [[entry.get(name, np.nan) for name in wanted] for entry in sent]
    np.testing.assert_array_equal(batch.positions, np.reshape(expected, (len(sent), len(wanted))))
    np.testing.assert_array_equal(batch.present, ~np.isnan(batch.positions))
    seen = {name for entry in sent for name in entry}
    np.testing.assert_array_equal(batch.stamps, 7 * 10**9 + np.arange(len(sent)))
    np.testing.assert_array_equal(batch.received, START + 1000 * np.arange(len(sent)))
    assert (batch.names, set(batch.others)) == (tuple(wanted), seen - set(wanted))


# -- other signals ----------------------------------------------------------------------------


def test_imu_and_what_it_says_about_its_orientation():
    still = {'orientation.w': 1.0, 'angular_velocity.y': 2.0, 'linear_acceleration.z': 9.81}
    unknown = {**still, 'orientation_covariance': [-1.0, *[0.0] * 8]}
    raws = [stamped(IMU, values) for values in (still, unknown, {})]
    batch = imu_batch(batch_of(IMU, raws))
    np.testing.assert_array_equal(batch.has_orientation, [True, False, False])
    np.testing.assert_array_equal(batch.orientations[0], [0, 0, 0, 1])
    np.testing.assert_array_equal(batch.angular_velocity[:, 1], [2, 2, 0])
    np.testing.assert_array_equal(batch.linear_acceleration[:2], [[0, 0, 9.81]] * 2)


def test_a_signalling_nan_gives_no_warning():
    """Corrupted bytes may be one; NumPy warns where it is used, and a user would see that."""
    raw = stamped(IMU, {'orientation.x': 0.125})
    damaged = raw.replace(struct.pack('<d', 0.125), struct.pack('<Q', 0x7FF0000000000001))
    assert damaged != raw
    with np.errstate(invalid='raise'):
        batch = imu_batch(batch_of(IMU, [damaged]))
    assert np.isnan(batch.orientations[0, 0])


def test_a_frame_that_changes_is_seen():
    raws = [stamped(IMU, {}, frame=frame) for frame in ('b', 'a', 'b')]
    batch = imu_batch(batch_of(IMU, raws))
    assert (batch.frame_ids, batch.frame_id) == (('a', 'b'), None)


@pytest.mark.parametrize(
    ('msgtype', 'path'),
    [
        ('geometry_msgs/msg/PoseStamped', 'pose'),
        ('geometry_msgs/msg/PoseWithCovarianceStamped', 'pose.pose'),
        ('nav_msgs/msg/Odometry', 'pose.pose'),
    ],
)
@pytest.mark.parametrize('little', [True, False])
def test_poses(msgtype, path, little):
    values = {f'{path}.position.y': 2.0, f'{path}.orientation.z': 1.0, 'header.frame_id': 'w'}
    if 'Odometry' in msgtype:
        values['child_frame_id'] = 'base'
    raws = [raw_of(msgtype, values, little_endian=little)] * 2
    batch = pose_batch(batch_of(msgtype, raws))
    np.testing.assert_array_equal(batch.positions, [[0, 2, 0]] * 2)
    np.testing.assert_array_equal(batch.orientations, [[0, 0, 1, 0]] * 2)
    assert batch.child_frame_ids == (('base',) if 'Odometry' in msgtype else ())
    point = stamped('geometry_msgs/msg/PointStamped', {'point.y': 2.0})
    batch = pose_batch(batch_of('geometry_msgs/msg/PointStamped', [point]))
    assert (batch.positions.tolist(), batch.orientations) == ([[0, 2, 0]], None)


@pytest.mark.parametrize(
    ('read', 'valid'),
    [
        (imu_batch, IMU),
        (joint_state_batch, JOINTS),
        (wrench_batch, 'geometry_msgs/msg/WrenchStamped'),
        (pose_batch, 'geometry_msgs/msg/PoseStamped'),
    ],
)
def test_other_types_are_refused(read, valid):
    given = {'topic': '/topic', 'msgtype': 'std_msgs/msg/String'}
    with raising(BagError, 'wrong_type', **given) as caught:
        read(batch_of('std_msgs/msg/String', []))
    assert valid in caught.value.data['valid']


@pytest.mark.parametrize(
    ('read', 'msgtype', 'shapes'),
    [
        (imu_batch, IMU, {'orientations': (0, 4), 'angular_velocity': (0, 3)}),
        (joint_state_batch, JOINTS, {'positions': (0, 0), 'present': (0, 0)}),
        (wrench_batch, 'geometry_msgs/msg/WrenchStamped', {'wrenches': (0, 6)}),
        (pose_batch, 'nav_msgs/msg/Odometry', {'positions': (0, 3), 'orientations': (0, 4)}),
    ],
)
def test_batches_without_messages_have_the_right_shapes(read, msgtype, shapes):
    for raws in ([], [b'broken']):
        batch = read(batch_of(msgtype, raws))
        assert len(batch) == len(batch.received) == 0
        assert batch.stamps.dtype == np.int64
        assert (batch.frame_ids, batch.frame_id, batch.broken) == ((), None, len(raws))
        for name, shape in shapes.items():
            assert getattr(batch, name).shape == shape
