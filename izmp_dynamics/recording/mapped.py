"""Messages of any type as joints, IMU or load of a foot, by the fields that a robot file names."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import Decoded, Group
from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.bags.fields import FieldNumbers, is_time
from izmp_dynamics.bags.messages import (
    Flags,
    ImuBatch,
    JointStateBatch,
    StampedValues,
    WrenchBatch,
    efforts_in_columns,
    in_columns,
)
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import BagError, ReplayError
from izmp_dynamics.base.field_path import Term, parse
from izmp_dynamics.model.signals import RECEIVED, FieldMap, Signal

BACK = round(0.1 * NANOSECONDS)
"""A counter that goes back by more has restarted: no message is so much out of order [ns]."""

AHEAD = 1 * NANOSECONDS
"""So has one that advances by so much more than the time of arrival [ns]."""

BEHIND = 10 * NANOSECONDS
"""And one that advances by so much less, which messages that are held up do as well [ns]."""


MOST = 2.0**62
"""Larger counts are no times [ns]."""


class CounterClock:
    """Dates the messages of one topic by a counter in them, such as Unitree's `tick`.

    The first message is dated by its arrival, every further one by what the counter has advanced,
    whatever the length of the pieces. A counter that wraps goes on; one that restarts, with its
    robot, goes on by the time of arrival.

    Args:
        unit: time that the counter advances by one in [s].
        bits: of the counter; None: it does not wrap.
    """

    def __init__(self, unit: float, bits: int | None = None) -> None:
        self._unit = unit * NANOSECONDS
        wrap = 0.0 if bits is None else 2.0**bits * self._unit
        self._wrap = round(wrap) if wrap < MOST else 0
        self._last: tuple[int, int, int] | None = None  # counted, received, stamp [ns]
        self._rates: list[float] = []

    @property
    def rate(self) -> float:
        """Time that it counts in a second of arrival [-]; NaN of less than a second."""
        return float(np.median(self._rates)) if self._rates else float('nan')

    def stamps(self, counts: Array, received: Stamps) -> Stamps:
        """Date messages, in the order of arrival.

        Args:
            counts: (T,) of the messages.
            received: (T,) when they arrived [ns].

        Returns:
            (T,) [ns].
        """
        steps, waited = self._unit * np.diff(counts), np.diff(received)
        ahead = steps >= 0.0  # neither wrapped nor restarted
        if (passed := float(waited[ahead].sum())) > NANOSECONDS:
            self._rates.append(float(steps[ahead].sum()) / passed)
        pairs = zip(counts.tolist(), received.tolist(), strict=True)
        return np.array([self.stamp(*pair) for pair in pairs], dtype=np.int64)

    def stamp(self, count: float, received: int) -> int:
        """Date one message, as `stamps` does."""
        scaled = count * self._unit
        counted = round(scaled) if abs(scaled) < MOST else 0  # which NaN is not
        if self._last is None:
            self._last = counted, received, received
        step, waited = counted - self._last[0], received - self._last[1]
        if self._wrap:
            step += self._wrap * round((waited - step) / self._wrap)
        if step < -BACK or step - waited > AHEAD or waited - step > BEHIND:
            step = waited
        self._last = counted, received, self._last[2] + step
        return self._last[2]


_XYZW, _WXYZ = [1, 2, 3, 0], [3, 0, 1, 2]  # in the other order
_VERSION = 'names_version'
"""Field of messages whose values are named in another topic, as those of pal_statistics are."""


class MappedMessages:
    """Reads the messages of one signal.

    Args:
        typestore: rosbags typestore that knows its type, or something with its `fielddefs`.
        clocks: topic → counter that dates its messages; signals on one topic may share it.

    Attributes:
        names: of the joints whose positions they are; none of others.
        is_flag: whether they say no more of a foot than that it carries load.

    Raises:
        ReplayError: the type has no such fields, or not so many; the message says what is valid.
    """

    def __init__(
        self, signal: Signal, typestore: Any, clocks: dict[str, CounterClock] | None = None
    ) -> None:
        assert signal.mapping is not None
        self._map: FieldMap = signal.mapping
        self.names = self._map.names
        self.is_flag = bool(self._map.loaded) or self._map.above is not None
        self.of_foot = signal.kind == 'feet'
        self._key = signal.shown_key
        self._places: dict[str, slice] = {}
        terms: list[Term] = []
        width = 0
        for key, part in self._map.fields.items():
            numbers = self._find(typestore, key, part)
            self._check_width(key, numbers.width)
            if self._map.flag and not numbers.is_flag:
                raise ReplayError(
                    f"{self._key}: '{part[0].path}' of {self._map.type} is a number, and no flag; "
                    'state loaded_above, from which value on the foot carries load, or loaded, '
                    'the values with which it does.',
                    kind='no_threshold', key=self._key, field=part[0].path,
                )  # fmt: skip
            self._places[key] = slice(width, width + numbers.width)
            terms += part
            width += numbers.width
        self._version: float | None = None
        if _VERSION in dict(typestore.fielddefs[self._map.type][1]):
            self._places[_VERSION] = slice(width, width + 1)
            terms += parse(_VERSION)
            width += 1
        self._counter: CounterClock | None = None
        if self._map.clock.path != RECEIVED:
            terms += self._clock(typestore, signal.topic, {} if clocks is None else clocks)
        self._clock_at = width
        self._numbers = FieldNumbers(typestore, self._map.type, terms)
        if 'orientation' in self._places and self._map.order == 'wxyz':
            self._numbers.reorder(self._places['orientation'], _XYZW)

    def _find(self, typestore: Any, key: str, terms: Sequence[Term]) -> FieldNumbers:
        try:
            return FieldNumbers(typestore, self._map.type, terms)
        except BagError as error:
            raise ReplayError(
                f'{self._key}.{key}: {error}', kind=error.kind, key=f'{self._key}.{key}'
            ) from error

    def _check_width(self, key: str, width: int) -> None:
        wanted = self._map.widths[key]
        if width != wanted:
            what = f'{self._key}.names has {wanted} joints' if self.names else (
                f'{key.replace("_", " ")} has {wanted}'
            )  # fmt: skip
            raise ReplayError(
                f'{self._key}.{key} gives {width} numbers, but {what}.',
                kind='wrong_width', key=f'{self._key}.{key}', width=width, valid=wanted,
            )  # fmt: skip

    def _clock(
        self, typestore: Any, topic: str, clocks: dict[str, CounterClock]
    ) -> tuple[Term, ...]:
        """What dates messages: the two numbers of a time, or a counter, which is prepared."""
        term, key = self._map.clock, f'{self._key}.clock'
        if is_time(typestore, self._map.type, term.steps):
            return parse(f'{term.path}.sec, {term.path}.nanosec')
        valid = (
            'valid: a field that is a time (header.stamp), a counter times its unit in seconds '
            f'(tick * 0.001), or {RECEIVED}, the time of recording'
        )
        counter = term._replace(scale=None)
        try:
            numbers = FieldNumbers(typestore, self._map.type, [counter])
        except BagError as error:
            raise ReplayError(
                f"{key} is '{term.path}': {str(error).rstrip('.')}; {valid}.",
                kind=error.kind, key=key,
            ) from error  # fmt: skip
        if numbers.width != 1 or not term.scale or term.scale < 0.0:
            raise ReplayError(
                f"{key}: '{term.path}' is not a time, and no unit is stated; {valid}.",
                kind='no_unit', key=key,
            )  # fmt: skip
        self._counter = clocks.setdefault(topic, CounterClock(term.scale, numbers.bits))
        return (counter,)

    def read(self, messages: RawMessages, joint_names: Sequence[str]) -> Any:
        """Read messages: a `JointStateBatch` with these joints, an `ImuBatch` or `WrenchBatch`."""
        decoded, parts = self._parts(messages.decode())
        values = (
            decoded.merged(parts, self._map.type) if parts else np.zeros((0, self._numbers.width))
        )
        received = messages.received[decoded.index]
        frames = {frame_of(group.layout) for group in decoded.groups} - {''}
        stamps = self.stamps(values, received)
        stamped = stamps, received, tuple(sorted(frames)), decoded.broken, decoded.fault
        self.require_mode(values)
        if self.names:
            return self._joints(stamped, values, joint_names)
        if self.of_foot:
            return WrenchBatch(*stamped, self.wrenches(values))
        return self._imu(stamped, values)

    def _parts(self, decoded: Decoded) -> tuple[Decoded, list[Array]]:
        """Numbers of each group; messages whose sequences are too short count as broken."""
        groups: list[Group] = []
        parts, broken, fault = [], decoded.broken, decoded.fault
        for group in decoded.groups:
            try:
                self._check_order(group.layout)
                parts.append(self._numbers.take(group.layout, group.rows))
            except BagError as error:
                broken, fault = broken + len(group), fault or str(error)
            else:
                groups.append(group)
        return Decoded.of(groups, broken, fault), parts

    def _check_order(self, layout: CdrLayout) -> None:
        """Refuse messages that name the joints beside their positions, in another order."""
        steps = [step for term in self._map.fields.get('positions', ())[:1] for step in term.steps]
        first = next((step.begin for step in steps if step.begin is not None), 0)
        for path, given in layout.strings.items():
            if not isinstance(given, tuple) or not self.names or not {*self.names} <= {*given}:
                continue
            listed = given[first : first + len(self.names)]
            if len(listed) == len(self.names) and listed != self.names:
                raise BagError(
                    f"'{path}' names the joints in another order than joints.names; valid: "
                    f'names: [{", ".join(listed)}].',
                    kind='joint_order', field=path, valid=listed,
                )  # fmt: skip

    def require_mode(self, values: Array) -> None:
        """Refuse numbers (…, n) that are not those which the robot file means.

        Raises:
            BagError: joints are in another mode, or the places of the values changed.
        """
        place = self._places.get(_VERSION)
        if place is not None and values.size:
            versions = np.ravel(values[..., place])
            before = versions[0] if self._version is None else self._version
            self._version = float(versions[-1])
            if (versions != before).any():
                raise BagError(
                    f'{self._key}: {_VERSION} changes from {before:g}: from there on the values '
                    'of this topic have other names, which are in another topic, and with them '
                    'other places. Record without that, or cut the recording there.',
                    kind='names_changed', key=self._key,
                )  # fmt: skip
        place = self._places.get('must_be_zero')
        if place is None or not (wrong := values[..., place] != 0.0).any():
            return
        (term,) = self._map.fields['must_be_zero']
        raise BagError(
            f'joints: {term.path} is {values[..., place][wrong][0]:g} in {np.sum(wrong)} of '
            f'{wrong.size} messages, not 0: then motors of parallel linkages (ankles and waist of '
            'a G1) are in place of joints of the URDF. Record in mode 0 (pitch and roll).',
            kind='parallel_joints', field=term.path,
        )  # fmt: skip

    def stamps(self, values: Array, received: Stamps) -> Stamps:
        """Date messages by their numbers (T, n) and when they were received (T,) [ns]."""
        clock = values[:, self._clock_at :]
        if self._counter is not None:
            return self._counter.stamps(clock[:, 0], received)
        if self._map.clock.path == RECEIVED:
            return received
        stamps: Stamps = clock[:, 0].astype(np.int64) * NANOSECONDS + clock[:, 1].astype(np.int64)
        return stamps

    @property
    def counts(self) -> tuple[float, str]:
        """Time that the counter advances by in a second of arrival, and its unit that fits."""
        rate = self._counter.rate if self._counter is not None else float('nan')
        unit = (self._map.clock.scale or 1.0) / rate if rate > 0.0 else float('nan')
        return rate, f'{self._map.clock.path} * {unit:.1g}'

    def single_taker(self, layout: CdrLayout) -> Callable[[bytes], tuple[float, ...]]:
        """What takes the numbers of a single message out of its bytes, for `stamp` and `scaled`.

        Raises:
            BagError: a sequence in these messages is too short.
        """
        self._check_order(layout)
        return self._numbers.single_taker(layout)

    def scaled(self, given: tuple[float, ...]) -> Array:
        """(n,) numbers of a single message."""
        return self._numbers.scaled(given)

    def stamp(self, given: tuple[float, ...], received: int) -> int:
        """Date a single message, as `stamps` does."""
        clock = given[self._clock_at :]
        if self._counter is not None:
            return self._counter.stamp(clock[0], received)
        if self._map.clock.path == RECEIVED:
            return received
        return int(clock[0]) * NANOSECONDS + int(clock[1])

    def orientations(self, values: Array) -> Array | None:
        """Quaternions x y z w (…, 4) among the numbers of an IMU; None if they are not mapped."""
        place = self._places.get('orientation')
        return None if place is None else values[..., place]

    def efforts(self, values: Array) -> Array:
        """Torques (…, n) of the joints among their numbers; (…, 0) if they are not mapped."""
        return values[..., self._places.get('efforts', slice(0))]

    def wrenches(self, values: Array) -> Array:
        """The load of a foot (…, 6), all of it in z: its force [N], or 1 where it carries any."""
        load = values[..., 0]
        if self.is_flag:
            above = load > self._map.above if self._map.above is not None else (
                np.isin(load, self._map.loaded)
            )  # fmt: skip
            load = np.where(np.isnan(load), np.nan, above)
        found = np.zeros((*values.shape[:-1], 6))
        found[..., 2] = load
        return found

    def _joints(
        self, stamped: StampedValues, values: Array, wanted: Sequence[str]
    ) -> JointStateBatch:
        names = self._map.names
        positions, present = in_columns(values[:, self._places['positions']], names, wanted)
        efforts = efforts_in_columns(self.efforts(values), names, wanted)
        others = tuple(name for name in names if name not in wanted)
        return JointStateBatch(*stamped, tuple(wanted), positions, present, efforts, others)

    def _imu(self, stamped: StampedValues, values: Array) -> ImuBatch:
        orientations = self.orientations(values)
        if orientations is None:
            orientations = np.zeros((len(values), 4))
        known: Flags = np.asarray(orientations.any(axis=1))
        return ImuBatch(*stamped, orientations, known, values[:, :3], values[:, 3:6])


def frame_of(layout: CdrLayout) -> str:
    """Frame that the header of such messages names; empty without one."""
    return str(layout.strings.get('header.frame_id', ''))


def other_order(orientations: Array, order: str) -> Array:
    """(T, 4) quaternions x y z w that were read in one order as those of the other one."""
    return orientations[:, _WXYZ if order == 'wxyz' else _XYZW]
