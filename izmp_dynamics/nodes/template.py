"""Messages written as bytes: a stamp, a frame, and numbers at the end.

rclpy makes a Python object of every part of a message and converts it; here two numbers and a
block are put into the bytes of a message that was converted once.
"""

import struct
from typing import Any

from rclpy.serialization import serialize_message

from izmp_dynamics.conventions import NANOSECONDS, Array

_TIME = struct.Struct('=iI')

_ENCAPSULATION = 4
"""Bytes before the message itself, which begins with the stamp if it has a header."""


class Template:
    """Writes messages of a class whose last fields are all numbers of 8 bytes.

    Args:
        msgtype: class of the messages, with a header or without.
    """

    def __init__(self, msgtype: Any) -> None:
        self._msgtype = msgtype
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
        message = self._msgtype()
        if not hasattr(message, 'header'):
            return serialize_message(message)[:-size], b''
        message.header.frame_id = frame
        raw = serialize_message(message)
        return raw[:_ENCAPSULATION], raw[_ENCAPSULATION + _TIME.size : -size]
