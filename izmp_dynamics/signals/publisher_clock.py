"""Stamps that came in a burst, put back onto the clock of their periodic publisher.

A publisher or a bridge that is held up stamps several samples at once when it goes on: after a
gap they come close together, although they were measured one period apart. Their number fills the
gap, so it is known which tick of the publisher's clock each belongs to. The clock is a robust line
through the latest stamps (median slope, median intercept), and the samples of the burst take their
stamps from it. All others keep theirs.

Only samples that follow a gap wait, until the next one shows whether they are a burst; so a
running system does it as well as a log, with the same result.
"""

from collections import Counter

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.samples import Samples

MEMORY = 100
"""Stamps that the line is laid through."""

LEAST = 25
"""Stamps from which on there is a line."""

STEADY = 0.1
"""Median distance from the line, in periods, up to which a publisher is periodic [-]."""

TOLERANCE = 0.25
"""A stamp nearer to the line than this is on time, in periods [-]."""

ONE_TICK = 1.0 / 3.0
"""Part of the latest stamps that may share the tick of the one before without a gap before that;
more are those of two publishers [-]."""

CLIPPED = 10
"""A step of so many median ones is no longer than these to the mean: a pause says nothing [-]."""

LONGEST_BURST = 50
"""Samples of a burst; a longer one is no clock that was held up."""

_LAST, _PERIOD, _AGE, _COUNT, _HISTORY = range(5)
"""The state: newest stamp [ns], median of the steps [ns] or 0, stamps since it was looked at, how
many stamps are remembered; and where those begin, up to twice `MEMORY`."""

_RESTORED = Fault(Reason.STAMP_RESTORED)


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
        self._none = Samples.empty(width)
        self.reset()

    def reset(self) -> None:
        """Forget all samples; what was counted stays."""
        self._state = np.zeros(_HISTORY + 2 * MEMORY, dtype=np.int64)
        self._run: list[Samples] = []
        self._released = 0  # stamp of the sample before those that wait [ns]

    def push(self, samples: Samples) -> Samples:
        """Take samples in the order of arrival; return those whose stamps are known by now."""
        begin = 0 if self._run else _follow(samples.stamps, self._state)
        if begin == len(samples):
            return samples
        parts = [samples.select(slice(begin))]
        while begin < len(samples):
            parts += self._judge(samples.select(slice(begin, begin + 1)))
            begin += 1
            if not self._run:
                end = begin + _follow(samples.stamps[begin:], self._state)
                parts.append(samples.select(slice(begin, end)))
                begin = end
        return Samples.joined(parts)

    def flush(self) -> Samples:
        """Return the samples that wait, at the end of the stream or before a pause."""
        return Samples.joined([self._none, *self._close()])

    def _judge(self, one: Samples) -> list[Samples]:
        """Judge a sample that does not follow regularly."""
        last, period = self._state[: _PERIOD + 1].tolist()
        stamp = int(one.stamps[0])
        step = stamp - last
        if self._run:
            if 0 <= 2 * step < period and len(self._run) < LONGEST_BURST:
                self._hold(one)
                return []
            return [*self._close(), self.push(one)]
        if period and 2 * step > 3 * period and step < LONGEST_BURST * period:
            self._released = last
            self._hold(one)
            return []
        if step < 0 or step >= LONGEST_BURST * period:  # another time: reset
            self.reset()
            _remember(stamp, self._state)
        self._state[_LAST] = stamp
        return [one]

    def _hold(self, one: Samples) -> None:
        self._run.append(Samples(one.stamps.copy(), one.values.copy()))
        self._state[_LAST] = one.stamps[0]

    def _close(self) -> list[Samples]:
        """Release the samples that follow a gap, with the stamps of the clock if they fill it."""
        if not self._run:
            return []
        run = Samples.joined(self._run)
        self._run = []
        restored = self._restored(run.stamps)
        used = run.stamps if restored is None else restored
        if restored is not None or len(used) == 1:
            for stamp in used.tolist():
                _remember(stamp, self._state)
            _look(self._state)
        self._state[_LAST] = used[-1]
        return [Samples(used, run.values)]

    def _restored(self, stamps: Stamps) -> Stamps | None:
        """Ticks of the clock for a burst; None if they do not fit the gap before it."""
        count = len(stamps)
        history = _known(self._state)
        if count < 2 or len(history) < LEAST:
            return None
        steps = np.round(np.diff(history) / self._state[_PERIOD])
        alone = (steps[1:] < 1.0) & (steps[:-1] >= 1.0) & (steps[:-1] <= 2.0)
        if np.mean(alone) > ONE_TICK:
            return None
        history = history[np.append(steps >= 1.0, True)]  # of a burst only the last is on time
        period, ticks, offset, distances = _line(history, int(self._state[_PERIOD]))
        scatter = float(np.median(np.abs(distances)))
        on_time = np.abs(distances) <= TOLERANCE * period
        if scatter > STEADY * period or not on_time[-1]:
            return None
        if round((stamps[-1] - history[-1]) / period) != count:
            return None
        line = offset + period * (ticks[-1] + np.arange(1, count + 1))
        late = stamps - history[0] - line
        if late.min() < -TOLERANCE * period:
            return None
        restore = late > TOLERANCE * period
        line = np.where(restore, np.round(line), stamps - history[0]).astype(np.int64)
        if line[0] + history[0] <= self._released:  # of a period that is none
            return None
        self.faults[_RESTORED] += int(np.count_nonzero(restore))
        self.latest = max(self.latest, float(late.max()) / NANOSECONDS)
        self.scatter = max(self.scatter, scatter / NANOSECONDS)
        self.bound = max(self.bound, float(np.abs(distances[on_time]).max()) / NANOSECONDS)
        return np.asarray(line + history[0])


@kernel
def _follow(stamps: Stamps, state: Stamps) -> int:
    """Take the leading stamps (T,) [ns] that follow each other regularly; return how many."""
    for k in range(len(stamps)):
        last, period = state[_LAST], state[_PERIOD]
        step = stamps[k] - last
        if last and period:
            if not period < 2 * step <= 3 * period:
                return k
        elif last and step <= 0:
            return k
        state[_LAST] = stamps[k]
        _remember(stamps[k], state)
        _look(state)
    return len(stamps)


@kernel
def _remember(stamp: int, state: Stamps) -> None:
    """Add a stamp [ns] to those that the line is laid through."""
    if state[_COUNT] == 2 * MEMORY:
        state[_HISTORY : _HISTORY + MEMORY] = state[_HISTORY + MEMORY :]
        state[_COUNT] = MEMORY
    state[_HISTORY + state[_COUNT]] = stamp
    state[_COUNT] += 1
    state[_AGE] += 1


@kernel
def _known(state: Stamps) -> Stamps:
    """The newest stamps (T,), at most `MEMORY` [ns]."""
    end = _HISTORY + state[_COUNT]
    return state[max(end - MEMORY, _HISTORY) : end]


@kernel
def _look(state: Stamps) -> None:
    """Look at the period when it is time: the median step, without those of bursts if most are."""
    if (state[_AGE] >= MEMORY or not state[_PERIOD]) and state[_COUNT] >= LEAST:
        known = _known(state)
        steps = np.sort(known[1:] - known[:-1])
        least = np.minimum(steps, CLIPPED * steps[len(steps) // 2]).mean() / 2.0
        if steps[len(steps) // 2] < least:
            steps = steps[steps >= least]
        middle = len(steps) // 2
        state[_PERIOD] = (steps[middle] + steps[-1 - middle]) // 2
        state[_AGE] = 0


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
