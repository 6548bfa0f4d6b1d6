"""Messages read from their bytes, as the bag reader does, and written as bytes.

rclpy makes a Python object of every part of a message, which is ten times the work. Where the
numbers lie depends only on the strings and lengths in it, which hardly ever change on a topic: see
`bags.cdr_layout`. So they are taken from there; and to write, a stamp and some blocks of numbers
are put into the bytes of a message that was serialized once.
"""

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.typestores import installed_types
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.model.signals import Signal
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.recording.mapped import CounterClock, MappedMessages, frame_of
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

_REMEMBERED = 8
"""Layouts of one topic, as of several publishers."""

_STAMP, _NATIVE, _LITTLE, _BIG = 4, *map(struct.Struct, ('=iI', '<iI', '>iI'))
"""Byte at which the stamp of a message with a header begins, after those that state the encoding,
and the stamp: in the order of this computer, and in those that the second byte tells apart."""

_AFTER_STAMP = _STAMP + _NATIVE.size

_TO = ' to '
"""Between two paths: all numbers from the one to the other, which follow each other."""

_IMU = (f'orientation{_TO}linear_acceleration',)

_OF_IMU = np.array([13, 14, 15, 25, 26, 27])
"""Among those numbers: angular velocity and linear acceleration; between are covariances."""

_ABSENT = -1.0
"""First number of an Imu's covariance where it has no such signal."""


class Sample(NamedTuple):
    """Numbers of a message with a header.

    Attributes:
        frame: its header's.
        values: of an Imu (6,) angular velocity [rad/s] and linear acceleration [m/s²]; of a
            WrenchStamped (6,) force [N] and moment [N·m]; of TwistStamped and AccelStamped (6,)
            linear and angular; of a point, pose or transform (3,) position [m]; of an Odometry
            (13,) position, quaternion x y z w, linear and angular velocity in the child's axes.
        orientation: (4,) x y z w; None if the message has none.
        child: of an Odometry, the frame whose pose it is.
    """

    frame: str
    values: Array
    orientation: Array | None = None
    child: str | None = None


class JointSample(NamedTuple):
    """A JointState.

    Attributes:
        names: of the joints.
        positions: [rad] or [m]; of another number than the names if the message is wrong.
        efforts: torques [N·m] or forces [N]; none if it has none.
    """

    names: tuple[str, ...]
    positions: Array
    efforts: Array


class KnownBytes:
    """Messages that equal an example in everything but their numbers."""

    def __init__(self, layout: CdrLayout) -> None:
        self._size, self._end = layout.size, layout.constants[-1][0] + len(layout.constants[-1][1])
        self._mask, self._constant = _as_numbers(layout.constants)

    def fits(self, raw: bytes) -> bool:
        """Whether the bytes of a message are such ones."""
        common = int.from_bytes(raw[: self._end], 'little') & self._mask
        return len(raw) == self._size and common == self._constant


def _as_numbers(parts: tuple[tuple[int, bytes], ...]) -> tuple[int, int]:
    """Bytes that all messages have in common as a mask, and their values in its places."""
    places = [(8 * begin, part) for begin, part in parts]
    mask = sum((1 << 8 * len(part)) - 1 << place for place, part in places)
    return mask, sum(int.from_bytes(part, 'little') << place for place, part in places)


def stamp_of_bytes(raw: bytes) -> int:
    """Stamp of a message with a header [ns]; 0 if it is too short to have one."""
    if len(raw) < _AFTER_STAMP:
        return 0
    seconds, rest = (_LITTLE if raw[1] else _BIG).unpack_from(raw, _STAMP)
    stamp: int = seconds * NANOSECONDS + rest
    return stamp


Read = Callable[[bytes], tuple[int, Any]]
"""Reads a message: its stamp [ns], and its sample."""


class MessageReader:
    """Reads the messages of one topic.

    Args:
        msgtype: e.g. 'sensor_msgs/msg/Imu'.
        prepare: makes what reads messages of a layout; it is also given the first one's bytes.
    """

    def __init__(self, msgtype: str, prepare: Callable[[CdrLayout, bytes], Read]) -> None:
        self._msgtype, self._prepare = msgtype, prepare
        self._types = installed_types(msgtype)
        self._known: list[tuple[KnownBytes, Read]] = []

    def __call__(self, raw: bytes) -> tuple[int, Any]:
        """Read a message: its stamp [ns], and its sample.

        Raises:
            BagError: these are not the bytes of such a message, or a sequence in it is too short.
        """
        for known, read in self._known:
            if known.fits(raw):
                return read(raw)
        layout = CdrLayout(self._types, self._msgtype, raw)
        entry = KnownBytes(layout), self._prepare(layout, raw)
        self._known = [entry, *self._known[: _REMEMBERED - 1]]
        return self(raw)


