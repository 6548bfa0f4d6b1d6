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

from izmp_dynamics.bags.cdr_decoder import Decoded, Group
from izmp_dynamics.bags.reader import RawMessages
from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.errors import BagError

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Stamped:
    """What all batches of stamped messages have.

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


@dataclass(frozen=True)
class JointStateBatch(_Stamped):
    """sensor_msgs/JointState, the columns in the order that was asked for.

    Attributes:
        names: (n) joints.
        positions: (T, n) [rad] or [m]; NaN where `present` is False.
        velocities: (T, n) [rad/s] or [m/s]; NaN where a message has none.
        efforts: (T, n) [N·m] or [N]; NaN where a message has none.
        present: (T, n) whether the message has a position for the joint.
        absent: joints that no message has.
    """

    names: tuple[str, ...]
    positions: Array
    velocities: Array
    efforts: Array
    present: Flags
    absent: tuple[str, ...]


@dataclass(frozen=True)
class ImuBatch(_Stamped):
    """sensor_msgs/Imu, all vectors in the sensor frame.

    Attributes:
        orientations: (T, 4) quaternions xyzw; meaningless where `has_orientation` is False.
        has_orientation: (T,) False where the message says so (covariance[0] = −1) or has zeros.
        angular_velocity: (T, 3) [rad/s].
        linear_acceleration: (T, 3) specific force [m/s²].
    """

    orientations: Array
    has_orientation: Flags
    angular_velocity: Array
    linear_acceleration: Array


@dataclass(frozen=True)
class PointBatch(_Stamped):
    """Points (T, 3) [m] in the header's frame."""

    points: Array


@dataclass(frozen=True)
class PoseBatch(_Stamped):
    """Poses of a body in the header's frame.

    Attributes:
        positions: (T, 3) [m].
        orientations: (T, 4) quaternions xyzw; None for messages that have none.
        child_frame_ids: of Odometry, the different frames whose pose this is.
    """

    positions: Array
    orientations: Array | None
    child_frame_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrenchBatch(_Stamped):
    """Wrenches (T, 6): force [N], then moment [N·m], in and about the header's frame."""

    wrenches: Array


_POSES = {
    'geometry_msgs/msg/PoseStamped': 'pose',
    'geometry_msgs/msg/PoseWithCovarianceStamped': 'pose.pose',
    'nav_msgs/msg/Odometry': 'pose.pose',
}
_POINT = 'geometry_msgs/msg/PointStamped'


def joint_state_batch(
    messages: RawMessages, names: Sequence[str] | None = None
) -> JointStateBatch:
    """Read JointState messages.

    Args:
        messages: of one topic.
        names: wanted joints; None for all that occur, in the order in which they do.

    Raises:
        BagError: the topic has another type.
    """
    _expect(messages, 'sensor_msgs/msg/JointState')
    decoded, broken, fault = _consistent(messages.decode())
    if names is None:
        names = tuple(dict.fromkeys(n for g in decoded.groups for n in _names(g)))
    parts = [_joint_columns(group, names) for group in decoded.groups]
    position, velocity, effort = (
        _joined([part[i] for part in parts], decoded, len(names)) for i in range(3)
    )
    present = _joined([np.tile(part[3], (len(part[0]), 1)) for part in parts], decoded, len(names))
    flags: Flags = present.astype(np.bool_)
    absent = tuple(n for i, n in enumerate(names) if not flags[:, i].any())
    stamped = _stamped(messages, decoded, broken, fault)
    return JointStateBatch(*stamped, tuple(names), position, velocity, effort, flags, absent)


def imu_batch(messages: RawMessages) -> ImuBatch:
    """Read Imu messages.

    Raises:
        BagError: the topic has another type.
    """
    _expect(messages, 'sensor_msgs/msg/Imu')
    decoded = messages.decode()
    orientations = _floats(decoded, 'orientation', 4)
    declared = _floats(decoded, 'orientation_covariance', 9)[:, 0] != -1.0
    return ImuBatch(
        *_stamped(messages, decoded),
        orientations,
        declared & orientations.any(axis=1),
        _floats(decoded, 'angular_velocity', 3),
        _floats(decoded, 'linear_acceleration', 3),
    )


