"""Statistics of values that may be unknown (NaN), or few: NaN where there is nothing to say."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, finite_rows

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute deviations."""

_WINSORISED = 3.0


def finite(values: Array) -> Array:
    """The finite ones of values (K,)."""
    return values[np.isfinite(values)]


def mean(values: Array) -> float:
    """Mean of the finite values (K,)."""
    known = finite(values)
    return float(known.mean()) if len(known) else math.nan


def median(values: Array) -> float:
    """Median of the finite values (K,)."""
    known = finite(values)
    return float(np.median(known)) if len(known) else math.nan


def percentile(values: Array, q: float) -> float:
    """Percentile of the finite values (K,), linear as by NumPy."""
    known = finite(values)
    return float(np.percentile(known, q)) if len(known) else math.nan


def rms(values: Array) -> float:
    """Root of the mean square of the finite values (K,)."""
    known = finite(values)
    return float(np.sqrt((known**2).mean())) if len(known) else math.nan


def lowest(values: Array) -> int | None:
    """Row of the smallest of values (K,), the first one of equal ones; None without any."""
    return int(np.nanargmin(values)) if np.isfinite(values).any() else None


def running_sum(values: npt.NDArray[np.generic]) -> Array:
    """Sums (K + 1,) of all values (K,) before each one, and of all."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, dtype=np.float64, out=sums[1:])
    return sums


def running_mean(values: Array, count: int) -> Array:
    """(K − count + 1, d) means of `count` consecutive values; NaN where one of them is."""
    known = finite_rows(values)
    holes = running_sum(~known)
    means = np.empty((max(len(values) - count + 1, 0), values.shape[1]))
    for axis, column in enumerate(values.T):
        sums = running_sum(np.where(known, column, 0.0))
        means[:, axis] = (sums[count:] - sums[:-count]) / count
    means[holes[count:] != holes[:-count]] = np.nan
    return means


@dataclass(frozen=True)
class Background:
    """What a signal is like most of the time.

    Attributes:
        centre: (d,) median.
        covariance: (d, d) about it; that of values beyond 3 σ set to 3 σ.
    """

    centre: Array
    covariance: Array

    @classmethod
    def of(cls, known: Array, floor: float | Array) -> 'Background':
        """Estimate it.

        Args:
            known: (K, d) finite values of the signal.
            floor: smallest standard deviation of all axes, or of each (d,), in its unit.
        """
        width = known.shape[1]
        if not len(known):
            return cls(np.zeros(width), floor**2 * np.eye(width))
        centre = np.median(known, axis=0)
        off = known - centre
        sigma = np.maximum(MAD_TO_SIGMA * np.median(np.abs(off), axis=0), floor)
        clipped = np.clip(off / sigma, -_WINSORISED, _WINSORISED)
        joint = clipped.T @ clipped / len(known)
        spread = np.sqrt(np.maximum(np.diag(joint), 1e-12))
        correlation = 0.999 * joint / np.outer(spread, spread) + 0.001 * np.eye(width)
        return cls(centre, correlation * np.outer(sigma, sigma))

    def sizes(self, values: Array) -> Array:
        """Mahalanobis distance (K,) of values (K, d)."""
        off = values - self.centre
        solved = np.linalg.solve(self.covariance, off.T)
        sizes: Array = np.sqrt(np.einsum('ki,ik->k', off, solved))
        return sizes
