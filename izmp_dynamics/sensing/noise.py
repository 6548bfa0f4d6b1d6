"""White sensor noise as in the paper (sect. 4.6): standard deviation σ = ν √f, mean zero.

ν is the noise density that data sheets state, f the sample rate.

How much there is in a signal, is seen from the signal alone. Motion is smooth from one sample to
the next, noise is not: what a sample differs by from the polynomial through its ten neighbours is
almost only noise, at 60 Hz too (through six a tenth of 12 Hz would count). Of independent errors σ
of the samples this residual has the standard deviation σ √(1 + Σ L²), L being the weights of the
neighbours. Steps of an encoder, jitter of the stamps and vibration count as noise, as they act
like it.

A shock (a heel strike) is no noise: the size in each block of samples comes from the median of its
residuals. The mean over the blocks counts the time in which a joint moves over its steps, and that
in which it rests on one.
"""

import math

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.differences import Mask

NEIGHBOURS = 5
"""Samples on either side through which the polynomial goes."""

BLOCK = 32
"""Residuals of which the median is taken."""

UNEVEN = 3.0
"""Ratio of the longest to the mean interval of a polynomial up to which it counts.

Beyond, it spans a gap, across which motion is not smooth. A short interval does no harm.
"""

RUBBISH = 1e4
"""A block so many times as large as the median one is no noise, but of a sensor that fails."""

_MEDIAN = 0.6744897501960817
"""Median of |x| for a normal x of standard deviation 1."""


def noise_floor(stamps: Stamps, values: Array) -> Array:
    """Standard deviation of the white noise in a signal.

    Args:
        stamps: (T,) in the order of arrival [ns].
        values: (T, m) the signal; what is not finite counts as missing in its column alone.

    Returns:
        (m,) in the unit of the signal; NaN where there are too few samples, or its square is
        too large for a number.
    """
    there = np.isfinite(values)
    if not there.all():
        parts = zip(there.T, values.T, strict=True)
        return np.concatenate([noise_floor(stamps[t], column[t, None]) for t, column in parts])
    off = residuals(stamps, values)
    blocks = len(off) // BLOCK
    if not blocks:
        return np.full(values.shape[1], np.nan)
    sizes = np.abs(off[: blocks * BLOCK]).reshape(blocks, BLOCK, -1)
    sigmas = np.median(sizes, axis=1) / _MEDIAN
    usual = [np.median(column[column > 0.0]) if (column > 0.0).any() else 0.0
             for column in sigmas.T]  # fmt: skip
    with np.errstate(all='ignore'):  # no gate has seen the values
        known = sigmas <= RUBBISH * np.array(usual)
        variance = np.sum(np.where(known, sigmas, 0.0) ** 2, axis=0) / known.sum(axis=0)
    return np.sqrt(np.where(np.isfinite(variance), variance, np.nan))


def residuals(stamps: Stamps, values: Array) -> Array:
    """Distance of samples from the polynomial through their neighbours, scaled to white noise.

    Args:
        stamps: (T,) in the order of arrival [ns].
        values: (T, m) the signal.

    Returns:
        (K, m) for the K samples with enough neighbours and no gap between them.
    """
    scaled, used = _residuals(
        np.ascontiguousarray(stamps, np.int64), np.ascontiguousarray(values, np.float64)
    )
    return scaled[used]


@kernel
def _residuals(stamps: Stamps, x: Array) -> tuple[Array, Mask]:
    rows, columns = x.shape
    scaled = np.full((rows, columns), np.nan)
    used = np.zeros(rows, dtype=np.bool_)
    count = 2 * NEIGHBOURS + 1
    times, weights = np.empty(count), np.empty(count)
    for k in range(NEIGHBOURS, rows - NEIGHBOURS):
        for i in range(count):
            times[i] = (stamps[k + i - NEIGHBOURS] - stamps[k]) / NANOSECONDS
        shortest, longest, total = np.inf, 0.0, 0.0
        for i in range(1, count):
            step = times[i] - times[i - 1]
            shortest, longest = min(shortest, step), max(longest, step)
            total += step
        if shortest <= 0.0 or longest > UNEVEN * (total / (count - 1)):
            continue
        used[k] = True
        squares = 1.0
        for i in range(count):
            weights[i] = 0.0 if i == NEIGHBOURS else 1.0
            for other in range(count):
                if other not in (i, NEIGHBOURS):
                    weights[i] *= -times[other] / (times[i] - times[other])
            squares += weights[i] * weights[i]
        for j in range(columns):
            distance = 0.0
            for i in range(count):
                distance += weights[i] * (x[k, j] - x[k + i - NEIGHBOURS, j])
            scaled[k, j] = distance / np.sqrt(squares)
    return scaled, used


STANDARD_GRAVITY = 9.80665
"""The unit 'g' of data sheets [m/s²]; not the gravity at the robot's place."""


def micro_g(density: float) -> float:
    """Convert an accelerometer's noise density from µg/√Hz to m/s²/√Hz."""
    return density * 1e-6 * STANDARD_GRAVITY


def degrees(density: float) -> float:
    """Convert a gyroscope's noise density from °/s/√Hz to rad/s/√Hz."""
    return math.radians(density)


XSENS_ACCELEROMETER = micro_g(60.0)
"""Accelerometer noise density of Xsens MTi units [m/s²/√Hz]: 60 µg/√Hz typically.

Source: Xsens, MTi User Manual (document MT0605P), sensor specifications; the MTi-300 data sheet
(Movella, May 2023) states the same number. The maker's own measurement, 0.0137 m/s² at 400 Hz
('RMS noise of accelerometers and gyroscopes', base.xsens.com), makes 70 µg/√Hz.
"""


def standard_deviation(density: float, rate: float) -> float:
    """Return σ = ν √f (sect. 4.6).

    Args:
        density: noise density ν [unit/√Hz].
        rate: sample rate f [Hz].

    Raises:
        SensingError: a negative density or a rate that is not positive.
    """
    if not (0.0 <= density < math.inf and 0.0 < rate < math.inf):
        raise SensingError(
            f'Noise needs a density of zero or more and a positive rate, '
            f'but has {density} per √Hz and {rate} Hz.',
            kind='noise',
            density=density,
            rate=rate,
        )
    return density * math.sqrt(rate)
