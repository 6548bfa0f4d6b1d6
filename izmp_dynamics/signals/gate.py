"""The gate of a stream: one compiled state machine for a single sample as for thousands.

It leaves out samples that no sensor of the kind can read, takes stated errors out of the others,
lets a sample pass when the next one confirms its stamp (see `stamps`), leaves out what repeats
the one before or notes that the signal is stuck (see `repeats`), and continues the signs of
quaternions. It judges one sample after the other, so it does not matter in which pieces they come.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.correction import NO_CORRECTION, Correction
from izmp_dynamics.signals.imu import NORM_TOLERANCE
from izmp_dynamics.signals.repeats import (
    ALIVE,
    OPEN,
    SINCE,
    STUCK_AFTER,
    StuckSpans,
    begin_span,
    note_change,
)
from izmp_dynamics.signals.stamps import (
    ADMITTED,
    AHEAD,
    BACKWARDS,
    DUPLICATE,
    REASONS,
    ZERO,
    judge_stamp,
    nanoseconds,
)

_PREVIOUS, _PENDING, _CHANGES, _HELD, _SIGNED, _PASSING, _KEPT = range(7)
"""State of the stream: stamps of the last sample that passed and of the one that waits [ns],
changes seen, samples that wait as they repeat, whether a sign is known, whether repeats and signs
are looked after; how many of these there are."""

_SPACING, _CHECKS, _QUATERNION, _DELAY, _WATCHES, _STUCK_AFTER, _COUNTS = range(_KEPT, _KEPT + 7)
"""Settings: smallest spacing [ns], whether values are checked, first column of a quaternion or
-1, delay [ns], whether repeats are left out, after which time the signal is stuck [ns]; and where
the counts of faults begin, those of stamps first."""

_NOT_FINITE, _TOO_LARGE, _NO_ROTATION, _REPEATED, _END = range(6, 11)

_WAITING = _COUNTS + _END
"""Where the stamps of the samples begin that wait as they repeat."""

_SAMPLE, _LAST, _SIGN, _LARGEST, _OFFSET, _MATRIX = range(6)
"""Rows of numbers: the sample that waits, the last one that is no repeat, the last quaternion;
the settings; and where the matrix begins, if there is one."""

Rows = tuple[Stamps, Array, int]
"""Arrays of stamps (R,) [ns] and samples (R, m), and the first row to be written."""

_COUNTED = {
    _NOT_FINITE: Reason.NOT_FINITE,
    _TOO_LARGE: Reason.TOO_LARGE,
    _NO_ROTATION: Reason.NO_ROTATION,
    **REASONS,
    _REPEATED: Reason.REPEATED,
}


class Gate:
    """Takes samples in the order of arrival; lets pass those that can be used by now.

    Args:
        width: m, numbers per sample.
        min_spacing: samples that are followed sooner than this are left out [s].
        largest: (m,) size that no such sensor can read; None: values are not checked, and may be
            infinite or NaN.
        quaternion: first of the four columns that are a unit quaternion; None without one.
        correction: of the samples, after that check.

    Attributes:
        pending: stamp of the newest sample, which the next one confirms [ns]; 0 without one.
        sample: (1, m) that sample, until the next one comes.
        repeats: whether it repeats the one before.
        spans: times in which the signal was stuck.
        overtaken: stamp → (m,) samples that came before an older one; of the latest call only.
    """

    def __init__(
        self,
        width: int,
        *,
        min_spacing: float = 0.0,
        largest: Array | None = None,
        quaternion: int | None = None,
        correction: Correction = NO_CORRECTION,
    ) -> None:
        matrix = np.empty((0, width)) if correction.matrix is None else correction.matrix
        self._state = np.zeros(_WAITING + 1, dtype=np.int64)
        self._rows = np.concatenate([np.zeros((_MATRIX, width)), matrix])
        self._state[_SPACING] = nanoseconds(min_spacing)
        self._state[_CHECKS] = largest is not None
        self._state[_QUATERNION] = -1 if quaternion is None else quaternion
        self._state[_DELAY] = correction.delay
        if largest is not None:
            self._rows[_LARGEST] = largest
        if correction.offset is not None:
            self._rows[_OFFSET] = correction.offset
        self.sample: Array = self._rows[_SAMPLE : _SAMPLE + 1]
        self._watches = False
        self.reset()

    @property
    def faults(self) -> Faults:
        """Samples that were left out, by reason."""
        counts = self._state[_COUNTS:_WAITING].tolist()
        return Counter({Fault(r): counts[k] for k, r in _COUNTED.items() if counts[k]})

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        self._state[:_KEPT] = 0
        self.spans = StuckSpans()
        self.pending = self._held = 0
        self.repeats = False
        self.overtaken: dict[int, Array] = {}

    def begin(self, period: float, watches: bool, spread: tuple[float, float]) -> None:
        """From now on leave out repeats and continue signs, as the period is known.

        Args:
            period: time between the samples [s].
            watches: whether repeats are left out.
            spread: how far a filter spreads a value towards earlier and later instants [s].
        """
        self._state[[_PASSING, _WATCHES]] = True, watches
        self._state[_STUCK_AFTER] = nanoseconds(max(STUCK_AFTER, 5.0 * period))
        self._watches, self.spans = watches, StuckSpans(spread)

    def room(self, count: int) -> int:
        """Rows that are needed for what passes when so many samples come."""
        return count + self._held + 1

    def admit(self, stamps: Stamps, values: Array, used: Rows) -> int:
        """Take samples; write those that can be used by now, and return how many.

        Args:
            stamps: (T,) [ns].
            values: (T, m).
            used: with `room` for them.
        """
        count = len(stamps)
        if count > 1:
            stamps, values = np.ascontiguousarray(stamps), np.ascontiguousarray(values)
        if self._watches and self._held + count > len(self._state) - _WAITING:
            self._make_room(count)
        found, overtaken, self._held, self.pending, self.repeats = _admit(
            stamps, values, self._state, self._rows, self.spans.table, *used
        )
        if overtaken or self.overtaken:
            rows = range(len(used[0]) - overtaken, len(used[0]))
            self.overtaken = {int(used[0][row]): used[1][row].copy() for row in rows}
        return found

    def readmit(self, stamps: Stamps, values: Array, used: Rows) -> int:
        """Take samples that passed before `begin`; arguments and result as of `admit`."""
        self._make_room(len(stamps))
        found, self._held, self.repeats = _readmit(
            stamps, values, self._state, self._rows, self.spans.table, *used
        )
        return found

    def flush(self, used: Rows) -> int:
        """Write the samples that wait, as nothing follows; argument and result as of `admit`."""
        self._make_room(1)
        self.pending = self._held = 0
        self.repeats, self.overtaken = False, {}
        return _flush(self._state, self._rows, self.spans.table, *used)

    def _make_room(self, count: int) -> None:
        """Make room for so many more samples that wait as they repeat."""
        length = _WAITING + 2 * self.room(count)
        if length > len(self._state):
            self._state = np.resize(self._state, length)


class _Memory(NamedTuple):
    """What the kernels share; made inside of them, as arrays cost less to hand over.

    Attributes:
        state: stream, settings, counts, and the stamps of what waits as it repeats.
        rows: the rows of numbers.
        table: times in which the signal was stuck.
        stamps: is given the stamps of the samples that can be used [ns].
        values: is given the samples.
    """

    state: Stamps
    rows: Array
    table: Stamps
    stamps: Stamps
    values: Array


@kernel
def _admit(
    stamps: Stamps,
    values: Array,
    state: Stamps,
    rows: Array,
    table: Stamps,
    used_stamps: Stamps,
    used_values: Array,
    begin: int,
) -> tuple[int, int, int, int, bool]:
    """Do as `Gate.admit`; overtaken samples are written from the end on.

    Returns:
        Samples that can be used, samples that were overtaken, samples that wait as they repeat,
        stamp of the newest sample, and whether it repeats.
    """
    memory = _Memory(state, rows, table, used_stamps, used_values)
    used, overtaken, sample = begin, 0, rows[_SAMPLE]
    for t in range(len(stamps)):
        if state[_CHECKS] and not _is_credible(values[t], state, rows[_LARGEST]):
            continue
        stamp = stamps[t] - state[_DELAY] if stamps[t] > 0 else stamps[t]
        pending = state[_PENDING]
        verdict = judge_stamp(state[_PREVIOUS], pending, stamp, state[_SPACING])
        if verdict != ADMITTED:
            state[_COUNTS + verdict] += 1
        if verdict in (ZERO, DUPLICATE, BACKWARDS):
            continue
        if verdict == AHEAD:
            overtaken += 1
            used_stamps[-overtaken], used_values[-overtaken] = pending, sample
        elif verdict == ADMITTED and pending != 0:
            state[_PREVIOUS] = pending
            used = _pass(pending, sample, memory, used)
        state[_PENDING] = stamp
        for j in range(len(sample)):
            sample[j] = values[t, j] - rows[_OFFSET, j]
        if len(rows) > _MATRIX:
            sample[:] = _product(rows[_MATRIX:], sample)
    return used - begin, overtaken, state[_HELD], state[_PENDING], _newest_repeats(memory)


@kernel
def _readmit(
    stamps: Stamps,
    values: Array,
    state: Stamps,
    rows: Array,
    table: Stamps,
    used_stamps: Stamps,
    used_values: Array,
    begin: int,
) -> tuple[int, int, bool]:
    """Do as `Gate.readmit`; also returns what waits as it repeats, and whether the newest does."""
    memory, used = _Memory(state, rows, table, used_stamps, used_values), begin
    for t in range(len(stamps)):
        used = _pass(stamps[t], values[t], memory, used)
    return used - begin, state[_HELD], _newest_repeats(memory)


@kernel
def _flush(
    state: Stamps, rows: Array, table: Stamps, stamps: Stamps, values: Array, begin: int
) -> int:
    memory, used = _Memory(state, rows, table, stamps, values), begin
    if state[_PENDING] != 0:
        state[_PREVIOUS], state[_PENDING] = state[_PENDING], 0
        used = _pass(state[_PREVIOUS], rows[_SAMPLE], memory, used)
    return _release(memory, used) - begin


@kernel
def _is_credible(sample: Array, state: Stamps, largest: Array) -> bool:
    """Whether a sensor can read a sample (m,); counts why not."""
    finite, small, rotates, squares = True, True, True, 0.0
    for j in range(len(sample)):
        finite = finite and np.isfinite(sample[j])
        small = small and abs(sample[j]) <= largest[j]
    first = state[_QUATERNION]
    if first >= 0:
        for j in range(first, first + 4):
            squares += sample[j] * sample[j]
        rotates = abs(np.sqrt(squares) - 1.0) <= NORM_TOLERANCE
    if finite and small and rotates:
        return True
    if not rotates:
        state[_COUNTS + _NO_ROTATION] += 1
    elif not finite:
        state[_COUNTS + _NOT_FINITE] += 1
    if finite and not small:
        state[_COUNTS + _TOO_LARGE] += 1
    return False


@kernel
def _product(matrix: Array, sample: Array) -> Array:
    product = np.zeros(len(matrix))
    for i in range(len(matrix)):
        for j in range(len(sample)):
            product[i] += matrix[i, j] * sample[j]
    return product


@kernel
def _newest_repeats(memory: _Memory) -> bool:
    """Whether the newest sample repeats the one before."""
    state = memory.state
    if state[_PENDING] == 0:
        return bool(state[_HELD] > 0)
    return state[_HELD] > 0 or _repeats(memory.rows[_SAMPLE], memory)


@kernel
def _repeats(sample: Array, memory: _Memory) -> bool:
    """Whether a sample repeats the last one; a signal of zeros (an unloaded foot) does not."""
    state, last, zero = memory.state, memory.rows[_LAST], True
    if not state[_WATCHES] or state[_CHANGES] < ALIVE:
        return False
    for j in range(len(sample)):
        if sample[j] != last[j]:
            return False
        zero = zero and sample[j] == 0.0
    return not zero


@kernel
def _pass(stamp: int, sample: Array, memory: _Memory, used: int) -> int:
    """Let a sample (m,) with a good stamp pass, or wait as it repeats; return how many passed.

    Repeats wait for the next change, until it is known that the signal is stuck.
    """
    state, last, table = memory.state, memory.rows[_LAST], memory.table
    if not state[_PASSING] or not state[_WATCHES]:
        return _put(stamp, sample, memory, used)
    if _repeats(sample, memory):
        if table[-1, OPEN]:
            return _put(stamp, sample, memory, used)
        state[_WAITING + state[_HELD]] = stamp
        state[_HELD] += 1
        if stamp - table[-1, SINCE] < state[_STUCK_AFTER]:
            return used
        begin_span(table)
        return _release(memory, used)
    state[_COUNTS + _REPEATED] += state[_HELD]
    state[_HELD] = 0
    changed = False
    for j in range(len(sample)):
        changed = changed or sample[j] != last[j]
        last[j] = sample[j]
    state[_CHANGES] += changed and table[-1, SINCE] != 0
    note_change(table, stamp)
    return _put(stamp, sample, memory, used)


@kernel
def _release(memory: _Memory, used: int) -> int:
    """Let the samples pass that wait as they repeat the last one; return how many passed."""
    for k in range(memory.state[_HELD]):
        used = _put(memory.state[_WAITING + k], memory.rows[_LAST], memory, used)
    memory.state[_HELD] = 0
    return used


@kernel
def _put(stamp: int, sample: Array, memory: _Memory, used: int) -> int:
    """Write a sample (m,) that can be used, its quaternion on the side of the one before."""
    state, sign, written = memory.state, memory.rows[_SIGN], memory.values[used]
    memory.stamps[used] = stamp
    for j in range(len(sample)):
        written[j] = sample[j]
    first = state[_QUATERNION]
    if state[_PASSING] and first >= 0:
        turn = 0.0
        for j in range(4):
            turn += sample[first + j] * sign[j] * state[_SIGNED]
        for j in range(4):
            if turn < 0.0:
                written[first + j] *= -1.0
            sign[j] = written[first + j]
        state[_SIGNED] = 1
    return used + 1
