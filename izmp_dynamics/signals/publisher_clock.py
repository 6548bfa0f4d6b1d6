"""Stamps that came in a burst, put back onto the clock of their periodic publisher.

A publisher or a bridge that is held up stamps several samples at once when it goes on: after a
gap they come close together, although they were measured one period apart. Their number fills the
gap, so it is known which tick of the publisher's clock each belongs to. The clock is a robust line
through the latest stamps (median slope, median intercept), and the samples of the burst take their
stamps from it. All others keep theirs.

Only samples that follow a gap wait, until the next one shows whether they are a burst; so a
running system does it as well as a log, with the same result.
"""

from collections import Counter, deque

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel

MEMORY = 100
"""Stamps that the line is laid through."""

LEAST = 25
"""Stamps from which on there is a line."""

STEADY = 0.1
"""Median distance from the line, in periods, up to which a publisher is periodic [-]."""

TOLERANCE = 0.25
"""A stamp nearer to the line than this is on time, in periods [-]."""

ONE_TICK = 1.0 / 3.0
"""Part of the latest stamps that may share a tick; more are those of two publishers [-]."""

LONGEST_BURST = 50
"""Samples of a burst; a longer one is no clock that was held up."""

_FEW = 8
"""Stamps up to which Python is faster than numpy."""

_RESTORED = Fault(Reason.STAMP_RESTORED)
_NEITHER = np.empty(0, dtype=np.int64)


class PublisherClock:
    """Restores the stamps of one publisher; the same numbers for pieces of any length.

    Args:
        width: numbers per sample.

    Attributes:
        faults: how many stamps were restored.
        latest: by how much a restored stamp was late, at most [s].
        scatter: largest median distance of the other stamps from the line where it was used [s].
        bound: largest distance of one of them from it, among those that were on time [s].
    """

    def __init__(self, width: int) -> None:
        self.faults: Faults = Counter()
        self.latest = self.scatter = self.bound = 0.0
        self._none = (_NEITHER, np.empty((0, width)))
        self.reset()

    def reset(self) -> None:
        """Forget all samples; what was counted stays."""
        self._history: deque[int] = deque(maxlen=MEMORY)
        self._since_median = 0
        self._period = 0
        self._last = 0
        self._run: list[int] = []
        self._rows: list[Array] = []

    @property
    def waiting(self) -> bool:
        """Whether samples wait for the next one."""
        return bool(self._run)

    def push(self, stamps: Stamps, values: Array) -> tuple[Stamps, Array]:
        """Take samples in the order of arrival; return those whose stamps are known by now.

        Args:
            stamps: (T,) [ns].
            values: (T, width).
        """
        begin = 0
        if len(stamps) <= _FEW:
            for stamp in stamps.tolist():
                if not self.follows(stamp):
                    break
                begin += 1
            if begin == len(stamps):
                return stamps, values
        parts = [(stamps[:begin], values[:begin])]
        while begin < len(stamps):
            end = begin + self._follow(stamps[begin:])
            if end > begin:
                parts.append((stamps[begin:end], values[begin:end]))
            else:
                end = begin + 1
                parts += self._judge(int(stamps[begin]), values[begin:end])
            begin = end
        return self._joined(parts)

    def flush(self) -> tuple[Stamps, Array]:
        """Return the samples that wait, at the end of the stream or before a pause."""
        return self._joined(self._close())

    def follows(self, stamp: int) -> bool:
        """Whether a single sample is regular, the usual case of a running system; take it."""
        if self._run or not self._period or self._since_median >= MEMORY - 1:
            return False
        if not self._period < 2 * (stamp - self._last) <= 3 * self._period:
            return False
        self._history.append(stamp)
        self._last = stamp
        self._since_median += 1
        return True

    def _follow(self, stamps: Stamps) -> int:
        """Take the leading stamps that follow each other regularly; say how many."""
        if self._run:
            return 0
        count, self._period, self._since_median = _regular(
            self._known, np.ascontiguousarray(stamps), self._last, self._period, self._since_median
        )
        if count:
            self._last = int(stamps[count - 1])
            self._history.extend(stamps[max(0, count - MEMORY) : count].tolist())
        return count

    def _remember(self, stamps: Stamps) -> None:
        """Take note of stamps that have been made regular."""
        self._last = int(stamps[-1])
        self._history.extend(stamps.tolist())
        self._since_median += len(stamps)
        if _is_due(len(self._history), self._period, self._since_median):
            self._period, self._since_median = _median_step(self._known), 0

    @property
    def _known(self) -> Stamps:
        return np.fromiter(self._history, np.int64, len(self._history))

    def _judge(self, stamp: int, row: Array) -> list[tuple[Stamps, Array]]:
        """Judge a sample that does not follow regularly."""
        step = stamp - self._last
        if self._run:
            if 0 <= 2 * step < self._period and len(self._run) < LONGEST_BURST:
                self._hold(stamp, row)
                return []
            return [*self._close(), self.push(np.array([stamp]), row)]
        if self._period and 2 * step > 3 * self._period and step < LONGEST_BURST * self._period:
            self._hold(stamp, row)
            return []
        if step < 0 or step >= LONGEST_BURST * self._period:  # another time: reset
            self.reset()
            self._history.append(stamp)
        self._last = stamp
        return [(np.array([stamp]), row)]

    def _hold(self, stamp: int, row: Array) -> None:
        self._run.append(stamp)
        self._rows.append(row.copy())
        self._last = stamp

    def _close(self) -> list[tuple[Stamps, Array]]:
        """Release the samples that follow a gap, with the stamps of the clock if they fill it."""
        if not self._run:
            return []
        stamps, rows = np.array(self._run), np.concatenate(self._rows)
        self._run, self._rows = [], []
        restored = self._restored(stamps)
        if restored is None:
            self._last = int(stamps[-1])
            if len(stamps) == 1:
                self._remember(stamps)
            return [(stamps, rows)]
        self._remember(restored)
        return [(restored, rows)]

    def _restored(self, stamps: Stamps) -> Stamps | None:
        """Ticks of the clock for a burst; None if it does not fill the gap before it."""
        count = len(stamps)
        if count < 2 or len(self._history) < LEAST:
            return None
        history = np.array(self._history)
        period, ticks, offset, distances = _line(history, self._period)
        scatter = float(np.median(np.abs(distances)))
        on_time = np.abs(distances) <= TOLERANCE * period
        if scatter > STEADY * period or not on_time[-1]:
            return None
        if np.mean(np.diff(ticks) < 1.0) > ONE_TICK:
            return None
        if round((stamps[-1] - history[-1]) / period) != count:
            return None
        line = offset + period * (ticks[-1] + np.arange(1, count + 1))
        late = stamps - history[0] - line
        if late.min() < -TOLERANCE * period:
            return None
        restore = late > TOLERANCE * period
        line = np.where(restore, np.round(line), stamps - history[0]).astype(np.int64)
        self.faults[_RESTORED] += int(np.count_nonzero(restore))
        self.latest = max(self.latest, float(late.max()) / NANOSECONDS)
        self.scatter = max(self.scatter, scatter / NANOSECONDS)
        self.bound = max(self.bound, float(np.abs(distances[on_time]).max()) / NANOSECONDS)
        return np.asarray(line + history[0])

    def _joined(self, parts: list[tuple[Stamps, Array]]) -> tuple[Stamps, Array]:
        parts = [part for part in parts if len(part[0])]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return self._none
        stamps, values = zip(*parts, strict=True)
        return np.concatenate(stamps), np.concatenate(values)


