"""Signals after one zero-phase filter, as splines: values and derivatives at any instant."""

import copy

import numpy as np
import scipy.interpolate
import scipy.signal

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.signals.samples import Samples

ORDER = 2
"""Of the Butterworth filter, which runs forwards and backwards."""

DEGREE = 5
"""Of the splines: the second derivative is smooth."""

MOST_SAMPLES = 8.0
"""Samples of a signal that the filter sees, in multiples of its cut-off frequency."""


class SmoothSignal:
    """A signal after the filter.

    Args:
        samples: (T, m) as they were measured.
        cutoff: of the filter [Hz].
        origin: instant of zero seconds [ns].
        rate: of the uniform grid that the samples are brought to [Hz].
    """

    def __init__(self, samples: Samples, cutoff: float, origin: int, rate: float) -> None:
        times = (samples.stamps - origin) / NANOSECONDS
        grid = np.arange(times[0], times[-1], 1.0 / rate)
        values = np.stack([np.interp(grid, times, column) for column in samples.values.T], axis=1)
        sections = scipy.signal.butter(ORDER, cutoff, fs=rate, output='sos')
        padding = min(len(grid) - 1, round(3.0 * rate / cutoff))
        smooth = scipy.signal.sosfiltfilt(sections, values, axis=0, padlen=padding)
        thin = max(1, int(rate / (MOST_SAMPLES * cutoff)))
        self._splines = [
            scipy.interpolate.make_interp_spline(grid[::thin], smooth[::thin], DEGREE)
        ]

    def at(self, times: Array, derivative: int = 0) -> Array:
        """Give the signal (K, m), or a derivative of it [1/s, 1/s²], at instants (K,) [s]."""
        while len(self._splines) <= derivative:
            self._splines.append(self._splines[-1].derivative())
        values: Array = self._splines[derivative](times)
        return values

    def between(self, begin: float, end: float) -> 'SmoothSignal':
        """The same signal, bit for bit, of which only a time is kept [s]."""
        spline = self._splines[0]
        knots = spline.t[DEGREE : len(spline.c) + 1]
        first, last = np.searchsorted(knots, (begin, end), side='right')
        rows = slice(max(0, int(first) - 1), int(last) + DEGREE)
        part = copy.copy(self)
        kept = spline.t[rows.start : rows.stop + DEGREE + 1]
        part._splines = [scipy.interpolate.BSpline(kept, spline.c[rows], DEGREE)]
        return part
