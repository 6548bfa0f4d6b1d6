"""One sensor signal on its way in: gates, sign of quaternions, filter, buffer to pair from."""

from collections import Counter

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.signals.buffer import Paired, SampleBuffer, reach_of
from izmp_dynamics.signals.correction import NO_CORRECTION, Correction
from izmp_dynamics.signals.gate import Gate, Rows
from izmp_dynamics.signals.matched_filter import check_half_width, matched_stream
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.repeats import StuckLog
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream_filter import DelayedFilter, lag_compensation

LEARNED_STEPS = 10
"""Steps between samples from which the period is learned where it is not known."""

LEARNED_TIME = 2.0
"""Two steps are enough if the samples span this time [s]."""


def filter_spread(half_width: float | None, period: float) -> float:
    """How far a filtered value reaches towards earlier and later instants [s].

    Args:
        half_width: of the matched filter [s]; None: no filter.
        period: time between samples [s].
    """
    # windows take in up to two samples beyond
    return 0.0 if half_width is None else half_width + 2.0 * period


class SampleStream:
    """Takes the samples of one signal in pieces of any length.

    Args:
        signal: its name, for messages.
        width: numbers per sample.
        max_gap: longest time that is interpolated across as the robot file states it [s]; two and
            a half periods if that is longer.
        largest: size that no such sensor can read, one number or one per column.
        period: time between samples [s]; None: learned from the first samples, which wait.
        half_width: of the matched filter [s]; None: no filter.
        quaternion: first of the four columns that are a unit quaternion; None without one.
        correction: of the samples, before anything else but the check against `largest`.
        differentiated: of the first so many numbers the buffer holds the derivative as well, after
            the others, if the filter is the matched one.
        may_be_stuck: whether samples that repeat the one before are none, see `repeats`.
        clocked: whether stamps that came in bursts are put back onto the publisher's clock.

    Attributes:
        clock: of the publisher; None unless `clocked`.
        stuck_times: times in which the signal was stuck while the robot moved.
        buffer: usable samples, to pair instants with.
        faults: samples and instants that could not be used, by reason.
        period: as above; None while it is being learned.
        received: whether any sample came.

    Raises:
        SensingError: if the signal is too slow for the filter.
    """

    def __init__(
        self,
        signal: str,
        width: int,
        *,
        max_gap: float,
        largest: Array | float = np.inf,
        period: float | None = None,
        half_width: float | None = None,
        quaternion: int | None = None,
        correction: Correction = NO_CORRECTION,
        differentiated: int = 0,
        may_be_stuck: bool = False,
        clocked: bool = False,
    ) -> None:
        self.signal = signal
        self.clock = PublisherClock(width) if clocked else None
        self.stuck_times = StuckLog()
        self._may_be_stuck = may_be_stuck
        self._correction, self._width = correction, width
        self._differentiated = 0 if half_width is None else differentiated
        self.buffer = SampleBuffer(width + self._differentiated, finite=True)
        self.buffer.give_up = self._give_up
        self._faults: Faults = Counter()
        self._max_gap = max_gap
        self._known_period = period
        self._half_width = half_width
        self._gate = Gate(
            width, largest=np.full(width, largest), quaternion=quaternion, correction=correction
        )
        self.reset()

    @property
    def faults(self) -> Faults:
        """Samples and instants that could not be used, by reason."""
        faults = self._faults + self._gate.faults
        return faults + self.clock.faults if self.clock is not None else faults

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        self.buffer.reset()
        self._gate.reset()
        if self.clock is not None:
            self.clock.reset()
        self._learning = Samples.empty(self._width)
        self.received = False
        self.period: float | None = None
        self._filters: list[DelayedFilter] = []
        if self._known_period is not None:
            self._begin(self._known_period)

    def assume(self, period: float) -> None:
        """Begin with a period that is known from before [s], until the next reset.

        Raises:
            SensingError: if the signal is too slow for the filter.
        """
        if self.period is None:
            self._begin(period)

    def push(self, samples: Samples) -> Samples:
        """Take samples in the order of arrival; return those that became usable.

        Raises:
            ShapeError: if they have another width.
        """
        samples.check_width(self.signal, self._width)
        if not len(samples):
            return samples
        self.received = True
        return self._admit(samples if self.clock is None else self.clock.push(samples))

    def _admit(self, samples: Samples) -> Samples:
        room = self._room(len(samples))
        used = self._gate.admit(samples.stamps, samples.values, room)
        if self._gate.overtaken and self._is_direct:
            self.buffer.keep_overtaken(self._gate.overtaken)
        self.buffer.expect(self._gate.pending)
        return self._take(room, used)

    def _room(self, count: int) -> Rows:
        """Rows for what the gate lets pass when so many samples come: the buffer's, if it can."""
        count = self._gate.room(count)
        if self.period is not None and not self._filters:
            return self.buffer.room(count)
        return np.empty(count, dtype=np.int64), np.empty((count, self._width)), 0

    @property
    def _is_direct(self) -> bool:
        """Whether samples pass as they are: neither filtered nor made of several."""
        return self._half_width is None and not any(self._correction.around)

    def flush(self, final: bool = True) -> Samples:
        """Take in the last sample, as nothing follows; return what became usable.

        Args:
            final: whether a period that is not known yet is learned from what there is.
        """
        parts = []
        if self.clock is not None:
            parts.append(self._admit(self.clock.flush()))
        for _ in range(2):  # what the period is learned from may wait as well
            room = self._room(0)
            parts.append(self._take(room, self._gate.flush(room), final))
        left = Samples.empty(self._width)
        for each in self._filters:
            left = Samples.joined([each.extend(left), each.flush()])
        if self._filters:
            parts.append(self._smoothed(left))
        self.buffer.closed = True
        return Samples.joined(parts)

    def _give_up(self) -> None:
        """Hand out the last sample before a pause; not while the period is being learned."""
        if self.period is not None:
            self.flush()

    def at(self, instants: Stamps) -> Paired:
        """Give the values at decided instants (K,) [ns]; count those it lacks."""
        return self.count_paired(self.buffer.at(instants))

    def count_paired(self, paired: Paired, rows: Flags | slice = slice(None)) -> Paired:
        """Count, of some instants, those without a value and those that were interpolated."""
        paired.count_missing(self._faults, rows)
        return paired

    @property
    def was_stuck(self) -> bool:
        """Whether the signal was ever stuck, whatever the robot did."""
        return self._gate.spans.any

    def stuck_at(self, instants: Stamps, moving: Flags, around: bool = False) -> Flags:
        """Find the instants at which the signal is stuck while the robot moves.

        Args:
            instants: (K,) decided [ns].
            moving: (K,) whether the joints move; while nothing moves, values may well repeat.
            around: whether the samples before and after are concerned as well, as they are
                where the signal is differentiated.
        """
        return self._gate.spans.stuck_at(instants, around)[:, 0] & moving

    def known(self, instants: Stamps, moving: Flags) -> Array:
        """Give the values (K, width) at decided instants; NaN where unknown or while it is stuck.

        Counts nothing; see `stuck_at` for the arguments.
        """
        values = self.buffer.at(instants).values
        if not self.was_stuck:
            return values
        rows = self.stuck_at(instants, moving)
        return np.where(rows[:, None], np.nan, values) if rows.any() else values

    def count_stuck(self, instants: Stamps, rows: Flags) -> Flags:
        """Count the instants (K,) [ns] at which the signal is stuck, and note the raw times."""
        if rows.any():
            self.count(Reason.HANGS, int(np.count_nonzero(rows)))
            raw = self._gate.spans.stuck_at(instants, filtered=False)[:, 0]
            self.stuck_times.add(instants[rows & raw])
        return rows

    def stored(self) -> Samples:
        """The usable samples that are still in the buffer."""
        return Samples(self.buffer.stamps.copy(), self.buffer.values.copy())

    def count(self, reason: Reason, number: int = 1) -> None:
        """Count samples that could not be used."""
        if number:
            self._faults[Fault(reason)] += number

    def _take(self, room: Rows, used: int, final: bool = False) -> Samples:
        """Take the first rows that the gate let pass into the buffer, filtered if asked to."""
        stamps, values, begin = room
        usable = Samples(stamps[begin : begin + used], values[begin : begin + used])
        if self.period is None:
            learned = self._learned(Samples.joined([self._learning, usable]), final)
            if learned is None:
                return usable.select(slice(0))
            room = self._room(len(learned))
            return self._take(room, self._gate.readmit(learned.stamps, learned.values, room))
        if not self._filters:
            self.buffer.extend(used)
            self.buffer.offer(0 if self._gate.repeats else self._gate.pending, self._gate.sample)
            return usable
        for each in self._filters:
            usable = each.extend(usable)
        return self._smoothed(usable)

    def _smoothed(self, samples: Samples) -> Samples:
        """Take what the filters hand out, but at the ends and at gaps."""
        known = np.asarray(np.isfinite(samples.values).all(axis=1))
        if not known.all():
            samples = samples.select(known)
        self.buffer.append(samples.stamps, samples.values)
        return samples

    def _learned(self, waiting: Samples, final: bool) -> Samples | None:
        """Find the period in the first samples; return them when it is known."""
        stamps = waiting.stamps[: LEARNED_STEPS + 1]
        enough = np.flatnonzero(stamps[2:] - stamps[:1] >= nanoseconds(LEARNED_TIME))
        if len(enough):
            stamps = stamps[: 3 + enough[0]]
        elif len(stamps) <= (1 if final else LEARNED_STEPS):
            self._learning = waiting
            if len(stamps) > 1:
                longest = float(np.diff(stamps).max()) / NANOSECONDS
                self.buffer.reach = reach_of(self._max_gap, longest)
            return None
        self._learning = Samples.empty(self._width)
        self._begin(float(np.median(np.diff(stamps))) / NANOSECONDS)
        return waiting

    def _begin(self, period: float) -> None:
        reach = reach_of(self._max_gap, period)
        check_half_width(self._half_width, self.signal, period)
        before, after = self._correction.around
        if before or after:
            self._filters.append(lag_compensation(self._correction, self._width, reach))
        if self._half_width is not None:
            more = self._differentiated
            self._filters.append(matched_stream(self._half_width, self._width, reach, more))
        self.period, self.buffer.reach = period, reach
        spread = filter_spread(self._half_width, period)
        spreads = spread + after / NANOSECONDS, spread + before / NANOSECONDS
        self._gate.begin(period, self._may_be_stuck, spreads)


def filter_in_words(robot: RobotFile) -> str:
    """The filter that all signals pass; empty without one."""
    half_width = robot.filter.half_width
    if half_width is None:
        return ''
    return f'the matched filter of half-width {1e3 * half_width:.3g} ms'
