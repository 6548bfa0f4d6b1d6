"""Which samples of a stream can be used, judged by their stamps alone.

A difference quotient divides by the time between two samples, so it needs stamps that increase
and that are not too close together. Real logs hold samples whose stamps are zero, equal, out of
order, or 0.2 ms apart at a nominal period of 10 ms. The last kind is a queue that was held up: a
delay only ever makes a stamp late, so of two samples that arrive at once the *earlier* one bears
the wrong stamp and the later one is on time. (On a walking iCub's log at 100 Hz, leaving out the
samples that are followed within half a period takes the noise of q̈ from 490 to 19 rad/s².)

The rule looks at two samples back and one ahead. It is a small state machine, shared by
`screen_stamps` for arrays and `StampGate` for one sample at a time.
"""

from collections import Counter
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel

Verdicts = npt.NDArray[np.int8]

_ADMITTED, _ZERO, _DUPLICATE, _BACKWARDS, _AHEAD, _HELD_UP = range(6)


class StampVerdict(IntEnum):
    """Why a sample is used or not."""

    ADMITTED = _ADMITTED
    ZERO = _ZERO
    DUPLICATE = _DUPLICATE
    BACKWARDS = _BACKWARDS
    AHEAD = _AHEAD
    HELD_UP = _HELD_UP

    @property
    def reason(self) -> Reason:
        """The verdict as a reason not to use a sample.

        Raises:
            KeyError: for ADMITTED.
        """
        return _REASONS[self]


_REASONS = {
    StampVerdict.ZERO: Reason.STAMP_UNSET,
    StampVerdict.DUPLICATE: Reason.STAMP_TWICE,
    StampVerdict.BACKWARDS: Reason.STAMP_BACKWARDS,
    StampVerdict.AHEAD: Reason.STAMP_AHEAD,
    StampVerdict.HELD_UP: Reason.STAMP_HELD_UP,
}


def count_verdicts(verdicts: Verdicts) -> Faults:
    """Count the samples that are not used, by reason."""
    return Counter(
        {
            Fault(StampVerdict(verdict).reason): int(number)
            for verdict, number in zip(*np.unique(verdicts, return_counts=True), strict=True)
            if verdict != StampVerdict.ADMITTED
        }
    )


@kernel
def _judge(previous: int, pending: int, stamp: int, min_spacing: int) -> int:
    """Judge a new `stamp` against the pending sample and the one admitted before it.

    Returns:
        The verdict. ADMITTED, AHEAD and HELD_UP concern the pending sample, whose place the new
        one takes; ZERO, DUPLICATE and BACKWARDS concern the new one. 0 stands for 'none'.
    """
    if stamp <= 0:
        return _ZERO
    if pending == 0:
        return _ADMITTED if stamp > previous else _BACKWARDS
    if stamp == pending:
        return _DUPLICATE
    if stamp < pending:
        return _AHEAD if stamp - previous >= max(min_spacing, 1) else _BACKWARDS
    return _HELD_UP if stamp - pending < min_spacing else _ADMITTED


@kernel
def _screen(
    stamps: Stamps, min_spacing: int, previous: int, verdicts: Verdicts
) -> tuple[int, int, bool]:
    """Judge samples after `previous`.

    Returns:
        The row that is pending, the new `previous`, and whether all are admitted.
    """
    verdicts[:] = _ADMITTED
    pending, row_of_pending, good = 0, -1, True
    for row in range(len(stamps)):
        stamp = stamps[row]
        verdict = _judge(previous, pending, stamp, min_spacing)
        good = good and verdict == _ADMITTED
        if verdict in (_ZERO, _DUPLICATE, _BACKWARDS):
            verdicts[row] = verdict
            continue
        if pending != 0:
            verdicts[row_of_pending] = verdict
            if verdict == _ADMITTED:
                previous = pending
        pending, row_of_pending = stamp, row
    return row_of_pending, previous, good


@kernel
def _follow(
    stamps: Stamps,
    values: Array,
    min_spacing: int,
    pending: int,
    sample: Array,
    used_stamps: Stamps,
    used_values: Array,
) -> bool:
    """Do as `StampGate.follow_all`; `sample` (1, width) is the pending one, then the new one."""
    before, count = pending, len(stamps)
    for stamp in stamps:
        if stamp - before < max(min_spacing, 1):
            return False
        before = stamp
    if count == 0:
        return False
    used_stamps[0], used_values[0] = pending, sample[0]
    used_stamps[1:], used_values[1:] = stamps[: count - 1], values[: count - 1]
    sample[0] = values[count - 1]
    return True


def screen_stamps(stamps: Stamps, min_spacing: float = 0.0) -> Verdicts:
    """Judge every sample of a stream by its stamp.

    Args:
        stamps: (T,) as recorded, in the order of arrival [ns].
        min_spacing: samples that are followed sooner than this are left out [s].

    Returns:
        (T,) `StampVerdict` values; 0 means that the sample can be used. The stamps of those
        strictly increase and are at least `min_spacing` apart.
    """
    stamps = np.ascontiguousarray(stamps, dtype=np.int64)
    verdicts = np.empty(len(stamps), dtype=np.int8)
    _screen(stamps, nanoseconds(min_spacing), 0, verdicts)
    return verdicts


