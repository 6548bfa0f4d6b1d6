"""How far a signal is from its reference: the paper's Δ (sect. 4.6) and measures that bear zeros.

The paper's relative error divides every sample by the reference *at that sample*. The lateral
coordinate of a walking robot's IZMP crosses zero twice per step; a sample that falls near such a
crossing decides the mean, and shifting the sampling by 2 ms changes it by a factor of two. So it
is given as the paper prints it, and one judges by Σ|f − f_ref| / Σ|f_ref| and by millimetres.
"""

import math
from dataclasses import asdict, dataclass, fields

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError, ShapeError


class MetricsError(IzmpError):
    """Two signals cannot be compared."""


@dataclass(frozen=True)
class Deviation:
    """How far one coordinate of a signal is from its reference.

    Attributes:
        count: samples at which both have a value.
        paper: Δ of sect. 4.6 as printed [%]; infinite if the reference is zero at a sample.
        relative: Σ|f − f_ref| / Σ|f_ref| [%]; infinite if the reference is zero throughout.
        mean: mean of |f − f_ref| in the unit of the signal.
        rms: root of the mean of (f − f_ref)².
        largest: largest |f − f_ref|.
        bias: mean of f − f_ref.
    """

    count: int
    paper: float
    relative: float
    mean: float
    rms: float
    largest: float
    bias: float

    def as_dict(self) -> dict[str, float]:
        """Return the measures by name."""
        return asdict(self)


MEASURES = tuple(field.name for field in fields(Deviation))
"""Names of the measures in their order."""


def deviation(values: Array, reference: Array) -> Deviation:
    """Compare a signal with a reference; samples without a value (NaN) in either are left out.

    Args:
        values: (K,) f.
        reference: (K,) f_ref, in the same unit and at the same instants.

    Raises:
        ShapeError: the two have not the same shape (K,).
        MetricsError: there is no sample at which both have a value.
    """
    values, reference = np.asarray(values, np.float64), np.asarray(reference, np.float64)
    if values.ndim != 1 or values.shape != reference.shape:
        raise ShapeError('values', f'{reference.shape}, that of the reference', values.shape)
    both = np.isfinite(values) & np.isfinite(reference)
    if not both.any():
        raise MetricsError(
            f'At none of the {len(values)} instants do signal and reference both have a value, '
            'so there is nothing to compare.',
            kind='nothing_in_common',
            instants=len(values),
        )
    error, size = values[both] - reference[both], np.abs(reference[both])
    return Deviation(
        count=int(both.sum()),
        paper=paper_delta(values[both], reference[both]),
        relative=_ratio(float(np.abs(error).sum()), float(size.sum())),
        mean=float(np.abs(error).mean()),
        rms=float(np.sqrt(np.mean(error * error))),
        largest=float(np.abs(error).max()),
        bias=float(error.mean()),
    )


def paper_delta(values: Array, reference: Array) -> float:
    """Δ = Σ_{k=0}^{n} |f − f_ref| / |f_ref| · 100 % · 1/n, exactly as the paper prints it.

    The sum has n + 1 terms and is divided by n, so it is not quite a mean.

    Args:
        values: (n + 1,) f, finite.
        reference: (n + 1,) f_ref, finite.

    Returns:
        Δ [%]; infinite where f differs from a reference of zero, NaN for a single sample.
    """
    n = len(values) - 1
    if n < 1:
        return math.nan
    error, size = np.abs(values - reference), np.abs(reference)
    if np.any((size == 0.0) & (error > 0.0)):
        return math.inf
    ratio = np.divide(error, size, out=np.zeros_like(error), where=size > 0.0)
    return float(100.0 * ratio.sum() / n)


def _ratio(error: float, size: float) -> float:
    """100 error / size; 0 if both are zero."""
    if size > 0.0:
        return 100.0 * error / size
    return math.inf if error > 0.0 else 0.0


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
    from scipy.stats import t as student

    spread = float(repetitions.std(ddof=1)) / math.sqrt(count)
    return Estimate(mean, float(student.ppf(0.975, count - 1)) * spread, count, middle, ends)
