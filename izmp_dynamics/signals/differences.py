"""Derivatives of sampled signals by difference quotients on the actual stamps.

Every quotient belongs to an instant, and the functions return it in the row of that instant:

* `backward_quotient`: the paper's (sect. 4.4.1), (x_k - x_(k-1)) / Δt, taken as value at k;
* `central_quotient`: first and second derivative at k of the parabola through k-1, k, k+1;
* `paper_quotient`: the paper's pair, the backward quotient at k and the second difference at k;
* `local_polynomial`: a least-squares polynomial through a window around k (the method of
  Savitzky and Golay, 1964, with the weights computed for the stamps as they are).

The stamps may be spaced unevenly. A quotient never reaches across a gap longer than `max_gap`.
Rows without a value hold NaN, and `valid` is False there. All functions are pure and work on one
row as on many, with the same numbers.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SensingError, ShapeError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.stamps import nanoseconds

Mask = npt.NDArray[np.bool_]

METHODS = ('central', 'paper', 'savitzky_golay')
"""Names of the quotients in robot files; 'paper' is the backward quotient, with the
second difference of the middle of its three samples, where a second derivative is wanted."""

NO_GAP = 1 << 62
"""A gap that no log has [ns]."""


class Derivatives(NamedTuple):
    """A signal and its derivatives at the sampled instants.

    Attributes:
        value: (T, m) the signal.
        first: (T, m) first derivative [1/s].
        second: (T, m) second derivative [1/s²].
        valid: (T,) whether there is a value; where False, the rows hold NaN.
    """

    value: Array
    first: Array
    second: Array
    valid: Mask


def backward_quotient(
    stamps: Stamps, values: Array, max_gap: float | None = None
) -> tuple[Array, Mask]:
    """First derivative by the difference to the sample before (paper, sect. 4.4.1).

    Args:
        stamps: (T,) strictly increasing [ns].
        values: (T, m) the signal.
        max_gap: no quotient across a longer time [s]; None: any.

    Returns:
        (T, m) derivative [1/s], taken as the value at k although it is the mean over
        (k-1, k); (T,) whether there is one.
    """
    stamps, values, gap = _checked(stamps, values, max_gap)
    first, valid = np.empty(values.shape), np.empty(len(values), dtype=np.bool_)
    backward(stamps, values, gap, first, valid)
    return first, valid


def central_quotient(stamps: Stamps, values: Array, max_gap: float | None = None) -> Derivatives:
    """First and second derivative of the parabola through three neighbouring samples.

    Exact for polynomials of degree 2; on even spacing these are the textbook formulas.

    Args:
        stamps: (T,) strictly increasing [ns].
        values: (T, m) the signal.
        max_gap: no quotient across a longer time [s]; None: any.
    """
    stamps, values, gap = _checked(stamps, values, max_gap)
    fit, valid = np.empty((3, *values.shape)), np.empty(len(values), dtype=np.bool_)
    central(stamps, values, gap, fit, valid)
    return Derivatives(fit[0], fit[1], fit[2], valid)


def local_polynomial(
    stamps: Stamps, values: Array, window: int, degree: int, max_gap: float | None = None
) -> Derivatives:
    """Value and derivatives of the least-squares polynomial through a window of samples.

    Args:
        stamps: (T,) strictly increasing [ns].
        values: (T, m) the signal.
        window: number of samples, odd; the instant is the middle one.
        degree: of the polynomial, 2 to 4, less than `window`.
        max_gap: no window across a longer time between two samples [s]; None: any.

    Raises:
        SensingError: impossible window or degree.
    """
    check_window(window, degree)
    stamps, values, gap = _checked(stamps, values, max_gap)
    fit, valid = np.empty((3, *values.shape)), np.empty(len(values), dtype=np.bool_)
    polynomial(stamps, values, window // 2, degree, gap, fit, valid)
    return Derivatives(fit[0], fit[1], fit[2], valid)


def check_window(window: int, degree: int) -> None:
    """Refuse a window or degree that the local polynomial cannot have."""
    if not 2 <= degree <= 4:
        raise SensingError(
            f'The polynomial degree must be 2, 3 or 4, not {degree}.',
            kind='degree', degree=degree,
        )  # fmt: skip
    if window % 2 == 0 or window <= degree:
        raise SensingError(
            f'The window must be an odd number of samples greater than the degree {degree}, '
            f'not {window}.',
            kind='window', window=window, degree=degree,
        )  # fmt: skip


def check_increasing(stamps: Stamps) -> None:
    """Refuse stamps that do not strictly increase."""
    stuck = _first_stuck(stamps)
    if stuck >= 0:
        raise SensingError(
            f'The stamps must strictly increase, but sample {stuck + 1} '
            f'({stamps[stuck + 1]} ns) follows {stamps[stuck]} ns.',
            kind='stamps_not_increasing', sample=stuck + 1, stamp=int(stamps[stuck + 1]),
        )  # fmt: skip


def _checked(stamps: Stamps, values: Array, max_gap: float | None) -> tuple[Stamps, Array, int]:
    stamps = np.ascontiguousarray(stamps, dtype=np.int64)
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(stamps):
        raise ShapeError('values', f'({len(stamps)}, m)', values.shape)
    check_increasing(stamps)
    return stamps, values, NO_GAP if max_gap is None else nanoseconds(max_gap)


@kernel
def _first_stuck(stamps: Stamps) -> int:
    """The first row whose successor is not later; -1 without one."""
    for k in range(len(stamps) - 1):
        if stamps[k + 1] <= stamps[k]:
            return k
    return -1


@kernel
def contiguous(stamps: Stamps, first: int, last: int, gap: int) -> bool:
    """Whether rows `first` to `last` exist and no gap lies between them."""
    if first < 0 or last >= len(stamps):
        return False
    longest = np.int64(0)
    for k in range(first, last):
        longest = max(longest, stamps[k + 1] - stamps[k])
    return bool(longest <= gap)


@kernel
def backward(stamps: Stamps, x: Array, gap: int, first: Array, valid: Mask) -> None:
    """Write the backward quotient (T, m), and (T,) where it is valid."""
    rows, width = x.shape
    first[:] = np.nan
    valid[:] = False
    for k in range(1, rows):
        if not contiguous(stamps, k - 1, k, gap):
            continue
        valid[k] = True
        h = (stamps[k] - stamps[k - 1]) / NANOSECONDS
        for j in range(width):
            first[k, j] = (x[k, j] - x[k - 1, j]) / h


@kernel
def central(stamps: Stamps, x: Array, gap: int, fit: Array, valid: Mask) -> None:
    """Write value, derivatives (3, T, m), and (T,) where they are valid."""
    rows, width = x.shape
    fit[:] = np.nan
    valid[:] = False
    value, first, second = fit[0], fit[1], fit[2]
    for k in range(1, rows - 1):
        if not contiguous(stamps, k - 1, k + 1, gap):
            continue
        valid[k] = True
        h1 = (stamps[k] - stamps[k - 1]) / NANOSECONDS
        h2 = (stamps[k + 1] - stamps[k]) / NANOSECONDS
        for j in range(width):
            value[k, j] = x[k, j]
            before = (x[k, j] - x[k - 1, j]) / h1
            after = (x[k + 1, j] - x[k, j]) / h2
            first[k, j] = (before * h2 + after * h1) / (h1 + h2)
            second[k, j] = 2.0 * (after - before) / (h1 + h2)


@kernel
def fit_weights(times: Array, degree: int) -> Array:
    """Weights (3, w) of the samples in value, first and second derivative at time zero.

    The basis 1, τ, τ² ... is made orthonormal over the samples (modified Gram-Schmidt, twice),
    so that the fit stays accurate for uneven stamps; τ = t / max|t|.
    """
    count, terms = len(times), degree + 1
    scale = max(abs(times[0]), abs(times[-1]))
    basis = np.empty((terms, count))
    coefficients = np.zeros((terms, terms))  # row i: orthonormal polynomial i in powers of τ
    for i in range(terms):  # loops, as numba takes long to compile operations on arrays
        coefficients[i, i] = 1.0
        for k in range(count):
            basis[i, k] = basis[i - 1, k] * (times[k] / scale) if i > 0 else 1.0
        if i > 0:
            for k in range(terms):
                coefficients[i, k] = coefficients[i - 1, k - 1] if k > 0 else 0.0
        for _ in range(2):
            for m in range(i):
                share = _product(basis[i], basis[m])
                for k in range(count):
                    basis[i, k] -= share * basis[m, k]
                for k in range(terms):
                    coefficients[i, k] -= share * coefficients[m, k]
        norm = np.sqrt(_product(basis[i], basis[i]))
        for k in range(count):
            basis[i, k] /= norm
        for k in range(terms):
            coefficients[i, k] /= norm
    weights = np.zeros((3, count))
    for i in range(terms):
        for k in range(count):
            weights[0, k] += coefficients[i, 0] * basis[i, k]
            weights[1, k] += coefficients[i, 1] / scale * basis[i, k]
            weights[2, k] += 2.0 * coefficients[i, 2] / (scale * scale) * basis[i, k]
    return weights


@kernel
def _product(a: Array, b: Array) -> float:
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel
def polynomial(
    stamps: Stamps, x: Array, half: int, degree: int, gap: int, fit: Array, valid: Mask
) -> None:
    """Write value and derivatives (3, T, m) of the local polynomial, (T,) where they are valid."""
    rows, width = x.shape
    fit[:] = np.nan
    valid[:] = False
    times = np.empty(2 * half + 1)
    for k in range(half, rows - half):
        if not contiguous(stamps, k - half, k + half, gap):
            continue
        valid[k] = True
        for i in range(2 * half + 1):
            times[i] = (stamps[k - half + i] - stamps[k]) / NANOSECONDS
        weights = fit_weights(times, degree)
        for d in range(3):
            for j in range(width):
                # Differences to the middle sample keep the digits of a slowly moving joint.
                total = 0.0
                for i in range(2 * half + 1):
                    total += weights[d, i] * (x[k - half + i, j] - x[k, j])
                fit[d, k, j] = total + x[k, j] if d == 0 else total