def wrench_batch(messages: RawMessages) -> WrenchBatch:
    """Read WrenchStamped messages.

    Raises:
        BagError: the topic has another type.
    """
    _expect(messages, 'geometry_msgs/msg/WrenchStamped')
    decoded = messages.decode()
    return WrenchBatch(*_stamped(messages, decoded), _floats(decoded, 'wrench', 6))


def pose_batch(messages: RawMessages) -> PoseBatch:
    """Read PoseStamped, PoseWithCovarianceStamped, Odometry or PointStamped messages.

    Raises:
        BagError: the topic has another type.
    """
    _expect(messages, *_POSES, _POINT)
    decoded = messages.decode()
    stamped = _stamped(messages, decoded)
    if messages.msgtype == _POINT:
        return PoseBatch(*stamped, _floats(decoded, 'point', 3), None)
    path = _POSES[messages.msgtype]
    odometry = messages.msgtype == 'nav_msgs/msg/Odometry'
    return PoseBatch(
        *stamped,
        _floats(decoded, f'{path}.position', 3),
        _floats(decoded, f'{path}.orientation', 4),
        decoded.texts('child_frame_id') if odometry else (),
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


def _expect(messages: RawMessages, *types: str) -> None:
    if messages.msgtype not in types:
        raise BagError(
            f"Topic '{messages.topic}' has the type {messages.msgtype}; "
            f'expected {" or ".join(types)}.'
        )


def _stamped(
    messages: RawMessages, decoded: Decoded, broken: int | None = None, fault: str | None = None
) -> tuple[Stamps, Stamps, tuple[str, ...], int, str | None]:
    """The attributes of `_Stamped`."""
    stamps: Stamps = decoded.column('header.stamp').astype(np.int64)
    return (
        stamps,
        messages.received[decoded.index],
        decoded.texts('header.frame_id'),
        decoded.broken if broken is None else broken,
        decoded.fault if broken is None else fault,
    )


def _floats(decoded: Decoded, path: str, width: int) -> Array:
    """(T, width) contiguous numbers."""
    if not decoded.groups:
        return np.zeros((0, width))
    return np.ascontiguousarray(decoded.column(path), np.float64)


def _names(group: Group) -> tuple[str, ...]:
    names = group.layout.strings['name']
    return names if isinstance(names, tuple) else (names,)


def _consistent(decoded: Decoded) -> tuple[Decoded, int, str | None]:
    """Leave out messages whose arrays do not belong to their names; count them as broken."""
    faults = {id(group): _inconsistency(group) for group in decoded.groups}
    good = tuple(group for group in decoded.groups if faults[id(group)] is None)
    broken = decoded.broken + sum(len(g) for g in decoded.groups if faults[id(g)] is not None)
    fault = decoded.fault or next((f for f in faults.values() if f is not None), None)
    index = np.sort(np.concatenate([g.index for g in good])) if good else decoded.index[:0]
    return Decoded(good, index, broken, fault), broken, fault


def _inconsistency(group: Group) -> str | None:
    names = _names(group)
    if len(set(names)) < len(names):
        return 'A JointState message names a joint twice.'
    for path in ('position', 'velocity', 'effort'):
        length = group[path].shape[1]
        if length not in (0, len(names)):
            return f'A JointState message has {length} values of {path} for {len(names)} joints.'
    return None


def _joint_columns(group: Group, names: Sequence[str]) -> tuple[Array, Array, Array, Flags]:
    """Position, velocity, effort (N, n) of the joints `names`, and which have a position (n,)."""
    there = {name: place for place, name in enumerate(_names(group))}
    wanted = np.array([name in there for name in names], np.bool_)
    places = [there[name] for name in names if name in there]
    columns = []
    for path in ('position', 'velocity', 'effort'):
        values = np.full((len(group), len(names)), np.nan)
        if group[path].shape[1]:
            values[:, wanted] = group[path][:, places]
        columns.append(values)
    present = wanted & bool(group['position'].shape[1])
    return columns[0], columns[1], columns[2], present


def _joined(parts: list[npt.NDArray[np.generic]], decoded: Decoded, width: int) -> Array:
    """Put the groups' rows in the order of the messages."""
    if not parts:
        return np.zeros((0, width))
    joined: Array = np.concatenate(parts).astype(np.float64, copy=False)
    return joined if len(parts) == 1 else joined[decoded.order()]
