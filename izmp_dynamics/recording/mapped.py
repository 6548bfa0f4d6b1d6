"""Messages of any type as joint states or IMU, by the fields that the robot file names."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import Decoded, Group
from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.fields import FieldNumbers, is_time
from izmp_dynamics.bags.messages import Flags, ImuBatch, JointStateBatch
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import BagError, ReplayError
from izmp_dynamics.model.field_map import RECEIVED, FieldMap
from izmp_dynamics.model.signals import Signal
from izmp_dynamics.signals.counter_clock import CounterClock

CLOCK = 'clock'
_XYZW, _WXYZ = [1, 2, 3, 0], [3, 0, 1, 2]  # in the other order
_MOST_LAYOUTS = 64

Taken = tuple[Callable[[Any], Array], ...]

_Stamped = tuple[Stamps, Stamps, tuple[str, ...], int, str | None]
"""The attributes of `bags.messages.Stamped`, in their order."""


class MappedMessages:
    """Reads the messages of one signal.

    Args:
        signal: it has a mapping.
        typestore: rosbags typestore that knows its type.

    Raises:
        ReplayError: the type has no such fields, or not so many; the message says what is valid.
    """

    def __init__(self, signal: Signal, typestore: Any) -> None:
        assert signal.mapping is not None
        self._map: FieldMap = signal.mapping
        self._key = signal.key
        self._numbers: dict[str, FieldNumbers] = {}
        for key, terms in self._map.fields.items():
            self._numbers[key] = self._find(typestore, key, terms)
            self._check_width(key)
        self._counter = self._clock(typestore)
        self._taken: dict[CdrLayout, Taken] = {}

    def _find(self, typestore: Any, key: str, terms: Sequence[Any]) -> FieldNumbers:
        try:
            return FieldNumbers(typestore, self._map.type, terms)
        except BagError as error:
            raise ReplayError(
                f'{self._key}.{key}: {error}', kind=error.kind, key=f'{self._key}.{key}'
            ) from error

    def _check_width(self, key: str) -> None:
        width, wanted = self._numbers[key].width, self._map.widths[key]
        if width != wanted:
            what = f'{self._key}.names has {wanted} joints' if self._map.names else (
                f'{key.replace("_", " ")} has {wanted}'
            )  # fmt: skip
            raise ReplayError(
                f'{self._key}.{key} gives {width} numbers, but {what}.',
                kind='wrong_width', key=f'{self._key}.{key}', width=width, valid=wanted,
            )  # fmt: skip

    def _clock(self, typestore: Any) -> CounterClock | None:
        """The counter that dates messages, if it is one."""
        term = self._map.clock
        if term.path == RECEIVED or is_time(typestore, self._map.type, term.path):
            return None
        valid = (
            'valid: a field that is a time (header.stamp), a counter times its unit in seconds '
            f'(tick * 0.001), or {RECEIVED}, the time of recording'
        )
        try:
            numbers = FieldNumbers(typestore, self._map.type, [term._replace(scale=None)])
        except BagError as error:
            raise ReplayError(
                f"{self._key}.clock is '{term.path}': {str(error).rstrip('.')}; {valid}.",
                kind=error.kind, key=f'{self._key}.clock',
            ) from error  # fmt: skip
        if numbers.width != 1 or not term.scale or term.scale < 0.0:
            raise ReplayError(
                f"{self._key}.clock: '{term.path}' is no time, and no unit is stated; {valid}.",
                kind='no_unit', key=f'{self._key}.clock',
            )  # fmt: skip
        self._numbers[CLOCK] = numbers
        return CounterClock(term.scale, numbers.bits)

    def read(self, messages: RawMessages, joint_names: Sequence[str]) -> Any:
        """Read messages: a `JointStateBatch` with these joints, or an `ImuBatch`."""
        decoded, parts = self._parts(messages.decode())
        values = {
            key: decoded.merged([part[k] for part in parts], key) if parts else
            np.zeros((0, numbers.width))
            for k, (key, numbers) in enumerate(self._numbers.items())
        }  # fmt: skip
        received = messages.received[decoded.index]
        frames = (group.layout.strings.get('header.frame_id', '') for group in decoded.groups)
        stamped = (
            self._stamps(decoded, values, received),
            received,
            tuple(sorted({str(frame) for frame in frames} - {''})),
            decoded.broken,
            decoded.fault,
        )
        if self._map.names:
            return self._joints(stamped, values['positions'], joint_names)
        return self._imu(stamped, values)

    def _parts(self, decoded: Decoded) -> tuple[Decoded, list[list[Array]]]:
        """Numbers of each group; messages whose sequences are too short count as broken."""
        groups: list[Group] = []
        parts, broken, fault = [], decoded.broken, decoded.fault
        for group in decoded.groups:
            try:
                take = self._take(group.layout)
            except BagError as error:
                broken, fault = broken + len(group), fault or str(error)
            else:
                groups.append(group)
                parts.append([numbers(group.fields.rows) for numbers in take])
        return Decoded.of(groups, broken, fault), parts

    def _take(self, layout: CdrLayout) -> Taken:
        if layout not in self._taken:
            if len(self._taken) == _MOST_LAYOUTS:
                self._taken.clear()
            self._taken[layout] = tuple(each.take(layout) for each in self._numbers.values())
        return self._taken[layout]

    def _stamps(self, decoded: Decoded, values: Mapping[str, Array], received: Stamps) -> Stamps:
        if self._counter is not None:
            return self._counter.stamps(values[CLOCK][:, 0], received)
        path = self._map.clock.path
        return received if path == RECEIVED else decoded.column(path).astype(np.int64)

    def _joints(self, stamped: _Stamped, values: Array, wanted: Sequence[str]) -> JointStateBatch:
        names = self._map.names
        place = {name: column for column, name in enumerate(names)}
        known = np.array([name in place for name in wanted], np.bool_)
        positions = np.full((len(values), len(wanted)), np.nan)
        positions[:, known] = values[:, [place[name] for name in wanted if name in place]]
        absent = tuple(name for name in wanted if name not in place)
        others = tuple(name for name in names if name not in wanted)
        present = np.tile(known, (len(values), 1))
        return JointStateBatch(*stamped, tuple(wanted), positions, present, absent, others)

    def _imu(self, stamped: _Stamped, values: Mapping[str, Array]) -> ImuBatch:
        force = values['linear_acceleration']
        orientations = values.get('orientation', np.zeros((len(force), 4)))
        if self._map.order == 'wxyz':
            orientations = orientations[:, _XYZW]
        known: Flags = np.asarray(orientations.any(axis=1))
        return ImuBatch(*stamped, orientations, known, values['angular_velocity'], force)


def other_order(orientations: Array, order: str) -> Array:
    """(T, 4) quaternions x y z w that were read in one order as those of the other one."""
    return orientations[:, _WXYZ if order == 'wxyz' else _XYZW]