class StampGate:
    """`screen_stamps` for a stream that arrives in pieces, one sample behind.

    Args:
        width: numbers per sample.
        min_spacing: samples that are followed sooner than this are left out [s].

    Attributes:
        faults: how many samples were left out, by reason.
        pending: stamp of the newest sample, which the next one confirms [ns]; 0 without one.
        sample: (1, width) that sample.
        overtaken: stamp → (width,) samples that came before an older one (`AHEAD`); those of the
            latest `push` only.
    """

    def __init__(self, width: int, min_spacing: float = 0.0) -> None:
        self.faults: Faults = Counter()
        self.overtaken: dict[int, Array] = {}
        self._min_spacing = nanoseconds(min_spacing)
        self._none = (np.empty(0, dtype=np.int64), np.empty((0, width)))
        self.reset()

    def reset(self) -> None:
        """Discard the samples; the faults stay."""
        self._previous = 0
        self.pending = 0
        self.sample: Array = self._none[1]
        self.overtaken = {}

    def push(self, stamps: Stamps, values: Array) -> tuple[Stamps, Array]:
        """Take samples in the order of arrival; return those that can be used by now.

        Args:
            stamps: (T,) [ns].
            values: (T, width).
        """
        if len(stamps) == 1:
            return self._push_one(int(stamps[0]), values)
        if self.pending:
            stamps = np.concatenate([np.array([self.pending]), stamps])
            values = np.concatenate([self.sample, values])
        verdicts = np.empty(len(stamps), dtype=np.int8)
        row, self._previous, good = _screen(stamps, self._min_spacing, self._previous, verdicts)
        if row >= 0 and good:
            self.pending, self.sample = int(stamps[-1]), values[-1:].copy()
            self.overtaken = {}
            return stamps[:-1], values[:-1]
        self.faults += count_verdicts(verdicts)
        ahead = np.flatnonzero(verdicts == _AHEAD)
        self.overtaken = {int(stamps[k]): values[k] for k in ahead} if len(ahead) else {}
        used = verdicts == _ADMITTED
        if row >= 0:
            used[row] = False
            self.pending, self.sample = int(stamps[row]), values[row : row + 1].copy()
        return stamps[used], values[used]

    def _push_one(self, stamp: int, values: Array) -> tuple[Stamps, Array]:
        """Do as `push` for one sample, the usual case of a running system."""
        verdict = _judge(self._previous, self.pending, stamp, self._min_spacing)
        if self.overtaken:
            self.overtaken = {}
        admitted = self._none
        if verdict != _ADMITTED:
            self.faults[Fault(StampVerdict(verdict).reason)] += 1
            if verdict in (_ZERO, _DUPLICATE, _BACKWARDS):
                return admitted
            if verdict == _AHEAD:
                self.overtaken = {self.pending: self.sample[0]}
        elif self.pending:
            self._previous = self.pending
            admitted = np.array([self.pending]), self.sample
        self.pending, self.sample = stamp, values.copy()
        return admitted

    def is_confirmed_by(self, stamp: int) -> bool:
        """Whether a next sample at `stamp` [ns] shows that the pending one can be used."""
        return 0 < self.pending <= stamp - max(self._min_spacing, 1)

    def follow(self, stamp: int, values: Array) -> Array:
        """Take such a sample (1, width), which is kept; return the one that was pending."""
        admitted = self.sample
        self._previous, self.pending, self.sample = self.pending, stamp, values
        self.overtaken = {}
        return admitted

    def follow_all(
        self, stamps: Stamps, values: Array, used_stamps: Stamps, used_values: Array
    ) -> bool:
        """Take samples if each shows that the one before can be used, the usual case.

        Args:
            stamps: (T,) contiguous, in the order of arrival [ns].
            values: (T, width) contiguous.
            used_stamps: (T,) is given the stamps of those that can be used by then [ns].
            used_values: (T, width) is given their values.

        Returns:
            Whether that is so; if not, nothing has been taken, and `push` is to take them.
        """
        if not self.pending or not _follow(
            stamps, values, self._min_spacing, self.pending, self.sample, used_stamps, used_values
        ):
            return False
        before, self.pending = int(used_stamps[-1]), int(stamps[-1])
        self._previous, self.overtaken = before, {}
        return True

    def flush(self) -> tuple[Stamps, Array]:
        """Return the sample that is still pending at the end of the stream, and discard it."""
        if not self.pending:
            return self._none
        admitted = np.array([self.pending]), self.sample
        self._previous, self.pending, self.sample = self.pending, 0, self._none[1]
        self.overtaken = {}
        return admitted


def nanoseconds(duration: float) -> int:
    """Convert a duration [s] to whole nanoseconds."""
    return round(duration * 1e9)
