"""A gyroscope whose samples are later than those of the accelerometer in the same messages.

Each sample gets the angular velocity of its own instant, interpolated between the messages around
the later stamp that it has.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import pair
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream_filter import StreamFilter

GYROSCOPE = slice(0, 3)
"""Its columns in a sample of the IMU."""


class GyroscopeDelay:
    """Takes the samples of an IMU in pieces, before the filter of the stream, if there is one.

    Args:
        delay: of the gyroscope against the accelerometer [ns].
        reach: longest time between two samples that is interpolated across [s].
        filtered: the filter that follows; None without one.
    """

    def __init__(self, delay: int, reach: float, filtered: StreamFilter | None = None) -> None:
        self._delay = delay
        self._reach = reach
        self._filter = filtered
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._stamps: Stamps = np.empty(0, dtype=np.int64)
        self._values: Array = np.empty((0, 6))
        self._next = 0
        if self._filter is not None:
            self._filter.reset()

    def extend(self, stamps: Stamps, values: Array) -> Array:
        """Take samples (T,) [ns], (T, 6); return those, in order, that are known by now."""
        self._stamps = np.concatenate([self._stamps, stamps])
        self._values = np.concatenate([self._values, values])
        if not len(self._stamps):
            return self._hand_out(0)
        known = np.searchsorted(self._stamps, self._stamps[-1] - self._delay, 'right')
        return self._hand_out(max(int(known), self._next))

    def flush(self) -> Array:
        """Return the samples that are left at the end of the stream, and reset."""
        left = self._hand_out(len(self._stamps))
        if self._filter is not None:
            left = np.concatenate([left, self._filter.flush()])
        self.reset()
        return left

    def _hand_out(self, end: int) -> Array:
        """The samples from the next one to `end`; NaN where the angular velocity is not known."""
        stamps, values = self._stamps[self._next : end], self._values[self._next : end].copy()
        omega = self._values[:, GYROSCOPE]
        values[:, GYROSCOPE] = pair(stamps + self._delay, self._stamps, omega, self._reach).values
        self._next = end
        if len(self._stamps):
            oldest = self._stamps[min(end, len(self._stamps) - 1)] + min(self._delay, 0)
            self._forget(int(np.searchsorted(self._stamps, oldest, 'right')) - 1)
        return values if self._filter is None else self._filter.extend(stamps, values)

    def _forget(self, count: int) -> None:
        """Drop the first samples, if that many were handed out."""
        old = max(0, min(count, self._next))
        self._stamps, self._values = self._stamps[old:], self._values[old:]
        self._next -= old


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
