"""The difference of two results, with a 95 % confidence interval.

* Over the gait cycle, strides are independent samples: Welch's interval of the difference of two
  means (Welch, 1947), at each phase for itself.
* Over time, two recordings give one difference at each instant, and neighbours resemble each
  other: its mean over a time has the interval of n (1 − ρ)/(1 + ρ) samples, where ρ is the
  correlation of neighbours (Bayley and Hammersley, 1946, for a process of first order).
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from izmp_dynamics.conventions import Array

WINDOW = 1.0
"""Time over which the difference over time is averaged [s]."""

_QUANTILE = 0.975
_LEAST = 3  # values that an interval needs


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


def _moments(rows: Array) -> tuple[Array, Array, Array]:
    """Number, mean and squared standard error of the values along the first axis."""
    known = np.isfinite(rows)
    n = known.sum(axis=0).astype(np.float64)
    with np.errstate(invalid='ignore', divide='ignore'):
        mean = np.where(known, rows, 0.0).sum(axis=0) / n
        spread = (np.where(known, rows - mean, 0.0) ** 2).sum(axis=0) / (n - 1)
        return n, mean, spread / n


def over_time(time: Array, difference: Array) -> Difference:
    """Average a difference (N,) over `WINDOW` around each instant (N,) [s].

    What is left of it after that counts as one fluctuation, the same throughout.
    """
    first = np.searchsorted(time, time - WINDOW / 2)
    stop = np.searchsorted(time, time + WINDOW / 2, side='right')
    known = np.isfinite(difference)
    counts = np.concatenate([[0], np.cumsum(known)])
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, difference, 0.0))])
    n = (counts[stop] - counts[first]).astype(np.float64)
    with np.errstate(invalid='ignore', divide='ignore'):
        mean = (sums[stop] - sums[first]) / n
    return Difference(mean, _half(difference - mean, n))


def of_all(difference: Array) -> Difference:
    """Average a difference (N,) over all instants."""
    known = difference[np.isfinite(difference)]
    mean = np.array(known.mean() if len(known) else np.nan)
    return Difference(mean, _half(difference - mean, np.array(float(len(known)))))


def _half(fluctuation: Array, n: Array) -> Array:
    """Half width of the interval of means over n values of a fluctuation (N,), mean zero."""
    known = fluctuation[np.isfinite(fluctuation)]
    pairs = fluctuation[:-1] * fluctuation[1:]
    pairs = pairs[np.isfinite(pairs)]
    if len(known) < _LEAST or not len(pairs):
        return np.full(np.shape(n), np.nan)
    variance = float(np.mean(known**2))
    rho = float(np.clip(pairs.mean() / variance, 0.0, 1.0 - 1e-9)) if variance > 0 else 0.0
    share = (1.0 - rho) / (1.0 + rho)
    freedom = max(len(known) * share - 1.0, 1.0)
    effective = np.maximum(n * share, 1.0)
    half: Array = stats.t.ppf(_QUANTILE, freedom) * np.sqrt(variance / effective)
    return np.where(n > 0, half, np.nan)