@kernel
def _regular(
    history: Stamps, stamps: Stamps, last: int, period: int, since: int
) -> tuple[int, int, int]:
    """How many leading stamps follow each other; the period by then, and its age in stamps.

    Args:
        history: (H,) stamps that were regular [ns].
        stamps: (T,) [ns].
        last: stamp before those; 0: none.
        period: median of the steps [ns]; 0: not known yet.
        since: stamps since it was looked at.
    """
    for k in range(len(stamps)):
        step = stamps[k] - last
        if last and period:
            if not period < 2 * step <= 3 * period:
                return k, period, since
        elif last and step <= 0:
            return k, period, since
        last = stamps[k]
        since += 1
        count = min(len(history) + k + 1, MEMORY)
        if _is_due(count, period, since):
            new = stamps[max(0, k + 1 - MEMORY) : k + 1]
            old = history[len(history) - (count - len(new)) :]
            period, since = _median_step(np.concatenate((old, new))), 0
    return len(stamps), period, since


@kernel
def _is_due(count: int, period: int, since: int) -> bool:
    """Whether to look at the period, with so many stamps known."""
    return (since >= MEMORY or not period) and count >= LEAST


@kernel
def _median_step(stamps: Stamps) -> int:
    steps = np.sort(stamps[1:] - stamps[:-1])
    middle = len(steps) // 2
    return int((steps[middle] + steps[-1 - middle]) // 2)


def _line(stamps: Stamps, period: int) -> tuple[float, Array, float, Array]:
    """Lay a robust line through the stamps of a publisher.

    Args:
        stamps: (T,) increasing [ns].
        period: about [ns].

    Returns:
        Period [ns], ticks (T,), offset from the first stamp [ns], distances (T,) of the stamps
        from the line [ns].
    """
    since = (stamps - stamps[0]).astype(np.float64)
    ticks = np.cumsum(np.concatenate([[0.0], np.round(np.diff(since) / period)]))
    half = len(stamps) // 2
    apart = np.maximum(ticks[half:] - ticks[:-half], 1.0)
    slope = float(np.median((since[half:] - since[:-half]) / apart))
    offset = float(np.median(since - slope * ticks))
    return slope, ticks, offset, since - slope * ticks - offset
