"""The difference of two results, with a 95 % confidence interval.

* Over the gait cycle, strides are independent samples: Welch's interval of the difference of two
  means (Welch, 1947), at each phase for itself.
* Over time, two recordings give one difference at each instant, and neighbours resemble each
  other: the variance of its mean over a time follows from its autocovariance about the mean over
  all instants, up to the lag where noise begins (Geyer, 1992). Where the recording is shorter
  than five times this lag, there is no interval.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from izmp_dynamics.base.conventions import Array

WINDOW = 1.0
"""Time over which the difference over time is averaged [s]."""

_QUANTILE = 0.975
_LEAST = 5.0  # degrees of freedom that an interval needs


@dataclass(frozen=True)
class Difference:
    """Mean difference and its interval; arrays or single numbers, NaN where it is not known.

    Attributes:
        mean: second less first.
        half: half the width of the 95 % interval.
    """

    mean: Array
    half: Array


def of_strides(first: Array, second: Array) -> Difference:
    """Compare strides (S, N) of two results, phase by phase; or their means (S,)."""
    counts, means, parts = zip(*(_moments(rows) for rows in (first, second)), strict=True)
    with np.errstate(invalid='ignore', divide='ignore'):
        error = parts[0] + parts[1]
        freedom = error**2 / sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True))
        half = stats.t.ppf(_QUANTILE, freedom) * np.sqrt(error)
    return Difference(means[1] - means[0], half)


def mean_known(values: Array, axis: int) -> Array:
    """Mean along an axis of what is known; NaN where nothing is."""
    known = np.isfinite(values)
    with np.errstate(invalid='ignore'):
        mean: Array = np.where(known, values, 0.0).sum(axis) / known.sum(axis)
    return mean


def _moments(rows: Array) -> tuple[Array, Array, Array]:
    """Number, mean and squared standard error of the values along the first axis."""
    n, mean = np.isfinite(rows).sum(axis=0).astype(np.float64), mean_known(rows, 0)
    with np.errstate(invalid='ignore', divide='ignore'):
        return n, mean, mean_known((rows - mean) ** 2, 0) / (n - 1)


def over_time(time: Array, difference: Array) -> Difference:
    """Average a difference (N,) over `WINDOW` around each instant (N,) [s].

    Its deviation from the mean over all instants counts as one fluctuation, the same throughout.
    """
    first = np.searchsorted(time, time - WINDOW / 2)
    stop = np.searchsorted(time, time + WINDOW / 2, side='right')
    known = np.isfinite(difference)
    counts = np.concatenate([[0], np.cumsum(known)])
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, difference, 0.0))])
    n = (counts[stop] - counts[first]).astype(np.float64)
    with np.errstate(invalid='ignore', divide='ignore'):
        mean = (sums[stop] - sums[first]) / n
    return Difference(mean, _half(difference - mean_known(difference, 0), n))


def of_all(difference: Array) -> Difference:
    """Average a difference (N,) over all instants."""
    mean = mean_known(difference, 0)
    return Difference(mean, _half(difference - mean, np.array(np.isfinite(difference).sum())))


def _half(fluctuation: Array, n: Array) -> Array:
    """Half width of the interval of means over n neighbouring values of a fluctuation (N,).

    The variance of such a mean is Σ (n − |k|) γ(k) / n², and not less than γ(0)/n. A spectral
    estimate from L of N lags has about N/L degrees of freedom (Priestley, 1981).
    """
    covariance = _covariance(fluctuation)
    lags = len(covariance)
    freedom = np.isfinite(fluctuation).sum() / max(lags, 1)
    if freedom < _LEAST:
        return np.full(np.shape(n), np.nan)
    within = np.clip(n, 1, lags).astype(np.int64) - 1
    sums = np.cumsum(covariance)[within]
    moments = np.cumsum(np.arange(lags) * covariance)[within]
    with np.errstate(invalid='ignore', divide='ignore'):
        variance = (n * (2.0 * sums - covariance[0]) - 2.0 * moments) / n**2
        half: Array = stats.t.ppf(_QUANTILE, freedom) * np.sqrt(
            np.maximum(variance, covariance[0] / n)
        )
    return np.where(n > 0, half, np.nan)


def _covariance(fluctuation: Array) -> Array:
    """Autocovariance (L,) of a fluctuation (N,) with mean zero and gaps, as far as it is known.

    Pairs of lags have a positive sum where the fluctuation is reversible, so from the first pair
    on that has none there is noise alone (Geyer, 1992).
    """
    known = np.isfinite(fluctuation)
    products = _lagged(np.where(known, fluctuation, 0.0))
    pairs = products[: len(products) // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    stop = max(2 * int(ends[0]), 1) if len(ends) else len(products)
    return products[:stop] / np.maximum(np.round(_lagged(known.astype(np.float64))[:stop]), 1.0)


def _lagged(values: Array) -> Array:
    """Sums of products of values (N,) with those k later, k = 0 … N − 1."""
    size = 2 * len(values)
    spectrum = np.abs(np.fft.rfft(values, size)) ** 2
    sums: Array = np.fft.irfft(spectrum, size)[: len(values)]
    return sums