def _numbers(
    paths: tuple[str, ...],
    sample: Callable[[Any, list[Array]], Any],
    layout: CdrLayout,
    raw: bytes,
) -> Read:
    """Read the numbers of paths; an element of a sequence may be absent."""
    there = [path for path in paths if '[' not in path or path in layout.paths]
    places = [_place(layout, *path.split(_TO)) for path in there]
    native, strings = all(dtype.isnative for dtype, _, _ in places), layout.strings
    stamp = _LITTLE if raw[1] else _BIG

    def read(raw: bytes) -> tuple[int, Any]:
        seconds, nanoseconds = stamp.unpack_from(raw, _STAMP)
        numbers = [np.frombuffer(raw, *place) for place in places]
        if not native:
            numbers = [part.astype(np.float64) for part in numbers]
        return seconds * NANOSECONDS + nanoseconds, sample(strings, numbers)

    return read


def _place(layout: CdrLayout, first: str, last: str = '') -> tuple[Any, int, int]:
    """Type, count and offset of the numbers of a path, or from one path to another."""
    begin, end = layout.columns(first), layout.columns(last or first)
    apart = (end.offset - begin.offset) // begin.dtype.itemsize
    return begin.dtype, apart + end.shape[0], begin.offset


def _imu(strings: Any, numbers: list[Array]) -> Sample:
    orientation, covariance = numbers[0][:4], numbers[0][4]
    absent = covariance == _ABSENT or not any(orientation.tolist())
    values = numbers[0].take(_OF_IMU)
    return Sample(strings['header.frame_id'], values, None if absent else orientation)


def _pose(strings: Any, numbers: list[Array]) -> Sample:
    values = numbers[0]
    orientation = values[3:7] if len(values) > 3 else None
    return Sample(strings['header.frame_id'], values[:3], orientation)


def _six(strings: Any, numbers: list[Array]) -> Sample:
    return Sample(strings['header.frame_id'], numbers[0].copy())


def _odometry(strings: Any, numbers: list[Array]) -> Sample:
    values, child = np.concatenate(numbers), strings['child_frame_id']
    return Sample(strings['header.frame_id'], values, values[3:7], child)


def _trajectory(strings: Any, numbers: list[Array]) -> Array | None:
    """(3n,) positions, velocities and accelerations of the first point; None without one."""
    return np.concatenate(numbers) if numbers else None


_POINT = tuple(f'points[0].{part}' for part in ('positions', 'velocities', 'accelerations'))

_TRAJECTORY = 'trajectory_msgs/msg/JointTrajectory'

_READ = {
    'sensor_msgs/msg/Imu': (_IMU, _imu),
    'geometry_msgs/msg/WrenchStamped': (('wrench',), _six),
    'sensor_msgs/msg/JointState': (
        ('position', 'effort'), lambda strings, numbers: JointSample(strings['name'], *numbers)
    ),
    'geometry_msgs/msg/PointStamped': (('point',), _pose),
    'geometry_msgs/msg/PoseStamped': (('pose',), _pose),
    'geometry_msgs/msg/PoseWithCovarianceStamped': (('pose.pose',), _pose),
    'geometry_msgs/msg/TransformStamped': (('transform',), _pose),
    'geometry_msgs/msg/TwistStamped': (('twist',), _six),
    'geometry_msgs/msg/AccelStamped': (('accel',), _six),
    'nav_msgs/msg/Odometry': (('pose.pose', 'twist.twist'), _odometry),
    _TRAJECTORY: (_POINT, _trajectory),
}  # fmt: skip


def reader_of(msgtype: str) -> MessageReader | None:
    """Make a reader of messages of this type; None where the middleware reads them."""
    if msgtype not in _READ:
        return None
    return MessageReader(msgtype, partial(_numbers, *_READ[msgtype]))


_AFTER_JOINTS = 12
"""Bytes after the accelerations: the number of efforts, which is zero, and time_from_start.

The middleware adds further ones, with any content, which strict readers of a bag refuse.
"""


