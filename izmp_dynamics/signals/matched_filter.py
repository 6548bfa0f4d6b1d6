"""One kernel for all signals: the mean over a triangle, and of the derivatives over the same one.

Filters that differ between the signals of an equation create spurious wrenches. A long
difference quotient is itself a mean of the second derivative, over a triangle of half-width w:

    (x(t + w) - 2 x(t) + x(t - w)) / w² = ∫ Λ(s) ẍ(t + s) ds,    Λ(s) = (1 - |s| / w) / w

exactly, for any x. So all signals pass Λ, and all terms of the equations of motion are means over
the same window:

    mean of x:  ∫ Λ(s) x(t + s) ds
    mean of ẋ:  ∫ sign(s) x(t + s) ds / w²
    mean of ẍ:  the quotient above

Joint positions give all three; a differenced gyroscope ω and ω̇; every other sensor its mean. The
amplitude at the frequency f is sinc²(f w) (`gain`); 1/√2 at f = 0.319 / w (`bandwidth`).

Between the samples the signal is a local polynomial, so uneven stamps and half-widths that are no
multiple of the period need no grid of their own:

* The integrals are those of the cubic through the four nearest samples. For samples h apart its
  error is at most 3/128 h⁴ max|x⁗|, which the mean does not exceed; the mean of ẋ has at most
  2 / w times that.
* The three values of the quotient are those of the least-squares cubic through the five nearest
  samples, which lowers their noise by 30 %. Its error is at most 3/35 h⁴ max|x⁗|; the mean of ẍ
  has at most 4 / w² times that, and on even stamps 3/35 h⁴ times the sixth derivative.

Where the intervals of a cubic differ by more than `UNEVEN` the straight line is used, since noise
would blow the cubic up: h²/8 max|ẍ|.

Nothing is extrapolated: an instant whose window, and two samples beyond it on either side, are
not in the recording or have a gap in them has no value.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.kernel import inlined, kernel
from izmp_dynamics.signals.differences import (
    Derivatives,
    Mask,
    check_increasing,
    contiguous,
    fit_weights,
)
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream_filter import DelayedFilter

UNEVEN = 4.0
"""Ratio of the longest to the shortest interval up to which a cubic is laid."""

MARGIN = 2
"""Samples beyond the window on either side that an instant needs."""

_HALF_POWER = 0.3189167
"""f w at which sinc²(f w) = 1/√2."""

_GAUSS = np.sqrt(0.6)


def bandwidth(half_width: float) -> float:
    """Frequency at which the amplitude has fallen to 1/√2, i.e. by 3 dB [Hz].

    Args:
        half_width: w of the triangle [s].
    """
    return _HALF_POWER / half_width


def gain(frequency: npt.ArrayLike, half_width: float) -> Array:
    """Amplitude sinc²(f w) that the triangle leaves of a frequency [-].

    Args:
        frequency: f [Hz].
        half_width: w of the triangle [s].
    """
    return np.asarray(np.sinc(np.asarray(frequency) * half_width) ** 2)


DIFFERENTIATED = ('joints', 'imu', 'segments')
"""Signals whose triangle must not be shorter than the time between their samples."""


def check_half_width(half_width: float | None, signal: str, period: float) -> None:
    """Refuse a filter that a signal is too slow for.

    Raises:
        SensingError: if the half-width [s] of the triangle is shorter than the period [s] of one
            of `DIFFERENTIATED`.
    """
    differentiated = signal.partition('[')[0] in DIFFERENTIATED
    if half_width is not None and differentiated and half_width < 0.999 * period:
        raise SensingError(
            f'The half-width of the matched filter, {1e3 * half_width:g} ms, is shorter than the '
            f"time between the messages of '{signal}', {1e3 * period:.4g} ms; state that or more.",
            kind='half_width_too_short', signal=signal, half_width=half_width, period=period,
        )  # fmt: skip


def matched_means(
    stamps: Stamps,
    values: Array,
    half_width: float,
    max_gap: float,
    rows: slice = slice(None),
    second: bool = True,
) -> Derivatives:
    """Means of a signal and of its derivatives, at its own stamps.

    Args:
        stamps: (T,) strictly increasing [ns].
        values: (T, m) the signal; NaN makes the means of its column NaN in every window that
            holds it.
        half_width: w of the triangle [s].
        max_gap: no window across a longer time between two samples [s].
        rows: those whose means are wanted; the others count as invalid.
        second: whether the second derivative is wanted; else it is NaN.
    """
    stamps = np.ascontiguousarray(stamps, dtype=np.int64)
    values = np.ascontiguousarray(values, dtype=np.float64)
    check_increasing(stamps)
    begin, end, _ = rows.indices(len(stamps))
    width, gap = nanoseconds(half_width), nanoseconds(max_gap)
    fit, valid = np.empty((3, *values.shape)), np.empty(len(values), dtype=np.bool_)
    means(stamps, values, width, gap, begin, end, second, fit, valid)
    return Derivatives(fit[0], fit[1], fit[2], valid)


def kernel_weights(stamps: Stamps, row: int, half_width: float) -> tuple[int, Array]:
    """Weights of the samples in the three means at the stamp of one of them.

    Args:
        stamps: (T,) strictly increasing [ns], contiguous.
        row: of the instant.
        half_width: w of the triangle [s].

    Returns:
        Row of the first sample with a weight; (3, k) its weight and those of the following ones in
        the means of x, ẋ [1/s] and ẍ [1/s²]. k is 0 if the window is not in the samples.
    """
    width = nanoseconds(half_width)
    first, last = _window(np.ascontiguousarray(stamps, np.int64), row, width, np.int64(1 << 62))
    if first < 0:
        return 0, np.empty((3, 0))
    return first, _weights(stamps, row, first, last, width, True)


def matched_stream(
    half_width: float, width: int, max_gap: float, differentiated: int = 0
) -> DelayedFilter:
    """Make the filter for a stream that arrives in pieces: `half_width` and three samples behind.

    Args:
        half_width: w of the triangle [s].
        width: numbers per sample.
        max_gap: no window across a longer time between two samples [s].
        differentiated: of the first so many numbers the mean derivative follows the means.
    """

    def match(stamps: Stamps, values: Array, rows: slice) -> Array:
        matched = matched_means(stamps, values, half_width, max_gap, rows, second=False)
        return np.hstack([matched.value[rows], matched.first[rows, :differentiated]])

    reach = nanoseconds(half_width)
    return DelayedFilter(match, width, (reach, reach), MARGIN)


@kernel
def means(
    stamps: Stamps,
    x: Array,
    half_width: int,
    gap: int,
    begin: int,
    end: int,
    second: bool,
    fit: Array,
    valid: Mask,
) -> None:
    """Write the means (3, T, m) of rows `begin` to `end`, and (T,) where they are valid."""
    columns = x.shape[1]
    fit[:] = np.nan
    valid[:] = False
    times, weights, total = np.empty(0, np.int64), np.empty((3, 0)), np.empty((3, columns))
    for k in range(begin, end):
        first, last = _window(stamps, k, half_width, gap)
        if first < 0:
            continue
        valid[k] = True
        count = last + 1 - first
        same = len(times) == count
        i = 0
        while same and i < count:
            same = stamps[first + i] - stamps[k] == times[i]
            i += 1
        if not same:  # with a steady clock they hardly ever change
            times = np.empty(count, np.int64)
            for i in range(count):
                times[i] = stamps[first + i] - stamps[k]
            weights = _weights(stamps, k, first, last, half_width, second)
        for j in range(columns):
            total[0, j] = total[1, j] = total[2, j] = 0.0
        for i in range(count):
            for j in range(columns):
                # Differences to the middle sample keep the digits of a slowly moving joint.
                difference = x[first + i, j] - x[k, j]
                total[0, j] += weights[0, i] * difference
                total[1, j] += weights[1, i] * difference
                total[2, j] += weights[2, i] * difference
        for j in range(columns):
            fit[0, k, j], fit[1, k, j] = total[0, j] + x[k, j], total[1, j]
            if second:
                fit[2, k, j] = total[2, j]


@kernel
def _window(stamps: Stamps, row: int, half_width: int, gap: int) -> tuple[int, int]:
    """First and last sample that the window of an instant needs; (-1, -1) if one is missing."""
    first = row
    while first >= 0 and stamps[first] > stamps[row] - half_width:
        first -= 1
    last = row
    while last < len(stamps) and stamps[last] < stamps[row] + half_width:
        last += 1
    if not contiguous(stamps, first - MARGIN, last + MARGIN, gap):
        return -1, -1
    return first - MARGIN, last + MARGIN


@kernel
def _weights(
    stamps: Stamps, row: int, first: int, last: int, half_width: int, second: bool
) -> Array:
    """Weights (3, k) of the samples `first` to `last` in the means of x, ẋ and ẍ."""
    count = last - first + 1
    times = np.empty(count)
    for i in range(count):
        times[i] = (stamps[first + i] - stamps[row]) / NANOSECONDS
    w = half_width / NANOSECONDS
    weights = np.zeros((3, count))
    basis = np.empty(4)
    for i in range(2, count - 3):
        begin, end = max(times[i], -w), min(times[i + 1], w)
        middle, half = 0.5 * (begin + end), 0.5 * (end - begin)
        for g in range(-1, 2):  # Gauss: exact to degree 5, a cubic times a straight line has 4
            s = middle + g * _GAUSS * half
            part = half * (8.0 if g == 0 else 5.0) / 9.0
            _cubic(times, i, s, basis)
            for b in range(4):
                weights[0, i - 1 + b] += part * basis[b] * (1.0 - abs(s) / w) / w
                weights[1, i - 1 + b] += part * basis[b] * np.sign(s) / (w * w)
    if not second:
        return weights
    for i, s, factor in ((2, -w, 1.0), (row - first, 0.0, -2.0), (count - 4, w, 1.0)):
        _add_value(times, i, s, factor / (w * w), weights[2])
    return weights


@kernel
def _add_value(times: Array, i: int, s: float, factor: float, weights: Array) -> None:
    """Add the weights of the smoothed value at the time s, between the samples i and i+1."""
    middle = i if s - times[i] <= times[i + 1] - s else i + 1
    near = np.empty(5)
    shortest, longest = np.inf, 0.0
    for b in range(5):
        near[b] = times[middle - 2 + b] - s
        if b > 0:
            step = times[middle - 2 + b] - times[middle - 3 + b]
            shortest, longest = min(shortest, step), max(longest, step)
    if longest > UNEVEN * shortest:
        share = (s - times[i]) / (times[i + 1] - times[i])
        weights[i] += factor * (1.0 - share)
        weights[i + 1] += factor * share
        return
    fit = fit_weights(near, 3)
    for b in range(5):
        weights[middle - 2 + b] += factor * fit[0, b]


@inlined
def _cubic(times: Array, i: int, s: float, basis: Array) -> None:
    """Weights (4,) of the samples i-1 to i+2 in the curve at the time s between i and i+1."""
    a, b, c, d = times[i - 1], times[i], times[i + 1], times[i + 2]
    longest = max(b - a, c - b, d - c)
    if longest > UNEVEN * min(b - a, c - b, d - c):
        basis[0] = basis[3] = 0.0
        basis[2] = (s - b) / (c - b)
        basis[1] = 1.0 - basis[2]
        return
    basis[0] = (s - b) * (s - c) * (s - d) / ((a - b) * (a - c) * (a - d))
    basis[1] = (s - a) * (s - c) * (s - d) / ((b - a) * (b - c) * (b - d))
    basis[2] = (s - a) * (s - b) * (s - d) / ((c - a) * (c - b) * (c - d))
    basis[3] = (s - a) * (s - b) * (s - c) / ((d - a) * (d - b) * (d - c))
