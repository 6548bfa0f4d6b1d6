"""One sensor signal on its way in: gates, sign of quaternions, filter, buffer to pair from."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.signals.buffer import Paired, SampleBuffer, reach_of
from izmp_dynamics.signals.correction import NO_CORRECTION, Correction
from izmp_dynamics.signals.gyroscope_delay import GyroscopeDelay
from izmp_dynamics.signals.imu import NORM_TOLERANCE
from izmp_dynamics.signals.matched_filter import MatchedStream, check_half_width
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.repeats import Flags, HangLog, RepeatGate
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import StampGate, nanoseconds
from izmp_dynamics.signals.stream_filter import StreamFilter

LEARNED_STEPS = 10
"""Steps between samples from which the period is learned where it is not known."""

LEARNED_TIME = 2.0
"""Two steps are enough if the samples span this time [s]."""

FORGOTTEN = 1e-3
"""Share of a value that hung which a low-pass may still hold where the signal counts again."""


class Filtering(NamedTuple):
    """Which filter all signals go through: a low-pass, or the matched filter.

    Attributes:
        cutoff: of the low-pass [Hz]; None: no low-pass.
        order: of the Butterworth filter.
        causal: whether the low-pass is one that a running system can do; else forwards and
            backwards, without delay.
        half_width: of the matched filter [s]; None: no matched filter.
    """

    cutoff: float | None = None
    order: int = 2
    causal: bool = False
    half_width: float | None = None

    @classmethod
    def of(cls, robot: RobotFile, causal: bool) -> 'Filtering':
        """The filter that a robot file asks for."""
        low_pass = robot.low_pass
        return cls(low_pass.cutoff, low_pass.order, causal, robot.filter.half_width)

    @property
    def is_none(self) -> bool:
        """Whether the signals stay as they are."""
        return self.cutoff is None and self.half_width is None

    def spread(self, period: float) -> tuple[float, float]:
        """How far a value reaches towards earlier and later instants [s].

        Args:
            period: time between samples [s].
        """
        if self.half_width is not None:  # windows take in up to two samples beyond
            return (self.half_width + 2.0 * period,) * 2
        if self.cutoff is None:
            return 0.0, 0.0
        from izmp_dynamics.signals.low_pass import settle_time

        settles = settle_time(self.cutoff, period, self.order, FORGOTTEN)
        return (0.0 if self.causal else settles), settles

    def check(self, signal: str, period: float) -> None:
        """Refuse a filter that a signal is too slow for.

        Raises:
            SensingError: if the cut-off is not below half the rate of the signal, or the
                half-width is shorter than the period of a signal that is differentiated.
        """
        if self.half_width is not None and signal in _DIFFERENTIATED:
            check_half_width(self.half_width, signal, period)
        if self.cutoff is not None and 2.0 * self.cutoff * period >= 1.0:
            raise SensingError(
                f'The low-pass at {self.cutoff:g} Hz needs signals of more than '
                f"{2 * self.cutoff:g} Hz, but '{signal}' has {1.0 / period:.1f} Hz; choose a "
                'lower cut-off.',
                kind='cutoff_above_nyquist',
                signal=signal,
                cutoff=self.cutoff,
                rate=1.0 / period,
            )

    def make(
        self, signal: str, width: int, period: float, reach: float, differentiated: int = 0
    ) -> StreamFilter | None:
        """Make the filter of a signal; None if there is none.

        Args:
            signal: its name, for messages.
            width: numbers per sample.
            period: time between samples [s].
            reach: stretches further apart are filtered separately [s].
            differentiated: of the first so many numbers the matched filter adds the derivative.

        Raises:
            SensingError: as `check`.
        """
        self.check(signal, period)
        if self.half_width is not None:
            return MatchedStream(self.half_width, width, reach, differentiated)
        if self.cutoff is None:
            return None
        from izmp_dynamics.signals.low_pass import (
            CausalLowPass,
            ZeroPhaseLowPass,
            ZeroPhaseStream,
        )

        if self.causal:
            return CausalLowPass(self.cutoff, period, self.order, reach)
        low_pass = ZeroPhaseLowPass(self.cutoff, period, self.order, reach)
        return ZeroPhaseStream(low_pass, width)


class SampleStream:
    """Takes the samples of one signal in pieces of any length.

    Args:
        signal: its name, for messages.
        width: numbers per sample.
        max_gap: longest time that is interpolated across as the robot file states it [s]; two and
            a half periods if that is longer.
        largest: size that no such sensor can read, one number or one per column.
        period: time between samples [s]; None: learned from the first samples, which wait.
        filtering: the filter.
        quaternion: first of the four columns that are a unit quaternion; None without one.
        correction: of the samples, before anything else but the check against `largest`.
        differentiated: of the first so many numbers the buffer holds the derivative as well, after
            the others, if the filter is the matched one.
        may_hang: whether samples that repeat the one before are no measurements, see `repeats`.
        clocked: whether stamps that came in bursts are put back onto the publisher's clock.

    Attributes:
        clock: of the publisher; None unless `clocked`.
        hung: times in which the signal hung while the robot moved.
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
        filtering: Filtering = Filtering(),  # noqa: B008 -- immutable
        quaternion: int | None = None,
        correction: Correction = NO_CORRECTION,
        differentiated: int = 0,
        may_hang: bool = False,
        clocked: bool = False,
    ) -> None:
        self.signal = signal
        self.clock = PublisherClock(width) if clocked else None
        self.hung = HangLog()
        self._may_hang = may_hang
        self._repeats: RepeatGate | None = None
        self._correction, self._corrects = correction, not correction.is_none
        self._width, self._one = width, (1, width)
        self._differentiated = 0 if filtering.half_width is None else differentiated
        self.buffer = SampleBuffer(width + self._differentiated, finite=True)
        self.buffer.give_up = self._give_up
        self._faults: Faults = Counter()
        self._max_gap = max_gap
        self._largest = np.full(width, largest, dtype=np.float64)
        self._quaternion_at = -1 if quaternion is None else quaternion
        self._known_period = period
        self._filtering = filtering
        self._quaternion = quaternion
        self._gate = StampGate(width)
        self.reset()

    @property
    def faults(self) -> Faults:
        """Samples and instants that could not be used, by reason."""
        faults = self._faults + self._gate.faults
        faults += self.clock.faults if self.clock is not None else Faults()
        return faults + self._repeats.faults if self._repeats is not None else faults

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        self.buffer.reset()
        self._gate.reset()
        if self.clock is not None:
            self.clock.reset()
        if self._repeats is not None:
            self._faults += self._repeats.faults
        self._repeats = None
        self._sign: Array | None = None
        self._learning = Samples.empty(self._width)
        self._smoothing = Samples.empty(self._width)
        self.received = False
        self.period: float | None = None
        self._is_plain = self._repeating = False
        self._filter: StreamFilter | None = None
        if self._known_period is not None:
            self._begin(self._known_period)

    def assume(self, period: float) -> None:
        """Begin with a period that is known from before [s], until the next reset.

        Raises:
            SensingError: if the signal is too slow for the low-pass.
        """
        if self.period is None:
            self._begin(period)

    def push(self, samples: Samples) -> Samples:
        """Take samples in the order of arrival; return those that became usable.

        Raises:
            ShapeError: if they have another width.
        """
        if samples.stamps.size == 1 and samples.values.shape == self._one:
            followed = self.follow(int(samples.stamps[0]), samples.values[0])
            if followed is not None:
                return Samples(np.array([followed[0]]), followed[1])
        samples.check_width(self.signal, self._width)
        if not len(samples):
            return samples
        self.received = True
        if self.clock is not None:
            samples = Samples(*self.clock.push(samples.stamps, samples.values))
        return self._admit(samples)

    def follow(self, stamp: int, values: Array) -> tuple[int, Array] | None:
        """Take a sample that no gate holds back, nor the one before: the usual one, at a low cost.

        Args:
            stamp: [ns].
            values: (m,).

        Returns:
            The one before, stamp and values (1, m), which is usable now. None if it is not the
            usual case: nothing has been taken, and `push` is to take it.
        """
        gate, repeats, before = self._gate, self._repeats, self._gate.pending
        if self._repeating or not self._is_plain or not gate.is_confirmed_by(stamp):
            return None
        if len(values) != self._width:
            return None
        sample, usable = np.array(values, ndmin=2), gate.sample
        last = usable if repeats is None or repeats.last is None else repeats.last
        found = _compared(sample, usable, last, self._largest, self._quaternion_at)
        if found == _INCREDIBLE or not (self.clock is None or self.clock.follows(stamp)):
            return None
        gate.follow(stamp, sample)
        if repeats is not None:
            repeats.follow(before, usable, found & _CHANGED > 0)
            self._repeating = repeats.recognises and found & _REPEATS > 0
        if self._quaternion is not None:
            usable = self._continued(usable, self._quaternion)
        self.buffer.append_one(before, usable, stamp, sample, not self._repeating)
        return before, usable

    def _admit(self, samples: Samples) -> Samples:
        """Let samples through the gates."""
        samples = self._credible(samples)
        if self._corrects:
            samples = self._correction.apply(samples)
        usable = Samples(*self._gate.push(samples.stamps, samples.values))
        if self._gate.overtaken and self._is_direct:
            self.buffer.keep_overtaken(self._gate.overtaken)
        self.buffer.expect(self._gate.pending)
        return self._take(usable)

    @property
    def _is_direct(self) -> bool:
        """Whether samples pass as they are: neither filtered nor made of several."""
        return self._filtering.is_none and not self._correction.gyroscope_delay

    def flush(self, final: bool = True) -> Samples:
        """Take in the last sample, as nothing follows; return what became usable.

        Args:
            final: whether a period that is not known yet is learned from what there is.
        """
        parts = [Samples.empty(self.buffer.width)]
        if self.clock is not None:
            parts.append(self._admit(Samples(*self.clock.flush())))
        parts.append(self._take(Samples(*self._gate.flush()), final))
        if self._repeats is not None:
            parts.append(self._pass_on(self._repeats.flush(Samples.empty(self._width))))
        if self._filter is not None:
            parts.append(self._smoothed(self._filter.flush()))
        usable = parts[0]
        for part in parts:
            usable = usable.followed_by(part) if len(part) else usable
        self.buffer.closed = True
        return usable

    def _give_up(self) -> None:
        """Hand out the last sample before a pause; not while the period is being learned."""
        if self.period is not None:
            self.flush()

    def at(self, instants: Stamps) -> Paired:
        """Give the values at decided instants (K,) [ns]; count those it lacks."""
        return self.count_paired(self.buffer.at(instants))

    def count_paired(self, paired: Paired) -> Paired:
        """Count the instants without a value and those that were interpolated."""
        return paired.count_missing(self._faults)

    @property
    def has_hung(self) -> bool:
        """Whether the signal has ever hung, whatever the robot did."""
        return self._repeats is not None and self._repeats.has_hung

    def hangs(self, instants: Stamps, moving: Flags, around: bool = False) -> Flags:
        """Find the instants at which the signal hangs while the robot moves.

        Args:
            instants: (K,) decided [ns].
            moving: (K,) whether the joints move; while nothing moves, values may well repeat.
            around: whether the samples before and after are concerned as well, as they are
                where the signal is differentiated.
        """
        if self._repeats is None:
            return np.zeros(len(instants), dtype=np.bool_)
        return self._repeats.hangs(instants, around) & moving

    def known(self, instants: Stamps, moving: Flags) -> Array:
        """Give the values (K, width) at decided instants; NaN where unknown or while it hangs.

        Counts nothing; see `hangs` for the arguments.
        """
        values = self.buffer.at(instants).values
        if not self.has_hung:
            return values
        rows = self.hangs(instants, moving)
        return np.where(rows[:, None], np.nan, values) if rows.any() else values

    def count_hanging(self, instants: Stamps, rows: Flags) -> Flags:
        """Count the instants (K,) [ns] at which the signal hangs, and note the times."""
        if rows.any():
            self.count(Reason.HANGS, int(np.count_nonzero(rows)))
            self.hung.add(instants[rows])
        return rows

    def kept(self) -> Samples:
        """The usable samples that are still in the buffer."""
        return Samples(self.buffer.stamps.copy(), self.buffer.values.copy())

    def count(self, reason: Reason, number: int = 1) -> None:
        """Count samples that could not be used."""
        if number:
            self._faults[Fault(reason)] += number

    def _credible(self, samples: Samples) -> Samples:
        """Leave out what no sensor of the kind can read; continue the sign of quaternions."""
        values = samples.values
        if _all_credible(values, self._largest, self._quaternion_at):
            return samples
        finite = np.isfinite(values).all(axis=1)
        small = (np.abs(values) <= self._largest).all(axis=1)
        rotates = finite
        if self._quaternion is not None:
            with np.errstate(over='ignore', invalid='ignore'):  # what overflows is none either
                norms = np.linalg.norm(values[:, self._quaternion : self._quaternion + 4], axis=1)
            rotates = np.abs(norms - 1.0) <= NORM_TOLERANCE
        good = np.asarray(finite & small & rotates)
        if good.all():
            return samples
        if self._quaternion is not None:
            self.count(Reason.NO_ROTATION, int(np.count_nonzero(~rotates)))
            finite |= ~rotates
        self.count(Reason.NOT_FINITE, int(np.count_nonzero(~finite)))
        self.count(
            Reason.TOO_LARGE, int(np.count_nonzero(np.isfinite(values).all(axis=1) & ~small))
        )
        return samples.rows(good)

    def _take(self, usable: Samples, final: bool = False) -> Samples:
        """Put samples that passed the gates into the buffer, filtered if asked to."""
        if self.period is None:
            usable = self._learned(self._learning.followed_by(usable), final)
        if self.period is None:
            return usable
        return self._pass_on(usable if self._repeats is None else self._repeats.push(usable))

    def _pass_on(self, usable: Samples) -> Samples:
        """Filter samples, if asked to, and put them into the buffer."""
        if self._quaternion is not None and len(usable):
            usable = Samples(usable.stamps, self._continued(usable.values, self._quaternion))
        if self._filter is None:
            self.buffer.append(usable.stamps, usable.values)
            self._offer()
            return usable
        self._smoothing = self._smoothing.followed_by(usable)
        return self._smoothed(self._filter.extend(usable.stamps, usable.values))

    def _offer(self) -> None:
        """Let the newest sample answer its instant, unless it repeats the one before."""
        gate, repeats = self._gate, self._repeats
        self._repeating = (
            repeats is not None
            and len(gate.sample) > 0
            and (repeats.waiting or repeats.repeats(gate.sample))
        )
        self.buffer.offer(0 if self._repeating else gate.pending, gate.sample)

    def _smoothed(self, values: Array) -> Samples:
        """Take what the filter hands out, in the order of what it took."""
        stamps = self._smoothing.stamps[: len(values)]
        self._smoothing = self._smoothing.rows(slice(len(values), None))
        known = np.isfinite(values).all(axis=1)
        if not known.all():  # at the ends and at gaps
            stamps, values = stamps[known], values[known]
        self.buffer.append(stamps, values)
        return Samples(stamps, values)

    def _continued(self, values: Array, first: int) -> Array:
        """Turn the signs of quaternions so that none jumps to the other half of the sphere."""
        values = values.copy()
        quaternions = values[:, first : first + 4]
        if len(values) == 1 and self._sign is not None:
            if float(quaternions[0] @ self._sign[0]) < 0.0:
                quaternions *= -1.0
            self._sign = quaternions.copy()
            return values
        before = quaternions[:1] if self._sign is None else self._sign
        chain = np.concatenate([before, quaternions])
        flips = np.sum(chain[1:] * chain[:-1], axis=1) < 0
        quaternions[np.logical_xor.accumulate(flips)] *= -1.0
        self._sign = quaternions[-1:].copy()
        return values

    def _learned(self, waiting: Samples, final: bool) -> Samples:
        """Find the period in the first samples; return them when it is known."""
        none = waiting.rows(slice(0, 0))
        stamps = waiting.stamps[: LEARNED_STEPS + 1]
        enough = np.flatnonzero(stamps[2:] - stamps[:1] >= nanoseconds(LEARNED_TIME))
        if len(enough):
            stamps = stamps[: 3 + enough[0]]
        elif len(stamps) <= (1 if final else LEARNED_STEPS):
            self._learning = waiting
            if len(stamps) > 1:
                longest = float(np.diff(stamps).max()) / NANOSECONDS
                self.buffer.reach = reach_of(self._max_gap, longest)
            return none
        self._learning = none
        self._begin(float(np.median(np.diff(stamps))) / NANOSECONDS)
        return waiting

    def _begin(self, period: float) -> None:
        """Set up what depends on the period [s]."""
        reach = reach_of(self._max_gap, period)
        self._filter = self._filtering.make(
            self.signal, self._width, period, reach, self._differentiated
        )
        if self._correction.gyroscope_delay:
            self._filter = GyroscopeDelay(self._correction.gyroscope_delay, reach, self._filter)
        self.period, self.buffer.reach = period, reach
        self._is_plain = self._filter is None and not self._corrects
        if self._may_hang:
            causal = self._filtering.causal and self._filtering.cutoff is not None
            back, ahead = self._filtering.spread(period)
            delay = self._correction.gyroscope_delay / NANOSECONDS
            spread = back + max(delay, 0.0), ahead + max(-delay, 0.0)
            self._repeats = RepeatGate(period, causal, spread)


