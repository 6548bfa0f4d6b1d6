"""ROS messages ↔ arrays; the only place where their fields are named."""

import importlib
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import (
    Point,
    Point32,
    PolygonStamped,
    Quaternion,
    TransformStamped,
    Vector3,
)
from std_msgs.msg import Header

from izmp_dynamics.base.conventions import NANOSECONDS, Array, all_finite
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.rotations import matrices_from_quaternions, quaternion_of_matrix


def message_class(msgtype: str) -> Any:
    """Import the class of a type, e.g. 'sensor_msgs/msg/Imu'.

    Raises:
        ReplayError: if its package is not installed.
    """
    package, _, name = msgtype.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise ReplayError(
            f'The message type {msgtype} is not installed here: install the package {package} and '
            'source its workspace.',
            kind='unknown_message_type', msgtype=msgtype,
        ) from error  # fmt: skip


def stamp_of(message: Any) -> int:
    """Stamp of a message with a header [ns]."""
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def header(stamp: int, frame: str) -> Header:
    """Header with a stamp [ns] and a frame."""
    return Header(stamp=time_of(stamp), frame_id=frame)


def time_of(stamp: int) -> Time:
    """Time of a stamp [ns]."""
    sec, nanosec = divmod(stamp, NANOSECONDS)
    return Time(sec=sec, nanosec=nanosec)


def vector(value: Any) -> Array:
    """(3,) of a Vector3 or Point."""
    return np.array([value.x, value.y, value.z])


def quaternion(value: Any) -> Array:
    """(4,) x, y, z, w of a Quaternion."""
    return np.array([value.x, value.y, value.z, value.w])


class JointReader:
    """Brings the joints of JointState messages into the order of the model.

    Args:
        names: joints of the model.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._columns: dict[tuple[str, ...], tuple[Any, Any]] = {}

    def read(self, names: tuple[str, ...], given: Array) -> Array | Fault | None:
        """Positions (n,) as the pipeline takes them; or what is wrong with the message.

        NaN where the message lacks a joint, infinity where its value is no number; None if it
        names no joint of the model.
        """
        if names == self.names and len(given) == len(names) and all_finite(given):
            return given
        if len(given) != len(names):
            wrong = f'{len(given)} positions for {len(names)} joints'
            return Fault(Reason.UNREADABLE, wrong)
        if names not in self._columns:
            if len(set(names)) < len(names):
                return Fault(Reason.UNREADABLE, 'a joint is named twice')
            known = [name for name in names if name in self.names]
            self._columns[names] = (
                np.array([self.names.index(name) for name in known], dtype=np.intp),
                np.array([names.index(name) for name in known], dtype=np.intp),
            )
        columns, places = self._columns[names]
        if not len(columns):
            return None
        positions = np.full(len(self.names), np.nan)
        positions[columns] = given[places]
        if not all_finite(given):
            positions[columns] = np.where(np.isfinite(positions[columns]), given[places], np.inf)
        return positions


def vector3(values: Array) -> Vector3:
    """Vector3 of (3,)."""
    x, y, z = values.tolist()
    return Vector3(x=x, y=y, z=z)


def point(values: Array) -> Point:
    """Point of (3,)."""
    x, y, z = values.tolist()
    return Point(x=x, y=y, z=z)


def quaternion_of(values: Array) -> Quaternion:
    """Quaternion of (4,) x, y, z, w."""
    x, y, z, w = values.tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def polygon_stamped(stamp: int, frame: str, corners: Array) -> PolygonStamped:
    """Polygon with the corners (C, 3) [m]."""
    message = PolygonStamped(header=header(stamp, frame))
    message.polygon.points = [Point32(x=x, y=y, z=z) for x, y, z in corners.tolist()]
    return message


def rotation_matrix(quaternion_xyzw: Array) -> Array:
    """Convert a quaternion (4,), not zero, to its rotation matrix (3, 3)."""
    R: Array = matrices_from_quaternions(np.ascontiguousarray(quaternion_xyzw[None]))[0]
    return R


def transform_stamped(stamp: int, parent: str, child: str, R: Array, p: Array) -> TransformStamped:
    """Pose of `child` in `parent`."""
    message = TransformStamped(header=header(stamp, parent), child_frame_id=child)
    message.transform.translation = vector3(p)
    message.transform.rotation = quaternion_of(np.asarray(quaternion_of_matrix(R)))
    return message
