"""What a stage puts out, kept to be paired: its stamps increase and need no gate."""

from bisect import bisect_left
from collections import Counter

from izmp_dynamics.conventions import NANOSECONDS, Array
from izmp_dynamics.live.sample_queue import MISSING, PATIENCE, WAIT, Answer, Patience, State
from izmp_dynamics.sensing.stamps import nanoseconds

KEPT = 4096
"""Values that are kept."""


class StageOutput:
    """Pairs as `SampleQueue` does.

    Args:
        max_gap: longest time between two values that is interpolated across [s].
        patience: lag and silence beyond which instants do not wait [s].

    Attributes:
        counts: instants without a value.
    """

    def __init__(self, max_gap: float, patience: float = PATIENCE) -> None:
        self.counts: Counter[str] = Counter()
        self._reach = nanoseconds(max_gap)
        self._patience = Patience(patience)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._stamps: list[int] = []
        self._values: list[Array] = []
        self._patience.reset()

    def push(self, stamp: int, values: Array) -> None:
        """Take the values (m,) of a new instant [ns]."""
        self._patience.hear()
        self._stamps.append(stamp)
        self._values.append(values)
        if len(self._stamps) > 2 * KEPT:
            del self._stamps[:KEPT], self._values[:KEPT]

    def at(self, instant: int, newest_instant: int) -> Answer:
        """Give the values at an instant, as `SampleQueue.at`."""
        if not self._stamps or instant > self._stamps[-1]:
            newest = self._stamps[-1] if self._stamps else 0
            period = self._reach / NANOSECONDS / 2.0
            over = self._patience.is_over(instant, newest, newest_instant, period)
            return self._missing() if over else WAIT
        after = bisect_left(self._stamps, instant)
        if self._stamps[after] == instant:
            return Answer(State.READY, self._values[after])
        before = self._stamps[after - 1] if after else instant
        span = self._stamps[after] - before
        if not after or span > self._reach:
            return self._missing()
        earlier, later = self._values[after - 1], self._values[after]
        return Answer(State.READY, earlier + (instant - before) / span * (later - earlier))

    def _missing(self) -> Answer:
        self.counts['no value at this instant'] += 1
        return MISSING