class Template:
    """Writes messages of a class whose last fields are all numbers of 8 bytes.

    Args:
        msgtype: class of the messages, with a header or without.
        constants: values of other fields than header and numbers, e.g. child_frame_id.
    """

    def __init__(self, msgtype: Any, **constants: Any) -> None:
        self._msgtype, self._constants = msgtype, constants
        self._parts: dict[str, tuple[bytes, bytes]] = {}

    def write(self, stamp: int, frame: str, *numbers: Array) -> bytes:
        """Write a message.

        Args:
            stamp: [ns].
            frame: of its header.
            numbers: float64 arrays that follow each other in the message and end it.
        """
        if frame not in self._parts:
            self._parts[frame] = self._split(frame, 8 * sum(part.size for part in numbers))
        begin, middle = self._parts[frame]
        time = _NATIVE.pack(*divmod(stamp, NANOSECONDS)) if middle else b''
        return b''.join((begin, time, middle, *(part.tobytes() for part in numbers)))

    def _split(self, frame: str, size: int) -> tuple[bytes, bytes]:
        """Give what stands before and after the stamp of a message; nothing is after none."""
        message = self._msgtype(**self._constants)
        if not hasattr(message, 'header'):
            return serialize_message(message)[:-size], b''
        message.header.frame_id = frame
        raw = serialize_message(message)
        return raw[:_STAMP], raw[_AFTER_STAMP:-size]


class JointTemplate:
    """Writes the joint kinematics of an instant as a JointTrajectory with one point."""

    def __init__(self, names: Sequence[str]) -> None:
        zero = [0.0] * len(names)
        point = JointTrajectoryPoint(positions=zero, velocities=zero, accelerations=zero)
        message = JointTrajectory(joint_names=list(names))
        self._without = serialize_message(message)
        message.points = [point]
        raw = serialize_message(message)
        layout = CdrLayout(installed_types(_TRAJECTORY), _TRAJECTORY, raw)
        begins = [layout.columns(path).offset for path in _POINT]
        self._places = [slice(begin, begin + 8 * len(names)) for begin in begins]
        self._with = raw[: self._places[-1].stop + _AFTER_JOINTS]

    def write(self, stamp: int, joints: JointKinematics, row: int) -> bytes:
        """Write the instant in one row, at `stamp` [ns]; no point if it cannot be trusted."""
        raw = bytearray(self._with if joints.valid[row] else self._without)
        _NATIVE.pack_into(raw, _STAMP, *divmod(stamp, NANOSECONDS))
        if joints.valid[row]:
            parts = joints.positions, joints.velocities, joints.accelerations
            for place, part in zip(self._places, parts, strict=True):
                raw[place] = part[row].tobytes()
        return bytes(raw)


class MappedReader(MessageReader):
    """Reads the messages of one signal, whose fields are mapped.

    Args:
        received: when the message that is read was received [ns].
        clocks: topic → counter that dates its messages.

    Attributes:
        has_header_stamp: whether a header begins the messages, and its stamp dates them.

    Raises:
        ReplayError: the package of the type is not installed, or the mapping does not fit it.
    """

    def __init__(
        self, signal: Signal, received: Callable[[], int], clocks: dict[str, CounterClock]
    ) -> None:
        (msgtype,) = signal.types
        message_class(msgtype)
        super().__init__(msgtype, self._taker)
        self._messages = MappedMessages(signal, self._types, clocks)
        self._received = received
        first = [name for name, _ in self._types.fielddefs[msgtype][1][:1]]
        clock = signal.mapping.clock.path if signal.mapping else ''
        self.has_header_stamp = (clock, first) == ('header.stamp', ['header'])

    def _taker(self, layout: CdrLayout, raw: bytes) -> Read:
        messages, received, frame = self._messages, self._received, frame_of(layout)
        take, names = messages.single_taker(layout), messages.names
        positions = slice(len(names))

        def joints(values: Array) -> JointSample:
            return JointSample(names, values[positions], messages.efforts(values))

        def foot(values: Array) -> Sample:
            return Sample(frame, messages.wrenches(values))

        def imu(values: Array) -> Sample:
            orientation = messages.orientations(values)
            absent = orientation is None or not any(orientation.tolist())
            return Sample(frame, values[:6], None if absent else orientation)

        sample = joints if names else foot if messages.of_foot else imu

        def read(raw: bytes) -> tuple[int, Any]:
            given = take(raw)
            values = messages.scaled(given)
            messages.require_mode(values)
            return messages.stamp(given, received()), sample(values)

        return read
