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
