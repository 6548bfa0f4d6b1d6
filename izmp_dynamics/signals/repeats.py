"""Times in which a signal repeats itself bit by bit: it is stuck, or is slower than its topic.

A measurement of several numbers does not repeat itself to the last bit. Where it does, the driver
has sent its last value again: a force sensor is stuck, or motion capture at 45 Hz is on a topic of
100 Hz. A few repeats are left out, so that what lies between two measurements is interpolated;
from `STUCK_AFTER` on the signal is stuck, and has no value until it changes again.
"""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Flags, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.stamps import nanoseconds

STUCK_AFTER = 0.1
"""A signal that repeats itself for longer is stuck [s]; at least five periods."""

ALIVE = 10
"""Changes that must have been seen before: a signal that never changes may be meant so."""

MOST_SPANS = 1000
"""Times in which a signal was stuck that are remembered; instants are asked for soon."""

FOREVER = 1 << 62
"""[ns]"""

LONGEST_STEP = nanoseconds(10.0)
"""No sample is so much later than the one before that a quotient reaches across [ns]."""

BEFORE, SINCE, OPEN, COUNT = range(4)
"""The state: stamps of the newest two samples that did not repeat the one before [ns], whether
the signal is stuck now, how many times it was."""


class StuckSpans:
    """The times in which a signal is stuck, noted sample by sample.

    Args:
        reach: how far a filter spreads a value towards earlier and later instants [s].
        width: numbers of the signal that may be stuck by themselves.

    Attributes:
        table: (MOST_SPANS + 1, 4) stamps about both ends of each time [ns]: the sample before the
            last measurement, that measurement, the first one after, the next one; then the state.
    """

    def __init__(self, reach: tuple[float, float] = (0.0, 0.0), width: int = 1) -> None:
        self._reach = nanoseconds(reach[0]), nanoseconds(reach[1])
        self.table: Stamps = np.zeros((MOST_SPANS + 1, 4), dtype=np.int64)
        self._parts: Flags = np.ones((MOST_SPANS, width), dtype=np.bool_)

    @property
    def any(self) -> bool:
        """Whether the signal was ever stuck."""
        return bool(self.table[-1, COUNT])

    @property
    def since(self) -> int:
        """Stamp of the newest sample that does not repeat the one before [ns]."""
        return int(self.table[-1, SINCE])

    def see(self, stamps: Stamps) -> None:
        """Take note of stamps (T,) [ns] of samples that do not repeat the one before."""
        _note_changes(self.table, stamps)

    def begin(self, part: Flags) -> None:
        """Note that a part (width,) of the signal is stuck since the newest sample seen."""
        self._parts[self.table[-1, COUNT] % MOST_SPANS] = part
        begin_span(self.table)

    def stuck_at(self, instants: Stamps, around: bool = False, filtered: bool = True) -> Flags:
        """(K, width) at which instants [ns] which part of the signal is stuck.

        Args:
            instants: (K,) [ns].
            around: or is derived from such values: a difference quotient at the sample before or
                after takes one in.
            filtered: or is filtered with such values.
        """
        mask: Flags = np.zeros((len(instants), self._parts.shape[1]), dtype=np.bool_)
        count, (first, last) = int(self.table[-1, COUNT]), (0, 3) if around else (1, 2)
        before, after = self._reach if filtered else (0, 0)
        for k in range(count - 1, max(count - MOST_SPANS, 0) - 1, -1):  # older ones end earlier
            edges = self.table[k % MOST_SPANS].tolist()
            if len(instants) and edges[2] + after + LONGEST_STEP <= instants[0]:
                break
            begin, end = edges[first] - before, edges[last] + after
            inside = (instants > begin) & (instants < end)
            mask |= inside[:, None] & self._parts[k % MOST_SPANS]
        return mask


@kernel
def note_change(table: Stamps, stamp: int) -> None:
    """Take note of the stamp of a sample [ns] that does not repeat the one before."""
    state = table[-1]
    newest = (state[COUNT] - 1) % MOST_SPANS
    if state[COUNT] > 0 and table[newest, 3] == FOREVER:
        table[newest, 2 if state[OPEN] else 3] = stamp
        state[OPEN] = 0
    state[BEFORE], state[SINCE] = state[SINCE], stamp


@kernel
def _note_changes(table: Stamps, stamps: Stamps) -> None:
    for stamp in stamps:
        note_change(table, stamp)


@kernel
def begin_span(table: Stamps) -> None:
    """Note that the signal is stuck since the newest sample that was seen."""
    state = table[-1]
    span = state[COUNT] % MOST_SPANS
    table[span, 0], table[span, 1] = state[BEFORE], state[SINCE]
    table[span, 2] = table[span, 3] = FOREVER
    state[OPEN] = 1
    state[COUNT] += 1


class StuckLog:
    """Times in which a signal was stuck while the robot moved, joined from the instants.

    Attributes:
        spans: first and last instant [ns] of each time.
    """

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []

    def add(self, instants: Stamps) -> None:
        """Take instants (K,) [ns] of the raw signal, increasing unless the clock is set back."""
        for instant in instants.tolist():
            if self.spans and 0 <= instant - self.spans[-1][1] <= NANOSECONDS * STUCK_AFTER:
                self.spans[-1] = self.spans[-1][0], instant
            else:
                self.spans.append((instant, instant))
