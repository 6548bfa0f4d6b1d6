"""Messages written as bytes: a stamp, a frame, and numbers.

rclpy makes a Python object of every part of a message and converts it; here two numbers and some
blocks are put into the bytes of a message that was converted once.
"""

import struct
from collections.abc import Sequence
from typing import Any

from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

_TIME = struct.Struct('=iI')

_AFTER_JOINTS = 12
"""Bytes after the accelerations: the number of efforts, which is zero, and time_from_start.

The middleware adds further ones, with any content, which strict readers of a bag refuse.
"""

_ENCAPSULATION = 4
"""Bytes before the message itself, which begins with the stamp if it has a header."""


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
        time = _TIME.pack(*divmod(stamp, NANOSECONDS)) if middle else b''
        return b''.join((begin, time, middle, *(part.tobytes() for part in numbers)))

    def _split(self, frame: str, size: int) -> tuple[bytes, bytes]:
        """Give what stands before and after the stamp of a message; nothing is after none."""
        message = self._msgtype(**self._constants)
        if not hasattr(message, 'header'):
            return serialize_message(message)[:-size], b''
        message.header.frame_id = frame
        raw = serialize_message(message)
        return raw[:_ENCAPSULATION], _after_stamp(raw)[:-size]


class JointTemplate:
    """Writes the joint kinematics of an instant as a JointTrajectory with one point.

    Args:
        names: of the joints.
    """

    def __init__(self, names: Sequence[str]) -> None:
        zero = [0.0] * len(names)
        point = JointTrajectoryPoint(positions=zero, velocities=zero, accelerations=zero)
        message = JointTrajectory(joint_names=list(names))
        self._without = _after_stamp(serialize_message(message))
        message.points = [point]
        raw = serialize_message(message)
        layout = CdrLayout(standard_types(), 'trajectory_msgs/msg/JointTrajectory', raw)
        begins = [
            layout.columns(f'points[0].{part}').offset
            for part in ('positions', 'velocities', 'accelerations')
        ]
        ends = [begin + 8 * len(names) for begin in begins]
        first, self._second, self._third, self._end = (
            raw[end:begin]
            for end, begin in zip([0, *ends], [*begins, ends[-1] + _AFTER_JOINTS], strict=True)
        )
        self._begin, self._first = raw[:_ENCAPSULATION], _after_stamp(first)

    def write(self, stamp: int, joints: JointKinematics, row: int) -> bytes:
        """Write the instant in one row, at `stamp` [ns]; no point if it cannot be trusted."""
        time = _TIME.pack(*divmod(stamp, NANOSECONDS))
        if not joints.valid[row]:
            return b''.join((self._begin, time, self._without))
        positions, velocities, accelerations = (
            part[row].tobytes()
            for part in (joints.positions, joints.velocities, joints.accelerations)
        )
        return b''.join(
            (
                *(self._begin, time, self._first, positions, self._second, velocities),
                *(self._third, accelerations, self._end),
            )
        )


def _after_stamp(raw: bytes) -> bytes:
    return raw[_ENCAPSULATION + _TIME.size :]
