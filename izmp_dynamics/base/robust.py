"""Statistics of values that may be unknown (NaN), or few: NaN where there is nothing to say."""

import math

import numpy as np

from izmp_dynamics.base.conventions import Array

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal distribution over the median of its absolute deviations."""


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
