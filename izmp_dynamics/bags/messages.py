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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import Decoded, Group
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import BagError

Flags = npt.NDArray[np.bool_]
_ARRAYS = ('position', 'velocity', 'effort')

StampedValues = tuple[Stamps, Stamps, tuple[str, ...], int, str | None]
"""The attributes of `Stamped`, in their order."""


@dataclass(frozen=True)
class Stamped:
    """What every batch of stamped messages begins with.

    Attributes:
        stamps: (T,) stamps in the headers [ns].
        received: (T,) receive stamps [ns].
        frame_ids: the different frames in the headers, sorted; more than one is a fault.
        broken: messages that could not be read.
        fault: why the first of those could not be read; None when there is none.
    """

    stamps: Stamps
    received: Stamps
    frame_ids: tuple[str, ...]
    broken: int
    fault: str | None

    def __len__(self) -> int:
        return len(self.stamps)

    @property
    def frame_id(self) -> str | None:
        """The frame, if it is always the same."""
        return self.frame_ids[0] if len(self.frame_ids) == 1 else None


def _decoded(messages: RawMessages, *types: str) -> Decoded:
    if messages.msgtype not in types:
        raise BagError(
            f"Topic '{messages.topic}' has the type {messages.msgtype}; "
            f'expected {" or ".join(types)}.',
            kind='wrong_type', topic=messages.topic, msgtype=messages.msgtype, valid=types,
        )  # fmt: skip
    return messages.decode()


def _header_values(messages: RawMessages, decoded: Decoded) -> StampedValues:
    stamps: Stamps = decoded.column('header.stamp').astype(np.int64)
    frames = decoded.texts('header.frame_id')
    return stamps, messages.received[decoded.index], frames, decoded.broken, decoded.fault


def _floats(decoded: Decoded, path: str, width: int) -> Array:
    if not decoded.groups:
        return np.zeros((0, width))
    return np.ascontiguousarray(decoded.column(path), np.float64)


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


@dataclass(frozen=True)
class JointStateBatch(Stamped):
    """sensor_msgs/JointState, the columns in the order that was asked for.

    Attributes:
        names: n joints.
        positions: (T, n) [rad] or [m]; NaN where `present` is False.
        present: (T, n) whether the message has a position for the joint.
        efforts: (T, n) torques [N·m] or forces [N]; NaN where a message has none, infinity where
            it is no number.
        others: joints that messages have beside the wanted ones.
    """

    names: tuple[str, ...]
    positions: Array
    present: Flags
    efforts: Array
    others: tuple[str, ...] = ()


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
    decoded = _decoded(messages, 'sensor_msgs/msg/Imu')
    orientations = _floats(decoded, 'orientation', 4)
    with np.errstate(invalid='ignore'):  # a signalling NaN, which a later gate counts
        declared = _floats(decoded, 'orientation_covariance', 9)[:, 0] != -1.0
        declared &= orientations.any(axis=1)
    return ImuBatch(
        *_header_values(messages, decoded),
        orientations,
        declared,
        _floats(decoded, 'angular_velocity', 3),
        _floats(decoded, 'linear_acceleration', 3),
    )


def wrench_batch(messages: RawMessages) -> WrenchBatch:
    """Read WrenchStamped messages.

    Raises:
        BagError: the topic has another type.
    """
    decoded = _decoded(messages, 'geometry_msgs/msg/WrenchStamped')
    return WrenchBatch(*_header_values(messages, decoded), _floats(decoded, 'wrench', 6))


def pose_batch(messages: RawMessages) -> PoseBatch:
    """Read PoseStamped, PoseWithCovarianceStamped, Odometry, TransformStamped or PointStamped.

    Raises:
        BagError: the topic has another type.
    """
    decoded = _decoded(messages, *_POSES, _POINT)
    stamped = _header_values(messages, decoded)
    if messages.msgtype == _POINT:
        return PoseBatch(*stamped, _floats(decoded, 'point', 3), None)
    path = _POSES[messages.msgtype]
    transform = path == 'transform'
    names_child = transform or messages.msgtype == 'nav_msgs/msg/Odometry'
    return PoseBatch(
        *stamped,
        _floats(decoded, f'{path}.{"translation" if transform else "position"}', 3),
        _floats(decoded, f'{path}.{"rotation" if transform else "orientation"}', 4),
        decoded.texts('child_frame_id') if names_child else (),
    )


