"""Filters of a stream that arrives in pieces: what all share that look ahead, and one for lags."""

from abc import ABC, abstractmethod

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import SampleBuffer, pair
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.samples import Samples


class DelayedFilter(ABC):
    """A filter whose results wait for the samples that follow.

    Args:
        width: numbers per sample.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._samples = SampleBuffer(self._width)
        self._next = 0

    @property
    def _stamps(self) -> Stamps:
        return self._samples.stamps

    @property
    def _values(self) -> Array:
        return self._samples.values

    def extend(self, stamps: Stamps, values: Array) -> Array:
        """Take samples; return the results, in order, that no further sample can change."""
        self._samples.append(stamps, values)
        return self._hand_out(max(self._settled(), self._next))

    def flush(self) -> Array:
        """Return the results that are left at the end of the stream, and reset."""
        left = self._hand_out(len(self._stamps))
        self.reset()
        return left

    def _forget(self, count: int) -> None:
        """Drop so many of the oldest samples, which no further result needs."""
        self._samples.drop(count)
        self._next -= count

    @abstractmethod
    def _settled(self) -> int:
        """How many leading samples have a result that no further sample can change."""

    @abstractmethod
    def _hand_out(self, end: int) -> Array:
        """Return the results from `_next` to `end`; forget samples that no other one needs."""


GYROSCOPE = slice(0, 3)
"""Its columns in a sample of the IMU."""


class LagCompensation(DelayedFilter):
    """Compensates lags that need the samples before or after: a late gyroscope, a low-pass.

    A gyroscope that is later than the accelerometer in the same messages: each sample gets the
    angular velocity of its own instant, interpolated between the messages around the later stamp
    that it has. A first-order low-pass of time constant τ, 1/(1 + τ s): values y become y + τ ẏ.
    Then comes the filter of the stream, if there is one.

    Args:
        correction: of the sensor, which states them.
        width: numbers per sample.
        reach: longest time between two samples that is interpolated across [s].
        filtered: the filter that follows; None without one.
    """

    def __init__(
        self,
        correction: Correction,
        width: int,
        reach: float,
        filtered: DelayedFilter | None = None,
    ) -> None:
        self._correction = correction
        self._reach = reach
        self._filter = filtered
        super().__init__(width)

    def reset(self) -> None:
        """Discard all samples."""
        super().reset()
        if self._filter is not None:
            self._filter.reset()

    def flush(self) -> Array:
        """Return the samples that are left at the end of the stream, and reset."""
        left = self._hand_out(len(self._stamps))
        if self._filter is not None:
            left = np.concatenate([left, self._filter.flush()])
        self.reset()
        return left

    def _settled(self) -> int:
        if not len(self._stamps):
            return 0
        after = self._correction.around[1]
        return int(np.searchsorted(self._stamps, self._stamps[-1] - after, 'right'))

    def _hand_out(self, end: int) -> Array:
        """The samples from the next one to `end`; NaN where a value is not known."""
        stamps, values = self._stamps[self._next : end], self._values[self._next : end].copy()
        delay, slope = self._correction.gyroscope_delay, self._correction.slope_over
        if delay:
            values[:, GYROSCOPE] = self._at(stamps + delay)[:, GYROSCOPE]
        if slope:
            ratio = self._correction.time_constant / (2 * slope)
            values += ratio * (self._at(stamps + slope) - self._at(stamps - slope))
        self._next = end
        if len(self._stamps):
            before = self._correction.around[0]
            oldest = self._stamps[min(end, len(self._stamps) - 1)] - before
            unused = int(np.searchsorted(self._stamps, oldest, 'right')) - 1
            self._forget(max(0, min(unused, end)))
        return values if self._filter is None else self._filter.extend(stamps, values)

    def _at(self, instants: Stamps) -> Array:
        return pair(instants, self._stamps, self._values, self._reach).values


def compensated(samples: Samples, correction: Correction, reach: float) -> Samples:
    """Compensate the lags of all samples (T, m) at once; at the ends and at gaps they stay.

    Args:
        samples: with increasing stamps.
        correction: of the sensor.
        reach: longest time between two samples that is interpolated across [s].
    """
    if not any(correction.around):
        return samples
    stream = LagCompensation(correction, samples.values.shape[1], reach)
    values = np.concatenate([stream.extend(samples.stamps, samples.values), stream.flush()])
    return Samples(samples.stamps, np.where(np.isfinite(values), values, samples.values))