_DIFFERENTIATED = ('joints', 'imu')
_INCREDIBLE, _CHANGED, _REPEATS = -1, 1, 2


@kernel
def _all_credible(values: Array, largest: Array, quaternion: int) -> bool:
    """Whether all samples are finite, not too large, and unit quaternions where there are any."""
    for t in range(len(values)):
        for j in range(values.shape[1]):
            if not abs(values[t, j]) <= largest[j] or not np.isfinite(values[t, j]):
                return False
        if quaternion >= 0:
            squares = 0.0
            for j in range(quaternion, quaternion + 4):
                squares += values[t, j] * values[t, j]
            if not abs(np.sqrt(squares) - 1.0) <= NORM_TOLERANCE:
                return False
    return True


@kernel
def _compared(sample: Array, pending: Array, last: Array, largest: Array, quaternion: int) -> int:
    """Compare a sample (1, m) with the pending one, and that one with the last before it.

    Returns:
        _INCREDIBLE if no such sensor can read it; else the sum of _CHANGED, if the pending one
        differs from the last one, and of _REPEATS, if the sample repeats the pending one, unless
        all its numbers are zero.
    """
    if not _all_credible(sample, largest, quaternion):
        return _INCREDIBLE
    changed, repeats, zero = False, True, True
    for j in range(sample.shape[1]):
        changed = changed or pending[0, j] != last[0, j]
        repeats = repeats and sample[0, j] == pending[0, j]
        zero = zero and sample[0, j] == 0.0
    return _CHANGED * changed + _REPEATS * (repeats and not zero)


def filter_in_words(robot: RobotFile) -> str:
    """The filter that all signals pass; empty without one."""
    cutoff, half_width = robot.low_pass.cutoff, robot.filter.half_width
    if half_width is not None:
        return f'the matched filter of half-width {1e3 * half_width:.3g} ms'
    return '' if cutoff is None else f'the low-pass at {cutoff:g} Hz'
