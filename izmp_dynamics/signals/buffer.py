"""Usable samples of one signal, kept until all instants that need them have been paired.

A sample with exactly the wanted stamp is used as it is. Where there is none, its two neighbours
are interpolated, if they are no further apart than `reach`; otherwise there is no value.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps, all_finite
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.stamps import nanoseconds

HORIZON = 10.0
"""Samples so much older than the newest one are forgotten [s]."""

LONGEST_REACH = 10.0
"""Two samples an hour apart are not neighbours, however slow the signal [s]."""

_SHORTEST = 64
_NONE, _EXACT, _BETWEEN = range(3)
_NEVER = 1 << 62  # [ns]


def reach_of(max_gap: float, period: float) -> float:
    """Longest time between two samples that is differentiated or interpolated across [s].

    Args:
        max_gap: as the robot file states it [s].
        period: of the samples [s]; two and a half of it are no gap.
    """
    return max(max_gap, min(2.5 * period, LONGEST_REACH))


class Paired(NamedTuple):
    """Values of a signal at K wanted instants.

    Attributes:
        values: (K, m); NaN where there is no value.
        found: (K,) 1 where there is one, 2 where it was interpolated; 0 where there is none.
    """

    values: Array
    found: npt.NDArray[np.int8]

    @property
    def valid(self) -> Flags:
        """(K,) whether there is a value."""
        return np.asarray(self.found != _NONE)

    def count_missing(self, faults: Faults, rows: Flags | slice = slice(None)) -> None:
        """Count, of some instants, those without a value and those that were interpolated."""
        if self.found is not _CERTAIN:
            counts = np.bincount(self.found[rows], minlength=3).tolist()
            for how, reason in ((_NONE, Reason.NO_SAMPLE), (_BETWEEN, Reason.INTERPOLATED)):
                if counts[how]:
                    faults[Fault(reason)] += counts[how]


_CERTAIN = np.array([_EXACT], dtype=np.int8)


class SampleBuffer:
    """Samples whose stamps increase, paired with instants.

    Args:
        width: numbers per sample.
        reach: longest time between two samples that is interpolated across [s].
        finite: whether all samples are known to be finite.

    Attributes:
        closed: whether the stream has ended, so that no instant needs to wait.
        newest: stamp of the newest sample [ns], 0 without one.
        received_until: newest usable stamp that arrived [ns], if a filter or a difference quotient
            still holds it back.
        settled: no further sample has this stamp or an older one [ns], if that is known.
        unconfirmed: stamp of the newest sample while the next one has not confirmed its order
            [ns], 0 without one; it answers the instant of exactly its stamp.
        sample: (1, width) that sample.
        give_up: called when instants wait no longer, to let the stage hand out what it holds back
            for a next sample, as it does before any pause; None: nothing is held back.
    """

    def __init__(self, width: int, reach: float = 0.0, finite: bool = False) -> None:
        self.width = width
        self._finite = finite
        self.reach = reach
        self.give_up: Callable[[], None] | None = None
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._stamps: Stamps = np.empty(_SHORTEST, dtype=np.int64)
        self._values: Array = np.empty((_SHORTEST, self.width))
        self._start = self._end = 0
        self._overtaken: dict[int, Array] = {}
        self._first_wanted = 0
        self.newest = self.received_until = self.settled = 0
        self.closed = False
        self.unconfirmed = 0
        self.sample: Array = np.empty((0, self.width))

    @property
    def stamps(self) -> Stamps:
        """(B,) stamps of the samples that are kept [ns]."""
        return self._stamps[self._start : self._end]

    @property
    def values(self) -> Array:
        """(B, width) the samples that are kept."""
        return self._values[self._start : self._end]

    def append(self, stamps: Stamps, values: Array) -> None:
        """Take samples (T,), (T, width) that follow those that are there."""
        count = len(stamps)
        all_stamps, all_values, begin = self.room(count)
        all_stamps[begin : begin + count], all_values[begin : begin + count] = stamps, values
        self.extend(count)

    def room(self, count: int) -> tuple[Stamps, Array, int]:
        """Arrays to write the next samples into, for `extend`, and the first row to be written."""
        if self._end + count > len(self._stamps):
            self._make_room(count)
        return self._stamps, self._values, self._end

    def extend(self, count: int) -> None:
        """Take so many samples that were written into the rows of `room`."""
        if count:
            self.closed = False
            self._end += count
            self.newest = int(self._stamps[self._end - 1])

    def drop(self, count: int) -> None:
        """Drop so many of the oldest samples."""
        self._start += count

    def offer(self, stamp: int, sample: Array) -> None:
        """Let a sample (1, width) answer the instant of exactly its stamp [ns]; 0: none does."""
        self.unconfirmed, self.sample = stamp, sample

    def expect(self, stamp: int) -> None:
        """Note that a sample with a usable stamp [ns] arrived, which a stage may still hold."""
        self.received_until, self.closed = stamp, False

    def keep_overtaken(self, samples: dict[int, Array]) -> None:
        """Keep samples that came before an older one; they answer exactly their own instants."""
        for stamp, values in samples.items():
            self._overtaken.setdefault(stamp, values)

    def forget(self, before: int) -> None:
        """Drop what no instant from `before` [ns] on needs."""
        old = int(self.stamps.searchsorted(before, 'right')) - 1
        self.drop(max(old, 0))
        if self._overtaken:
            self._overtaken = {k: v for k, v in self._overtaken.items() if k >= before}

    def trim(self) -> None:
        """Drop what is older than `HORIZON`, where no instants wait or they are given up."""
        self.forget(self.newest - nanoseconds(max(HORIZON, 2.0 * self.reach)))

    def decided(self, instants: Stamps, newest: int, patience: float) -> int:
        """How many leading instants can be answered, or never will be.

        Args:
            instants: (K,) increasing [ns].
            newest: the newest instant that is known [ns], which is the time.
            patience: an instant does not wait for a signal that is behind by more [s].
        """
        count = len(instants)
        if not count:
            return 0
        first, last = int(instants[0]), int(instants[-1])
        if last <= self.newest or first == last == self.unconfirmed:
            self._first_wanted = self._first_wanted or first
            return count
        until = self._decided_until(first, newest, patience)
        if until >= last:
            return count
        count = int(instants.searchsorted(until, 'right'))
        return count + int(instants[count] == self.unconfirmed)

    def _decided_until(self, first: int, newest: int, patience: float) -> int:
        """Instants up to this one are decided [ns], of those from `first` on."""
        if self.closed:
            return _NEVER
        self._first_wanted = self._first_wanted or first
        received = max(self.newest, self.received_until, self._first_wanted)
        if newest - received > NANOSECONDS * max(patience, 2.0 * self.reach):
            if self.give_up is not None:
                self.give_up()
            return _NEVER
        return max(self.newest, self.settled - nanoseconds(self.reach) - 1)

    def at(self, instants: Stamps) -> Paired:
        """Give the values at instants (K,) [ns]."""
        if len(instants) == 1 and not self._overtaken:
            exact = self._exact(int(instants[0]))
            if exact is not None:
                return Paired(exact, _CERTAIN)
        paired = pair(instants, self.stamps, self.values, self.reach)
        if self.unconfirmed or self._overtaken:
            self._answer_exactly(instants, *paired)
        return paired

    def _exact(self, instant: int) -> Array | None:
        """(1, m) the sample of a single instant [ns], the usual case; None: see `pair`."""
        if instant == self.unconfirmed:
            return np.asarray(self.sample.copy())
        row = self._end - 1
        if instant != self.newest:
            row = self._start + int(self.stamps.searchsorted(instant))
            if row == self._end or self._stamps[row] != instant:
                return None
        values: Array = self._values[row : row + 1].copy()
        return values if self._finite or all_finite(values) else None

    def _answer_exactly(
        self, instants: Stamps, values: Array, found: npt.NDArray[np.int8]
    ) -> None:
        """Answer instants that are exactly the stamps of samples outside of the order."""
        if self.unconfirmed and len(instants) and instants[-1] >= self.unconfirmed:
            rows = instants == self.unconfirmed
            values[rows], found[rows] = self.sample, _EXACT
        for stamp, sample in self._overtaken.items():
            rows = instants == stamp
            values[rows], found[rows] = sample, _EXACT

    def _make_room(self, count: int) -> None:
        """Move the samples to the front; into a larger array if more than half is in use."""
        kept = self._end - self._start
        length = len(self._stamps)
        while length < 2 * (kept + count):
            length *= 2
        stamps, values = self.stamps, self.values
        self._stamps, self._values = np.empty(length, np.int64), np.empty((length, self.width))
        self._stamps[:kept], self._values[:kept] = stamps, values
        self._start, self._end = 0, kept


def pair(instants: Stamps, stamps: Stamps, values: Array, reach: float) -> Paired:
    """Give the values of a signal at the wanted instants.

    Args:
        instants: (K,) wanted [ns].
        stamps: (T,) of the signal, strictly increasing [ns].
        values: (T, m) of the signal.
        reach: longest time between neighbours that is interpolated across [s].
    """
    paired = np.empty((len(instants), values.shape[1]))
    found = np.empty(len(instants), dtype=np.int8)
    _pair(instants, stamps, values, nanoseconds(reach), paired, found)
    return Paired(paired, found)


@kernel
def _pair(
    instants: Stamps,
    stamps: Stamps,
    samples: Array,
    reach: int,
    values: Array,
    found: npt.NDArray[np.int8],
) -> None:
    """Write what `pair` returns: arrays that a kernel returns cost more than its work."""
    width = samples.shape[1]
    values[:] = np.nan
    found[:] = _NONE
    for k in range(len(instants)):
        after = np.searchsorted(stamps, instants[k])
        if after == len(stamps):
            continue
        if stamps[after] == instants[k]:
            values[k] = samples[after]
            found[k] = _EXACT
        elif after > 0 and stamps[after] - stamps[after - 1] <= reach:
            fraction = (instants[k] - stamps[after - 1]) / (stamps[after] - stamps[after - 1])
            values[k] = samples[after - 1] + fraction * (samples[after] - samples[after - 1])
            found[k] = _BETWEEN
        else:
            continue
        for j in range(width):
            if not np.isfinite(values[k, j]):
                values[k] = np.nan
                found[k] = _NONE
                break
