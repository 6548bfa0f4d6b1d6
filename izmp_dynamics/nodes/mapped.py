"""Messages of any type, read from their bytes as the robot file maps their fields."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.model.signals import Signal
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.nodes.wire import ImuSample, JointSample, KnownBytes
from izmp_dynamics.recording.mapped import MappedMessages, frame_of
from izmp_dynamics.signals.counter_clock import CounterClock

_REMEMBERED = 8
_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4  # as rosbags describes fields
_NUMBERS = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
_ARRAYS = re.compile(r'sequence<(.+?)(?:, \d+)?>|(.+)\[(\d+)\]')


class MappedReader:
    """Reads the messages of one signal, as `wire.MessageReader` does those of standard types.

    Args:
        signal: it has a mapping.
        received: when the message that is read was received [ns].
        clocks: topic → counter that dates its messages.

    Raises:
        ReplayError: the package of the type is not installed, or the mapping does not fit it.
    """

    def __init__(
        self, signal: Signal, received: Callable[[], int], clocks: dict[str, CounterClock]
    ) -> None:
        (self._msgtype,) = signal.types
        self._types = SimpleNamespace(fielddefs={})
        _describe(self._msgtype, self._types.fielddefs)
        self._messages = MappedMessages(signal, self._types, clocks)
        self._received = received
        self._known: list[tuple[KnownBytes, Any, str]] = []

    def __call__(self, raw: bytes) -> tuple[int, Any]:
        """Read a message: its stamp [ns], and its sample.

        Raises:
            BagError: these are not the bytes of such a message, or a sequence in it is too short.
        """
        for known, take, frame in self._known:
            if known.fits(raw):
                return self._sample(take(raw, 1)[0], frame)
        layout = CdrLayout(self._types, self._msgtype, raw)
        entry = KnownBytes(layout), self._messages.taker(layout), frame_of(layout)
        self._known = [entry, *self._known[: _REMEMBERED - 1]]
        return self(raw)

    def _sample(self, values: Array, frame: str) -> tuple[int, Any]:
        stamp = self._messages.stamp(values, self._received())
        names = self._messages.names
        if names:
            return stamp, JointSample(names, values[: len(names)])
        orientation = self._messages.orientations(values)
        absent = orientation is None or not any(orientation.tolist())
        return stamp, ImuSample(frame, values[:6], None if absent else orientation)


def _describe(msgtype: str, found: dict[str, Any]) -> None:
    """Add the fields of an installed type, and of those in it, as rosbags describes them."""
    if msgtype in found:
        return
    try:
        fields = message_class(msgtype).get_fields_and_field_types()
    except ReplayError as error:
        raise ReplayError(
            f'{error} Install the package {msgtype.partition("/")[0]} and source its workspace.',
            kind=error.kind, **error.data,
        ) from error  # fmt: skip
    found[msgtype] = [], [(name, _described(text, found)) for name, text in fields.items()]


def _described(text: str, found: dict[str, Any]) -> Any:
    if array := _ARRAYS.fullmatch(text):
        sequence, fixed, count = array.groups()
        element = _described(sequence or fixed, found)
        return (_ARRAY if fixed else _SEQUENCE), (element, int(count or 0))
    if '/' in text:
        name = text.replace('/', '/msg/')
        _describe(name, found)
        return _NAME, name
    base = text.partition('<')[0]  # string<10>
    return _BASE, (_NUMBERS.get(base, base), 0)
