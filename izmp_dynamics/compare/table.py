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
from dataclasses import dataclass

import numpy as np
from scipy import stats

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.result import Aligned, Alignment, Result
from izmp_dynamics.pages.picture import Table, number

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
    return np.fft.irfft(spectrum, size)[: len(values)]


HEADINGS = (
    'quantity', 'unit', 'result', 'n', 'mean', 'standard deviation', 'smallest', 'largest',
    'difference to the first', '95 % from', '95 % to',
)  # fmt: skip

_KNOWN = 0.9  # share of a stride that its mean needs
_LARGE = 10.0  # from here on one decimal is shown, else three


@dataclass(frozen=True)
class Row:
    """A quantity of a result.

    Attributes:
        label: of the quantity.
        unit: of all numbers but `count`.
        result: name of the result.
        count: strides, or instants.
        mean: over all of them.
        deviation: of the values from it.
        smallest: value.
        largest: value.
        difference: of the mean to that of the first result; NaN of the first.
        half: half the width of its 95 % interval.
    """

    label: str
    unit: str
    result: str
    count: int
    mean: float
    deviation: float
    smallest: float
    largest: float
    difference: float
    half: float


def rows_of(results: Sequence[Result], alignment: Alignment) -> list[Row]:
    """Describe each quantity of each result."""
    return [row for aligned in alignment.quantities for row in _rows(results, alignment, aligned)]


def _rows(results: Sequence[Result], alignment: Alignment, aligned: Aligned) -> Iterator[Row]:
    steps = alignment.by == 'steps'
    reference = aligned.rows[0]
    for k, (result, values) in enumerate(zip(results, aligned.rows, strict=True)):
        difference, half = math.nan, math.nan
        if k and steps:
            found = of_strides(_means(reference), _means(values))
            difference, half = float(found.mean), float(found.half)
        elif k:
            found = of_all(values[0] - reference[0])
            difference, half = float(found.mean), float(found.half)
        known = values[np.isfinite(values)]
        if not len(known):
            known = np.array([math.nan])
        yield Row(
            aligned.quantity.label, aligned.quantity.unit, result.name,
            len(values) if steps else int(np.isfinite(values).sum()),
            float(known.mean()), float(known.std()), float(known.min()), float(known.max()),
            difference, half,
        )  # fmt: skip


def _means(rows: Array) -> Array:
    """Mean of each stride (S,); NaN of one with a value at less than 90 % of its phases."""
    enough = np.isfinite(rows).mean(axis=1) >= _KNOWN
    return np.where(enough, mean_known(rows, 1), np.nan)


def as_table(rows: Sequence[Row]) -> Table:
    """All numbers with six digits, for CSV."""
    return Table(
        HEADINGS,
        [
            [row.label, row.unit, row.result, str(row.count), row.mean, row.deviation,
             row.smallest, row.largest, row.difference, row.difference - row.half,
             row.difference + row.half]
            for row in rows
        ],
    )  # fmt: skip


def shown(rows: Sequence[Row]) -> Table:
    """The same rounded, for the page."""
    headings = ('quantity', 'result', 'n', 'mean ± σ', 'smallest', 'largest',
                'difference to the first (95 %)')  # fmt: skip
    return Table(headings, [list(_cells(row)) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    digits = 1 if max(abs(row.smallest), abs(row.largest)) >= _LARGE else 3
    mean, deviation, smallest, largest, difference, half = (
        number(value, digits)
        for value in (row.mean, row.deviation, row.smallest, row.largest, row.difference, row.half)
    )
    compared = difference if math.isnan(row.half) else f'{difference} ± {half}'
    spread = f'{mean} ± {deviation}'
    label = f'{row.label} [{row.unit}]'
    return label, row.result, str(row.count), spread, smallest, largest, compared
