"""Butterworth low-passes: of the difference that blends the stance leg with the accelerometer.

`ZeroPhaseLowPass` is for logs: forwards and backwards, so it delays
nothing. Real stamps jitter, and a digital filter knows sample numbers only. Filtering by sample
number smears the jitter into the result (on a walking iCub's log with a 4 Hz cut-off, the second
difference of the filtered joint positions had an error of 9.9 rad/s² rms, where resampling leaves
0.4), so each contiguous segment is resampled to an even grid, filtered there and read off at the
stamps. Straight lines do for that: cubics take the noise of real signals for slopes. The ticks of
the grid are multiples of the period since the epoch, the same for every window of a log.

`CausalLowPass` is for running systems: by sample number, started in steady state.
Rows that are not finite are answered with NaN and do not enter a filter.

Both passes of the zero-phase filter attenuate: at the cut-off the amplitude is 1/2, not 1/√2.
"""

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfilt, sosfilt_zi, sosfiltfilt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream_filter import DelayedFilter

_SPLINE_SAMPLES = 25
"""Samples after which a cubic spline has forgotten a change: 0.27^25 < 1e-14."""


def butterworth(cutoff: float, period: float, order: int) -> Array:
    """Design the filter as second-order sections.

    Args:
        cutoff: frequency of -3 dB of one pass [Hz].
        period: time between samples [s].
        order: of the filter.

    Raises:
        SensingError: a cut-off that is not below half the sample rate.
    """
    nyquist = 0.5 / period
    if not 0.0 < cutoff < nyquist:
        raise SensingError(
            f'The cut-off of the low-pass must be positive and below half the sample rate '
            f'({nyquist:g} Hz), but is {cutoff:g} Hz.',
            kind='cutoff_above_nyquist',
            cutoff=cutoff,
            rate=1.0 / period,
        )
    sections: Array = butter(order, cutoff, fs=1.0 / period, output='sos')
    return sections


def settle_time(cutoff: float, period: float, order: int = 2, tolerance: float = 1e-9) -> float:
    """Time after which the filter has forgotten a disturbance down to `tolerance` [s].

    The slowest pole p of the filter forgets with |p|^k after k samples.
    """
    sections = butterworth(cutoff, period, order)
    slowest = max(np.abs(np.roots(section[3:])).max() for section in sections)
    return float(period * np.ceil(1.25 * np.log(tolerance) / np.log(slowest)))


class ZeroPhaseLowPass:
    """Low-pass without delay, for logs.

    Args:
        cutoff: frequency of -3 dB of each of the two passes [Hz].
        period: nominal time between samples [s].
        order: of the Butterworth filter.
        max_gap: segments further apart are filtered separately [s].

    Raises:
        SensingError: a cut-off that is not below half the sample rate.
    """

    def __init__(
        self, cutoff: float, period: float, order: int = 2, max_gap: float = 0.05
    ) -> None:
        self._sections = butterworth(cutoff, period, order)
        self.period = period
        self.max_gap = max_gap
        memory = settle_time(cutoff, period, order, tolerance=1e-12)
        self.context = memory + _SPLINE_SAMPLES * period + 4 * max_gap
        """Time before and after an instant that its value depends on, down to 1e-12 [s]."""
        self._padding = round(settle_time(cutoff, period, order, tolerance=1e-3) / period)

    def batch(self, stamps: Stamps, values: Array) -> Array:
        """Filter a log or a window of it.

        Args:
            stamps: (T,) strictly increasing [ns].
            values: (T, m).

        Returns:
            (T, m) filtered values at the same stamps.
        """
        filtered = np.full(values.shape, np.nan)
        for part in _segments(stamps, values, nanoseconds(self.max_gap)):
            filtered[part] = self._filter(stamps[part], values[part])
        return filtered

    def _filter(self, stamps: Stamps, values: Array) -> Array:
        step = nanoseconds(self.period)
        ticks = np.arange(-(-stamps[0] // step), stamps[-1] // step + 1)
        if len(ticks) < 3:
            return values
        grid = ticks * step
        even = _resampled(stamps, values, grid)
        padding = min(self._padding, len(grid) - 1)
        smooth = sosfiltfilt(self._sections, even, axis=0, padlen=padding)
        origin = stamps[0]
        curve = CubicSpline((grid - origin) / NANOSECONDS, smooth, axis=0)
        read: Array = curve((stamps - origin) / NANOSECONDS)
        return read


class ZeroPhaseStream(DelayedFilter):
    """`ZeroPhaseLowPass` for a stream that arrives in pieces, `context` behind.

    Args:
        low_pass: the filter.
        width: numbers per sample.
    """

    def __init__(self, low_pass: ZeroPhaseLowPass, width: int) -> None:
        self._low_pass = low_pass
        self._context = nanoseconds(low_pass.context)
        super().__init__(width)

    def _settled(self) -> int:
        if not len(self._stamps):
            return 0
        newest = self._stamps[-1] - self._context
        return int(np.searchsorted(self._stamps, newest, 'right'))

    def _hand_out(self, end: int) -> Array:
        if end <= self._next:
            return self._values[:0]
        settled = self._low_pass.batch(self._stamps, self._values)[self._next : end]
        oldest = self._stamps[end - 1] - self._context
        self._next = end
        self._forget(int(np.searchsorted(self._stamps, oldest)))
        return settled


class CausalLowPass:
    """Low-pass for running systems: one sample in, one sample out.

    It starts, and starts again after a gap, in the steady state of the first sample, so there is
    no transient.

    Args:
        cutoff: frequency of -3 dB [Hz].
        period: nominal time between samples [s].
        order: of the Butterworth filter.
        max_gap: the filter starts afresh after a longer time between samples [s].

    Raises:
        SensingError: a cut-off that is not below half the sample rate.
    """

    def __init__(
        self, cutoff: float, period: float, order: int = 2, max_gap: float = 0.05
    ) -> None:
        self._sections = butterworth(cutoff, period, order)
        self._steady = sosfilt_zi(self._sections)[:, :, None]
        self._gap = nanoseconds(max_gap)
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._state: Array | None = None
        self._last = 0

    def extend(self, stamps: Stamps, values: Array) -> Array:
        """Filter the next samples (T, m) of a stream, at stamps (T,) that increase [ns]."""
        filtered = np.full(values.shape, np.nan)
        for part in _segments(stamps, values, self._gap):
            if self._state is None or stamps[part[0]] - self._last > self._gap:
                self._state = self._steady * values[part[0]]
            filtered[part], self._state = sosfilt(
                self._sections, values[part], axis=0, zi=self._state
            )
            self._last = stamps[part[-1]]
        return filtered

    def flush(self) -> Array:
        """Return what is left at the end of the stream: nothing, as it answers at once."""
        return np.empty((0, 0))


def _segments(stamps: Stamps, values: Array, gap: int) -> list[npt.NDArray[np.intp]]:
    """Rows of the finite samples, split where stamps are further apart than `gap` [ns]."""
    rows = np.flatnonzero(np.isfinite(values).all(axis=1))
    ends = np.flatnonzero(np.diff(stamps[rows]) > gap) + 1
    return [part for part in np.split(rows, ends) if len(part)]


def _resampled(stamps: Stamps, values: Array, grid: Stamps) -> Array:
    """Read a signal (T, m) off at ticks within it, on straight lines between the samples."""
    times, ticks = (stamps - grid[0]) / NANOSECONDS, (grid - grid[0]) / NANOSECONDS
    return np.stack([np.interp(ticks, times, column) for column in values.T], axis=1)
