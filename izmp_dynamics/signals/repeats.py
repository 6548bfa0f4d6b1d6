"""Samples that repeat the one before bit by bit: a sensor that hangs, or is slower than its topic.

A measurement of several numbers does not repeat itself to the last bit. Where it does, the driver
has sent its last value again: a force sensor that hangs, or motion capture at 45 Hz on a topic of
100 Hz. A few repeats are left out, so that what lies between two measurements is interpolated;
from `HANGS` on the signal is said to hang, and has no value until it changes again.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.signals.samples import Samples, joined
from izmp_dynamics.signals.stamps import nanoseconds

HANGS = 0.1
"""A signal that repeats itself for longer hangs [s]; at least five periods."""

ALIVE = 10
"""Changes that must have been seen before: a signal that never changes may be meant so."""

MOST_SPANS = 1000
"""Times in which a signal hung that are remembered; instants are asked for soon."""

FOREVER = 1 << 62
"""[ns]"""

LONGEST_STEP = nanoseconds(10.0)
"""No sample is so much later than the one before that a quotient reaches across [ns]."""

_REPEATED = Fault(Reason.REPEATED)
Flags = npt.NDArray[np.bool_]

WHOLE: Flags = np.ones(1, dtype=np.bool_)
"""All numbers of a signal."""


@dataclass
class _Span:
    """A time in which a signal hangs [ns]: stamps of four samples about its two ends.

    The sample before the last measurement, that measurement, the first one after, the next one.
    """

    before: int
    begin: int
    part: Flags
    end: int = FOREVER
    after: int = FOREVER

    def covers(self, instants: Stamps, around: bool, reach: tuple[int, int]) -> Flags:
        """(K,) which instants lie inside, or by less than `reach` before or after [ns]."""
        first, last = (self.before, self.after) if around else (self.begin, self.end)
        inside: Flags = (instants > first - reach[0]) & (instants < last + reach[1])
        return inside


class HangSpans:
    """The times in which a signal hangs, noted sample by sample.

    Args:
        reach: how far a filter spreads a value towards earlier and later instants [s].

    Attributes:
        since: stamp of the newest sample that does not repeat the one before [ns].
        open: whether the signal hangs now.
    """

    def __init__(self, reach: tuple[float, float] = (0.0, 0.0)) -> None:
        self._reach = nanoseconds(reach[0]), nanoseconds(reach[1])
        self._before = self.since = 0
        self._spans: list[_Span] = []
        self.open = False

    @property
    def any(self) -> bool:
        """Whether the signal has ever hung."""
        return bool(self._spans)

    def see(self, stamp: int) -> None:
        """Take note of the stamp of a sample [ns] that does not repeat the one before."""
        if self._spans and self._spans[-1].after == FOREVER:
            span = self._spans[-1]
            if self.open:
                span.end, self.open = stamp, False
            else:
                span.after = stamp
        self._before, self.since = self.since, stamp

    def see_all(self, stamps: Stamps) -> None:
        """Do so with stamps (T,) [ns]; only those at the ends can matter."""
        for stamp in stamps[:2].tolist() + stamps[2:][-2:].tolist():
            self.see(stamp)

    def begin(self, part: Flags = WHOLE) -> None:
        """Note that a part (m,) of the signal hangs since the newest sample that was seen."""
        self.open = True
        self._spans = [*self._spans[-MOST_SPANS:], _Span(self._before, self.since, part)]

    def hangs(self, instants: Stamps, around: bool = False) -> Flags:
        """(K,) at which instants [ns] the signal hangs; `around`: or is derived from such values.

        A difference quotient at the sample before or after takes in a value that hangs.
        """
        mask: Flags = np.zeros(len(instants), dtype=np.bool_)
        for rows, _ in self.parts(instants, around):
            mask |= rows
        return mask

    def parts(self, instants: Stamps, around: bool) -> Iterator[tuple[Flags, Flags]]:
        """The same for each time: (K,) at which instants, and which part (m,) of the signal."""
        for span in reversed(self._spans):
            if len(instants) and span.end + self._reach[1] + LONGEST_STEP <= instants[0]:
                break
            yield span.covers(instants, around, self._reach), span.part


class RepeatGate:
    """Judges samples whose stamps increase, one by one in effect, so pieces do not matter.

    Samples that repeat the one before wait until the next change, at most `HANGS`; others pass at
    once. All-zero samples (an unloaded foot) are no repeats.

    Args:
        period: time between the samples [s].
        keep: whether a few repeats are kept all the same, for a filter that counts samples.
        reach: how far a filter spreads a value towards earlier and later instants [s].

    Attributes:
        faults: samples that were left out.
        last: (1, m) the newest sample; None before there is one.
        waiting: whether the newest sample waits.
    """

    def __init__(
        self, period: float, keep: bool = False, reach: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self._keep = keep
        self._spans = HangSpans(reach)
        self.faults: Faults = Counter()
        self._hangs = nanoseconds(max(HANGS, 5.0 * period))
        self.last: Array | None = None
        self._changes = 0
        self._held: list[Samples] = []

    @property
    def waiting(self) -> bool:
        """Whether the newest sample waits for a change."""
        return bool(self._held)

    @property
    def has_hung(self) -> bool:
        """Whether the signal has ever hung."""
        return self._spans.any

    @property
    def recognises(self) -> bool:
        """Whether a sample that repeats the one before is recognised as such by now."""
        return self._changes >= ALIVE

    def repeats(self, sample: Array) -> bool:
        """Whether a next sample (1, m) would repeat the newest one."""
        last = self.last
        if not self.recognises or last is None or sample[0, 0] != last[0, 0]:
            return False
        return bool((sample == last).all()) and bool(sample.any())

    def push(self, samples: Samples) -> Samples:
        """Take samples; return those that can be used by now."""
        if not len(samples):
            return samples
        if len(samples) > 1 and not self._held and self._passes(samples):
            return samples
        passed = [part for k in range(len(samples)) for part in self._judge(samples, k)]
        return joined(passed, samples)

    def follow(self, stamp: int, sample: Array, changed: bool) -> None:
        """Take a sample that is not said to repeat the one before, while none waits.

        Args:
            stamp: [ns].
            sample: (1, m), which is kept.
            changed: whether it differs from the one before; false without one.
        """
        self._spans.see(stamp)
        self._changes += changed
        self.last = sample

    def flush(self, like: Samples) -> Samples:
        """Return the samples that wait, at the end of the stream or before a pause."""
        held, self._held = self._held, []
        return joined(held, like)

    def hangs(self, instants: Stamps, around: bool = False) -> Flags:
        """(K,) at which instants [ns] the signal hangs; see `HangSpans.hangs`."""
        return self._spans.hangs(instants, around)

    def _passes(self, samples: Samples) -> bool:
        """Whether no sample repeats the one before, the usual case; follows them if so."""
        values, last = samples.values, self.last
        before = values[:-1] if last is None else np.concatenate([last, values[:-1]])
        same = (values[len(values) - len(before) :] == before).all(axis=1)
        changes = self._changes + int(np.count_nonzero(~same))
        recognised = changes >= ALIVE and (same & values[len(values) - len(same) :].any(axis=1))
        if np.any(recognised):
            return False
        self._spans.see_all(samples.stamps)
        self._changes, self.last = changes, values[-1:].copy()
        return True

    def _judge(self, samples: Samples, row: int) -> list[Samples]:
        """Judge one sample; return those that pass now."""
        one = samples.rows(slice(row, row + 1))
        stamp, sample, last = int(one.stamps[0]), one.values, self.last
        if self.repeats(sample):
            if self._spans.open:
                return [one]
            self._held.append(one)
            if stamp - self._spans.since < self._hangs:
                return []
            self._spans.begin()
            held, self._held = self._held, []
            return held
        held, self._held = self._held, []
        if held and not self._keep:
            self.faults[_REPEATED] += len(held)
            held = []
        changed = last is not None and bool((sample != last).any())
        self.follow(stamp, sample.copy(), changed)
        return [*held, one]


class HangLog:
    """Times in which a signal hung while the robot moved, joined from the instants.

    Attributes:
        spans: first and last instant [ns] of each time.
    """

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []

    def add(self, instants: Stamps) -> None:
        """Take instants (K,) [ns], increasing unless the clock is set back."""
        for instant in instants.tolist():
            if self.spans and 0 <= instant - self.spans[-1][1] <= NANOSECONDS * HANGS:
                self.spans[-1] = self.spans[-1][0], instant
            else:
                self.spans.append((instant, instant))

    @property
    def longest(self) -> float:
        """The longest time [s]."""
        return max((end - begin for begin, end in self.spans), default=0) / NANOSECONDS
