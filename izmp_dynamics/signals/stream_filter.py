"""Filters of a stream that arrives in pieces: what all share that look ahead, and one for lags."""

from collections.abc import Callable

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import SampleBuffer, pair
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.samples import Samples

Filter = Callable[[Stamps, Array, slice], Array]
"""Of samples (T,), (T, m), the results (k, …) in some rows; NaN where a value is not known."""


class DelayedFilter:
    """A filter whose results wait for the samples that follow.

    Args:
        function: what it does; the results of one sample at a time are those of a log.
        width: numbers per sample.
        around: time before and after an instant that its result depends on [ns].
        beyond: samples beyond that on either side that it depends on as well.
    """

    def __init__(
        self, function: Filter, width: int, around: tuple[int, int], beyond: int = 0
    ) -> None:
        self._function, self._width = function, width
        (self._before, self._after), self._beyond = around, beyond
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._samples = SampleBuffer(self._width)
        self._next = 0

    def extend(self, samples: Samples) -> Samples:
        """Take samples; return the results, in order, that no further sample can change."""
        self._samples.append(samples.stamps, samples.values)
        stamps, settled = self._samples.stamps, 0
        if len(stamps) > self._beyond:
            newest = stamps[-1 - self._beyond] - self._after
            settled = int(np.searchsorted(stamps, newest, 'right'))
        return self._handed_out(max(settled, self._next))

    def flush(self) -> Samples:
        """Return the results that are left at the end of the stream, and reset."""
        left = self._handed_out(len(self._samples.stamps))
        self.reset()
        return left

    def _handed_out(self, end: int) -> Samples:
        """The results from the next one to `end`; samples that no other one needs are dropped."""
        stamps, rows = self._samples.stamps, slice(self._next, end)
        found = Samples(stamps[rows], self._function(stamps, self._samples.values, rows))
        self._next = end
        if len(stamps):
            oldest = stamps[min(end, len(stamps) - 1)] - self._before
            unused = int(np.searchsorted(stamps, oldest, 'right')) - 1 - self._beyond
            unused = max(0, min(unused, end))
            self._samples.drop(unused)
            self._next -= unused
        return found


GYROSCOPE = slice(0, 3)
"""Its columns in a sample of the IMU."""


def lag_compensation(correction: Correction, width: int, reach: float) -> DelayedFilter:
    """Compensate lags that need the samples before or after: a late gyroscope, a low-pass.

    A gyroscope that is later than the accelerometer in the same messages: each sample gets the
    angular velocity of its own instant, interpolated between the messages around the later stamp
    that it has. A first-order low-pass of time constant τ, 1/(1 + τ s): values y become y + τ ẏ.

    Args:
        correction: of the sensor, which states them.
        width: numbers per sample.
        reach: longest time between two samples that is interpolated across [s].
    """
    delay, slope = correction.gyroscope_delay, correction.slope_over

    def compensate(all_stamps: Stamps, all_values: Array, rows: slice) -> Array:
        def at(instants: Stamps) -> Array:
            return pair(instants, all_stamps, all_values, reach).values

        stamps, values = all_stamps[rows], np.array(all_values[rows])
        if delay:
            values[:, GYROSCOPE] = at(stamps + delay)[:, GYROSCOPE]
        if slope:
            ratio = correction.time_constant / (2 * slope)
            values += ratio * (at(stamps + slope) - at(stamps - slope))
        return values

    return DelayedFilter(compensate, width, correction.around)


def compensated(samples: Samples, correction: Correction, reach: float) -> Samples:
    """Compensate the lags of all samples (T, m) at once; at the ends and at gaps they stay.

    Args:
        samples: with increasing stamps.
        correction: of the sensor.
        reach: longest time between two samples that is interpolated across [s].
    """
    if not any(correction.around):
        return samples
    stream = lag_compensation(correction, samples.values.shape[1], reach)
    values = Samples.joined([stream.extend(samples), stream.flush()]).values
    return Samples(samples.stamps, np.where(np.isfinite(values), values, samples.values))
