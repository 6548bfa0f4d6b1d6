"""Filters of a stream that arrives in pieces: what those share that look ahead, and a delay."""

from abc import ABC, abstractmethod

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import SampleBuffer, pair
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


class GyroscopeDelay(DelayedFilter):
    """Realigns an IMU whose gyroscope is later than its accelerometer in the same messages.

    Each sample gets the angular velocity of its own instant, interpolated between the messages
    around the later stamp that it has; then comes the filter of the stream, if there is one.

    Args:
        delay: of the gyroscope against the accelerometer [ns].
        reach: longest time between two samples that is interpolated across [s].
        filtered: the filter that follows; None without one.
    """

    def __init__(self, delay: int, reach: float, filtered: DelayedFilter | None = None) -> None:
        self._delay = delay
        self._reach = reach
        self._filter = filtered
        super().__init__(6)

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
        return int(np.searchsorted(self._stamps, self._stamps[-1] - self._delay, 'right'))

    def _hand_out(self, end: int) -> Array:
        """The samples from the next one to `end`; NaN where the angular velocity is not known."""
        stamps, values = self._stamps[self._next : end], self._values[self._next : end].copy()
        omega = self._values[:, GYROSCOPE]
        values[:, GYROSCOPE] = pair(stamps + self._delay, self._stamps, omega, self._reach).values
        self._next = end
        if len(self._stamps):
            oldest = self._stamps[min(end, len(self._stamps) - 1)] + min(self._delay, 0)
            unused = int(np.searchsorted(self._stamps, oldest, 'right')) - 1
            self._forget(max(0, min(unused, end)))
        return values if self._filter is None else self._filter.extend(stamps, values)


def realigned(samples: Samples, delay: int) -> Samples:
    """Do so with all samples (T, 6) of an IMU at once; at the ends the angular velocity stays.

    Args:
        samples: with increasing stamps.
        delay: of the gyroscope against the accelerometer [ns].
    """
    if not delay or not len(samples):
        return samples
    times = samples.stamps - samples.stamps[0]
    values = samples.values.copy()
    for column in range(GYROSCOPE.stop):
        values[:, column] = np.interp(times + delay, times, samples.values[:, column])
    return Samples(samples.stamps, values)
