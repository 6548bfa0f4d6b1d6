"""Messages read from their bytes, as the bag reader does: a tenth of the work.

rclpy makes a Python object of every part of a message. Where the numbers lie depends only on the
strings and lengths in it, which hardly ever change on a topic: see `bags.cdr_layout`.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    TransformStamped,
    TwistStamped,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.conventions import NANOSECONDS, Array

_REMEMBERED = 8
"""Layouts of one topic, as of several publishers."""

_STAMP = 4
"""Byte at which the stamp of a message with a header begins."""

_TO = ' to '
"""Between two paths: all numbers from the one to the other, which follow each other."""

_IMU = (f'orientation{_TO}linear_acceleration',)

_OF_IMU = np.array([13, 14, 15, 25, 26, 27])
"""Among those numbers: angular velocity and linear acceleration; between are covariances."""

_ABSENT = -1.0
"""First number of an Imu's covariance where it has no such signal."""


class ImuSample(NamedTuple):
    """An Imu.

    Attributes:
        frame: its header's.
        values: (6,) angular velocity [rad/s] and linear acceleration [m/s²], in sensor axes.
        orientation: (4,) x y z w; None if the message states that there is none.
    """

    frame: str
    values: Array
    orientation: Array | None


class WrenchSample(NamedTuple):
    """A WrenchStamped.

    Attributes:
        frame: its header's.
        values: (6,) force [N] and moment [N·m].
    """

    frame: str
    values: Array


class JointSample(NamedTuple):
    """A JointState.

    Attributes:
        names: of the joints.
        positions: [rad] or [m]; of another number than the names if the message is wrong.
    """

    names: tuple[str, ...]
    positions: Array


class PoseSample(NamedTuple):
    """A point, pose or transform.

    Attributes:
        frame: its header's.
        position: (3,) [m].
        orientation: (4,) x y z w; None for a point.
    """

    frame: str
    position: Array
    orientation: Array | None


class MotionSample(NamedTuple):
    """A TwistStamped or AccelStamped.

    Attributes:
        frame: its header's.
        values: (6,) linear and angular.
    """

    frame: str
    values: Array


class OdometrySample(NamedTuple):
    """An Odometry.

    Attributes:
        frame: its header's.
        child: the frame whose pose it is.
        values: (13,) position, quaternion x y z w, linear and angular velocity in its axes.
    """

    frame: str
    child: str
    values: Array


class TrajectorySample(NamedTuple):
    """A JointTrajectory.

    Attributes:
        names: of the joints.
        point: positions, velocities and accelerations of its first point; None without a point.
    """

    names: tuple[str, ...]
    point: tuple[Array, Array, Array] | None


class _Layout:
    """Where the wanted numbers of equal messages lie; an element of a sequence may be absent."""

    def __init__(self, msgtype: str, paths: tuple[str, ...], raw: bytes) -> None:
        layout = CdrLayout(standard_types(), msgtype, raw)
        self.strings = layout.strings
        self._size, self._end = layout.size, layout.constants[-1][0] + len(layout.constants[-1][1])
        self._mask, self._constant = _as_numbers(layout.constants)
        self._stamp = struct.Struct('<iI' if raw[1] else '>iI')
        there = [path for path in paths if '[' not in path or path in layout.paths]
        self._places = tuple(_place(layout, *path.split(_TO)) for path in there)
        self._native = all(dtype.isnative for dtype, _, _ in self._places)

    def read(self, raw: bytes) -> tuple[int, list[Array]] | None:
        """Stamp of a message [ns] and the wanted numbers, path by path; None: another layout."""
        common = int.from_bytes(raw[: self._end], 'little') & self._mask
        if len(raw) != self._size or common != self._constant:
            return None
        seconds, nanoseconds = self._stamp.unpack_from(raw, _STAMP)
        numbers = []
        for dtype, count, offset in self._places:
            numbers.append(np.frombuffer(raw, dtype, count, offset))
        if not self._native:
            numbers = [part.astype(np.float64) for part in numbers]
        return seconds * NANOSECONDS + nanoseconds, numbers


def _place(layout: CdrLayout, first: str, last: str = '') -> tuple[Any, int, int]:
    """Type, count and offset of the numbers of a path, or from one path to another."""
    begin, end = layout.columns(first), layout.columns(last or first)
    apart = (end.offset - begin.offset) // begin.dtype.itemsize
    return begin.dtype, apart + end.shape[0], begin.offset


