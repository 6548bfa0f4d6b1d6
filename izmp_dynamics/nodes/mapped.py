"""Messages of any type, read from their bytes as the robot file maps their fields."""

from collections.abc import Callable
from typing import Any

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.typestores import installed_types
from izmp_dynamics.model.signals import Signal
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.nodes.wire import ImuSample, JointSample, KnownBytes, WrenchSample
from izmp_dynamics.recording.mapped import CounterClock, MappedMessages, frame_of

_REMEMBERED, _STAMP = 8, 'header.stamp'


class MappedReader:
    """Reads the messages of one signal, as `wire.MessageReader` does those of standard types.

    Args:
        signal: it has a mapping.
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
        (self._msgtype,) = signal.types
        message_class(self._msgtype)
        self._types = installed_types(self._msgtype)
        self._messages = MappedMessages(signal, self._types, clocks)
        self._received = received
        self._known: list[tuple[KnownBytes, Any, str]] = []
        first = self._types.fielddefs[self._msgtype][1][:1]
        clock = signal.mapping.clock.path if signal.mapping else ''
        self.has_header_stamp = (clock, [name for name, _ in first]) == (_STAMP, ['header'])

    def __call__(self, raw: bytes) -> tuple[int, Any]:
        """Read a message: its stamp [ns], and its sample.

        Raises:
            BagError: these are not the bytes of such a message, or a sequence in it is too short.
        """
        for known, take, frame in self._known:
            if known.fits(raw):
                return self._sample(take(raw), frame)
        layout = CdrLayout(self._types, self._msgtype, raw)
        entry = KnownBytes(layout), self._messages.single_taker(layout), frame_of(layout)
        self._known = [entry, *self._known[: _REMEMBERED - 1]]
        return self(raw)

    def _sample(self, given: tuple[float, ...], frame: str) -> tuple[int, Any]:
        stamp = self._messages.stamp(given, self._received())
        values = self._messages.scaled(given)
        names = self._messages.names
        if names:
            self._messages.require_mode(values)
            return stamp, JointSample(names, values[: len(names)])
        if self._messages.of_foot:
            return stamp, WrenchSample(frame, self._messages.wrenches(values))
        orientation = self._messages.orientations(values)
        absent = orientation is None or not any(orientation.tolist())
        return stamp, ImuSample(frame, values[:6], None if absent else orientation)
