"""Batches of raw messages to arrays, one function per kind of signal.

Usage::

    imu = imu_batch(batch['/imu'])                       # batch: see bags.reader
    imu.stamps, imu.angular_velocity                     # (T,) [ns], (T, 3) [rad/s]
    joints = joint_state_batch(batch['/joint_states'], model.joint_names)
    joints.positions[joints.present.all(axis=1)]         # only messages with every joint

Nothing is gated here: stamps and values are those of the messages (also zero stamps, NaN and
disorder), in the order in which they were received. Messages that cannot be read at all are left
out and counted in `broken`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.joint_states import JointStateBatch, joint_state_batch
from izmp_dynamics.bags.stamped import Stamped, expect, floats, header_values
from izmp_dynamics.base.conventions import Array

__all__ = [
    'ImuBatch',
    'JointStateBatch',
    'PointBatch',
    'PoseBatch',
    'WrenchBatch',
    'imu_batch',
    'joint_state_batch',
    'point_batch',
    'pose_batch',
    'wrench_batch',
]


@dataclass(frozen=True)
class ImuBatch(Stamped):
    """sensor_msgs/Imu, all vectors in the sensor frame.

    Attributes:
        orientations: (T, 4) quaternions xyzw; meaningless where `has_orientation` is False.
        has_orientation: (T,) False where the message says so (covariance[0] = −1) or has zeros.
        angular_velocity: (T, 3) [rad/s].
        linear_acceleration: (T, 3) specific force [m/s²].
    """

    orientations: Array
    has_orientation: npt.NDArray[np.bool_]
    angular_velocity: Array
    linear_acceleration: Array


@dataclass(frozen=True)
class PointBatch(Stamped):
    """Points (T, 3) [m] in the header's frame."""

    points: Array


@dataclass(frozen=True)
class PoseBatch(Stamped):
    """Poses of a body in the header's frame.

    Attributes:
        positions: (T, 3) [m].
        orientations: (T, 4) quaternions xyzw; None for messages that have none.
        child_frame_ids: of Odometry and TransformStamped, the different frames whose pose this is.
    """

    positions: Array
    orientations: Array | None
    child_frame_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrenchBatch(Stamped):
    """Wrenches (T, 6): force [N], then moment [N·m], in and about the header's frame."""

    wrenches: Array


_POSES = {
    'geometry_msgs/msg/PoseStamped': 'pose',
    'geometry_msgs/msg/PoseWithCovarianceStamped': 'pose.pose',
    'nav_msgs/msg/Odometry': 'pose.pose',
    'geometry_msgs/msg/TransformStamped': 'transform',
}
_POINT = 'geometry_msgs/msg/PointStamped'


def imu_batch(messages: RawMessages) -> ImuBatch:
    """Read Imu messages.

    Raises:
        BagError: the topic has another type.
    """
    expect(messages, 'sensor_msgs/msg/Imu')
    decoded = messages.decode()
    orientations = floats(decoded, 'orientation', 4)
    declared = floats(decoded, 'orientation_covariance', 9)[:, 0] != -1.0
    return ImuBatch(
        *header_values(messages, decoded),
        orientations,
        declared & orientations.any(axis=1),
        floats(decoded, 'angular_velocity', 3),
        floats(decoded, 'linear_acceleration', 3),
    )


def wrench_batch(messages: RawMessages) -> WrenchBatch:
    """Read WrenchStamped messages.

    Raises:
        BagError: the topic has another type.
    """
    expect(messages, 'geometry_msgs/msg/WrenchStamped')
    decoded = messages.decode()
    return WrenchBatch(*header_values(messages, decoded), floats(decoded, 'wrench', 6))


def pose_batch(messages: RawMessages) -> PoseBatch:
    """Read PoseStamped, PoseWithCovarianceStamped, Odometry, TransformStamped or PointStamped.

    Raises:
        BagError: the topic has another type.
    """
    expect(messages, *_POSES, _POINT)
    decoded = messages.decode()
    stamped = header_values(messages, decoded)
    if messages.msgtype == _POINT:
        return PoseBatch(*stamped, floats(decoded, 'point', 3), None)
    path = _POSES[messages.msgtype]
    transform = path == 'transform'
    names_child = transform or messages.msgtype == 'nav_msgs/msg/Odometry'
    return PoseBatch(
        *stamped,
        floats(decoded, f'{path}.{"translation" if transform else "position"}', 3),
        floats(decoded, f'{path}.{"rotation" if transform else "orientation"}', 4),
        decoded.texts('child_frame_id') if names_child else (),
    )


def point_batch(messages: RawMessages) -> PointBatch:
    """Read the positions of the messages that `pose_batch` reads.

    Raises:
        BagError: the topic has another type.
    """
    pose = pose_batch(messages)
    return PointBatch(
        pose.stamps, pose.received, pose.frame_ids, pose.broken, pose.fault, pose.positions
    )
