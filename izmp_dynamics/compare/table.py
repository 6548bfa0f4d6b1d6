"""The differences of results, with a 95 % confidence interval, and the tables of their numbers.

* Over the gait cycle, strides are independent samples: Welch's interval of the difference of two
  means (Welch, 1947), at each phase for itself.
* Over time, two recordings give one difference at each instant, and neighbours resemble each
  other: the variance of its mean over a time follows from its autocovariance about the mean over
  all instants, up to the lag where noise begins (Geyer, 1992). Where the recording is shorter
  than five times this lag, there is no interval.

Tables are for the page and as CSV.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.result import Aligned, Alignment, Result
from izmp_dynamics.pages.picture import Table, number

WINDOW = 1.0
"""Time over which the difference over time is averaged [s]."""

_QUANTILE = 0.975
_LEAST = 5.0  # degrees of freedom that an interval needs


class Difference(NamedTuple):
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
    return np.fft.irfft(spectrum, size)[: len(values)]


HEADINGS = (
    'quantity', 'unit', 'result', 'n', 'mean', 'standard deviation', 'smallest', 'largest',
    'difference to the first', '95 % from', '95 % to',
)  # fmt: skip

_KNOWN = 0.9  # share of a stride that its mean needs
_LARGE = 10.0  # from here on one decimal is shown, else three


def numbers(results: Sequence[Result], alignment: Alignment) -> Table:
    """All numbers of each quantity of each result under `HEADINGS`, for CSV."""
    steps = alignment.by == 'steps'
    rows = [row for each in alignment.quantities for row in _rows(results, each, steps)]
    return Table(HEADINGS, rows)


def _rows(results: Sequence[Result], aligned: Aligned, steps: bool) -> Iterator[list[str | float]]:
    reference = aligned.rows[0]
    for k, (result, values) in enumerate(zip(results, aligned.rows, strict=True)):
        difference, half = math.nan, math.nan
        if k:
            pair = _means(reference), _means(values)
            found = of_strides(*pair) if steps else of_all(values[0] - reference[0])
            difference, half = map(float, found)
        known = values[np.isfinite(values)]
        count = len(values) if steps else len(known)
        if not len(known):
            known = np.array([math.nan])
        yield [
            aligned.quantity.label, aligned.quantity.unit, result.name, str(count),
            *map(float, (known.mean(), known.std(), known.min(), known.max())),
            difference, difference - half, difference + half,
        ]  # fmt: skip


def _means(rows: Array) -> Array:
    """Mean of each stride (S,); NaN of one with a value at less than 90 % of its phases."""
    enough = np.isfinite(rows).mean(axis=1) >= _KNOWN
    return np.where(enough, mean_known(rows, 1), np.nan)


def shown(table: Table) -> Table:
    """The numbers rounded, for the page."""
    headings = ('quantity', 'result', 'n', 'mean ± σ', 'smallest', 'largest',
                'difference to the first (95 %)')  # fmt: skip
    return Table(headings, [_cells(*row) for row in table.rows])


def _cells(label: Any, unit: Any, result: Any, count: Any, *values: Any) -> list[str]:
    mean, deviation, smallest, largest, difference, low, high = values
    digits = 1 if max(abs(smallest), abs(largest)) >= _LARGE else 3
    compared, half = number(difference, digits), number(0.5 * (high - low), digits)
    return [
        f'{label} [{unit}]', result, count,
        f'{number(mean, digits)} ± {number(deviation, digits)}',
        number(smallest, digits), number(largest, digits),
        compared if math.isnan(low) else f'{compared} ± {half}',
    ]  # fmt: skip