def joint_state_batch(
    messages: RawMessages, names: Sequence[str] | None = None
) -> JointStateBatch:
    """Read JointState messages.

    A message whose arrays have another length than its names, or that names a joint twice, is
    left out and counted as broken.

    Args:
        messages: of one topic.
        names: wanted joints; None for all that occur, in the order in which they do.

    Raises:
        BagError: the topic has another type.
    """
    decoded = _consistent(_decoded(messages, 'sensor_msgs/msg/JointState'))
    occurring = dict.fromkeys(name for group in decoded.groups for name in _names(group))
    if names is None:
        names = tuple(occurring)
    positions, present = np.zeros((0, len(names))), np.zeros((0, len(names)), np.bool_)
    efforts = positions
    if decoded.groups:
        sorted_by_joint = (in_columns(x['position'], _names(x), names) for x in decoded.groups)
        parts, there = zip(*sorted_by_joint, strict=True)
        torques = [efforts_in_columns(x['effort'], _names(x), names) for x in decoded.groups]
        positions, present = decoded.merged(parts, 'position'), decoded.merged(there, 'name')
        efforts = decoded.merged(torques, 'effort')
    others = tuple(name for name in occurring if name not in names)
    values = _header_values(messages, decoded)
    return JointStateBatch(*values, tuple(names), positions, present, efforts, others)


def in_columns(values: Array, given: Sequence[str], wanted: Sequence[str]) -> tuple[Array, Flags]:
    """Sort positions, or torques, by joint.

    Args:
        values: (N, m) of the first m of the joints `given`.
        given: the joints of a message.
        wanted: n joints.

    Returns:
        (N, n) values of the wanted joints, NaN where a message has none; whether it has one.
    """
    place = dict(zip(given, range(values.shape[1]), strict=False))
    known = np.array([name in place for name in wanted], np.bool_)
    positions = np.full((len(values), len(wanted)), np.nan)
    positions[:, known] = values[:, [place[name] for name in wanted if name in place]]
    return positions, np.tile(known, (len(values), 1))


def efforts_in_columns(values: Array, given: Sequence[str], wanted: Sequence[str]) -> Array:
    """Sort torques by joint as `in_columns`; infinity where one is no number."""
    efforts, there = in_columns(values, given, wanted)
    return np.where(there & np.isnan(efforts), np.inf, efforts)


def _names(group: Group) -> tuple[str, ...]:
    names = group.layout.strings['name']
    return names if isinstance(names, tuple) else (names,)


def _consistent(decoded: Decoded) -> Decoded:
    """Count messages whose arrays do not belong to their names as broken."""
    faults = [_inconsistency(group) for group in decoded.groups]
    if not any(faults):
        return decoded
    pairs = list(zip(decoded.groups, faults, strict=True))
    broken = decoded.broken + sum(len(group) for group, fault in pairs if fault)
    fault = decoded.fault or next(fault for fault in faults if fault)
    return Decoded.of([group for group, fault in pairs if not fault], broken, fault)


def _inconsistency(group: Group) -> str | None:
    names = _names(group)
    if len(set(names)) < len(names):
        return 'A JointState message names a joint twice.'
    for path in _ARRAYS:
        length = group[path].shape[1]
        if not names and length:
            return (
                f'A JointState message has {length} values of {path} but no names. State '
                f"joints.type, names and positions ('position[0:{length}]') in the robot file."
            )
        if length not in (0, len(names)):
            return f'A JointState message has {length} values of {path} for {len(names)} joints.'
    return None
