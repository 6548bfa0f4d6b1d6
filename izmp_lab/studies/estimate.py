"""What repetitions of a measurement say about its mean."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.metrics import MetricsError

_ENOUGH = 40
"""Repetitions from which on the outer 2.5 % are left out of a range."""


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions and how well it is known.

    Attributes:
        mean: of the repetitions.
        half_width: of the 95 % confidence interval (Student's t); NaN for one repetition.
        count: number of repetitions.
        median: of the repetitions.
        range: (2,) between which 95 % of single repetitions are; the least and the largest of
            fewer than 40.
    """

    mean: float
    half_width: float
    count: int
    median: float
    range: tuple[float, float]

    def has(self, value: float) -> bool:
        """Whether a single repetition could have a value."""
        return self.range[0] <= value <= self.range[1]


def estimate(repetitions: Array) -> Estimate:
    """Return mean, 95 % confidence interval, median and range of repetitions (S,).

    Raises:
        MetricsError: if there is none.
    """
    repetitions = np.asarray(repetitions, np.float64).ravel()
    count = len(repetitions)
    if not count:
        raise MetricsError(
            'A mean needs at least one repetition.',
            kind='no_repetition',
        )
    low, high = np.quantile(repetitions, (0.025, 0.975), method='inverted_cdf')
    middle, ends = float(np.median(repetitions)), (float(low), float(high))
    if count < _ENOUGH:
        ends = float(repetitions.min()), float(repetitions.max())
    mean = float(repetitions.mean())
    if count == 1 or not np.isfinite(repetitions).all():
        return Estimate(mean, math.nan, count, middle, ends)
    spread = float(repetitions.std(ddof=1)) / math.sqrt(count)
    return Estimate(mean, float(student.ppf(0.975, count - 1)) * spread, count, middle, ends)