def _as_numbers(parts: tuple[tuple[int, bytes], ...]) -> tuple[int, int]:
    """Bytes that all messages have in common as a mask, and their values in its places."""
    places = [(8 * begin, part) for begin, part in parts]
    mask = sum((1 << 8 * len(part)) - 1 << place for place, part in places)
    return mask, sum(int.from_bytes(part, 'little') << place for place, part in places)


class MessageReader:
    """Reads the messages of one topic.

    Args:
        msgtype: e.g. 'sensor_msgs/msg/Imu'.
        paths: of the numbers that are wanted, as in `CdrLayout`.
        sample: makes the sample of the layout's strings and the numbers.
    """

    def __init__(
        self, msgtype: str, paths: tuple[str, ...], sample: Callable[[Any, list[Array]], Any]
    ) -> None:
        self._msgtype, self._paths, self._sample = msgtype, paths, sample
        self._layouts: list[_Layout] = []

    def __call__(self, raw: bytes) -> tuple[int, Any]:
        """Read a message: its stamp [ns], and its sample.

        Raises:
            BagError: if these are not the bytes of such a message.
        """
        for layout in self._layouts:
            found = layout.read(raw)
            if found is not None:
                return found[0], self._sample(layout.strings, found[1])
        layout = _Layout(self._msgtype, self._paths, raw)
        self._layouts = [layout, *self._layouts[: _REMEMBERED - 1]]
        return self(raw)


def _imu(strings: Any, numbers: list[Array]) -> ImuSample:
    orientation, covariance = numbers[0][:4], numbers[0][4]
    absent = covariance == _ABSENT or not any(orientation.tolist())
    values = numbers[0].take(_OF_IMU)
    return ImuSample(strings['header.frame_id'], values, None if absent else orientation)


def _wrench(strings: Any, numbers: list[Array]) -> WrenchSample:
    return WrenchSample(strings['header.frame_id'], numbers[0])


def _joints(strings: Any, numbers: list[Array]) -> JointSample:
    return JointSample(strings['name'], numbers[0])


def _pose(strings: Any, numbers: list[Array]) -> PoseSample:
    values = numbers[0]
    orientation = values[3:7] if len(values) > 3 else None
    return PoseSample(strings['header.frame_id'], values[:3], orientation)


def _motion(strings: Any, numbers: list[Array]) -> MotionSample:
    return MotionSample(strings['header.frame_id'], numbers[0].copy())


def _odometry(strings: Any, numbers: list[Array]) -> OdometrySample:
    values = np.concatenate(numbers)
    return OdometrySample(strings['header.frame_id'], strings['child_frame_id'], values)


def _trajectory(strings: Any, numbers: list[Array]) -> TrajectorySample:
    point = (numbers[0], numbers[1], numbers[2]) if numbers else None
    return TrajectorySample(strings['joint_names'], point)


_POINT = tuple(f'points[0].{part}' for part in ('positions', 'velocities', 'accelerations'))

_READ = {
    Imu: ('sensor_msgs/msg/Imu', _IMU, _imu),
    WrenchStamped: ('geometry_msgs/msg/WrenchStamped', ('wrench',), _wrench),
    JointState: ('sensor_msgs/msg/JointState', ('position',), _joints),
    PointStamped: ('geometry_msgs/msg/PointStamped', ('point',), _pose),
    PoseStamped: ('geometry_msgs/msg/PoseStamped', ('pose',), _pose),
    PoseWithCovarianceStamped: (
        'geometry_msgs/msg/PoseWithCovarianceStamped', ('pose.pose',), _pose,
    ),
    TransformStamped: ('geometry_msgs/msg/TransformStamped', ('transform',), _pose),
    TwistStamped: ('geometry_msgs/msg/TwistStamped', ('twist',), _motion),
    AccelStamped: ('geometry_msgs/msg/AccelStamped', ('accel',), _motion),
    Odometry: ('nav_msgs/msg/Odometry', ('pose.pose', 'twist.twist'), _odometry),
    JointTrajectory: ('trajectory_msgs/msg/JointTrajectory', _POINT, _trajectory),
}  # fmt: skip


def reader_of(msgtype: Any) -> MessageReader | None:
    """Make a reader of messages of this class; None where the middleware reads them."""
    return MessageReader(*_READ[msgtype]) if msgtype in _READ else None
