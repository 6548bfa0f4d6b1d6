"""Which of many deviations of a noisy signal stand out: a push, and not an error as they all are.

The size of a vector is its Mahalanobis distance: in standard deviations of the signal about its
median, by a covariance that single events don't change. Real signals have larger errors than this
covariance says, as after each touch-down. So an event stands out only if it is also so many times
as large as the largest that does not, and if there are not many of its kind around it: the errors
of a recording are compared with each other.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, finite_rows
from izmp_dynamics.base.store import Store
from izmp_dynamics.verdict.timeline import Mask

LEAST_SIGMA = 5.0
"""Standard deviations from which on a deviation can stand out."""

RATIO = 2.0
"""How many times as large as the largest error it must be."""

MOST, AROUND = 3, 3.0
"""Events of 1/RATIO of its size or more, itself included, that there may be within ± [s] of it."""

_MAD_TO_SIGMA = 1.4826
_WINSORISED = 3.0


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
    def of(cls, values: Array, floor: float, store: Store | None = None) -> 'Background':
        """Estimate it from values (K, d), of which rows may be NaN.

        Args:
            values: the signal.
            floor: smallest standard deviation per axis, in its unit.
            store: keeps what is as long as the signal; None: in memory.
        """
        store = store or Store()
        known = _finite(values, store)
        if not len(known):
            width = values.shape[1]
            return cls(np.zeros(width), floor**2 * np.eye(width))
        centre = np.array([store.median(axis) for axis in known.T])
        off = store.by_rows(len(known), lambda rows: np.abs(known[rows] - centre))
        sigma = np.maximum(_MAD_TO_SIGMA * np.array([store.median(v) for v in off.T]), floor)

        def products(rows: slice) -> Array:
            clipped = np.clip((known[rows] - centre) / sigma, -_WINSORISED, _WINSORISED)
            squares: Array = clipped.T @ clipped
            return squares

        joint = store.reduce(np.add, len(known), products) / len(known)
        spread = np.sqrt(np.maximum(np.diag(joint), 1e-12))
        correlation = 0.999 * joint / np.outer(spread, spread) + 0.001 * np.eye(len(joint))
        return cls(centre, correlation * np.outer(sigma, sigma))

    def sizes(self, values: Array) -> Array:
        """Mahalanobis distance (K,) of values (K, d)."""
        off = values - self.centre
        solved = np.linalg.solve(self.covariance, off.T)
        sizes: Array = np.sqrt(np.einsum('ki,ik->k', off, solved))
        return sizes


def _finite(values: Array, store: Store) -> Array:
    """The rows of values (K, d) that are finite."""
    found: Array = store.by_rows(len(values), lambda rows: values[rows][finite_rows(values[rows])])
    return found


def running_mean(values: Array, count: int, store: Store | None = None) -> Array:
    """(K − count + 1, d) means of `count` consecutive values; NaN where one of them is."""
    store = store or Store()
    sums = store.running_sum(
        len(values),
        lambda rows: np.where(finite_rows(values[rows])[:, None], values[rows], 0.0),
    )
    holes = store.running_sum(len(values), lambda rows: ~finite_rows(values[rows]))

    def mean(rows: slice) -> Array:
        after = slice(rows.start + count, rows.stop + count)
        whole = holes[after] == holes[rows]
        means: Array = np.where(whole[:, None], (sums[after] - sums[rows]) / count, np.nan)
        return means

    means: Array = store.by_rows(max(len(values) - count + 1, 0), mean)
    return means


def _without(values: Array, events: list[tuple[int, int]], store: Store) -> Array:
    """Values (K, d) that are NaN during the events."""
    during = np.zeros(len(values), dtype=bool)
    for first, stop in events:
        during[first:stop] = True
    calm: Array = store.by_rows(
        len(values), lambda rows: np.where(during[rows, None], np.nan, values[rows])
    )
    return calm


def _largest(background: Background, values: Array, store: Store) -> float:
    return float(
        store.reduce(np.maximum, len(values), lambda rows: background.sizes(values[rows]).max())
    )


def significance(
    time: Array,
    values: Array,
    events: list[tuple[int, int]],
    floor: float,
    store: Store | None = None,
) -> tuple[Array, Mask]:
    """Judge events by the mean of the signal over each.

    Args:
        time: (K,) instants [s].
        values: (K, d) the signal; NaN where it is not known.
        events: first and one-past-last row of each, disjoint.
        floor: smallest standard deviation per axis, in the unit of the signal.
        store: keeps what is as long as the signal; None: in memory.

    Returns:
        (E,) size of each event in standard deviations of means over as many rows, NaN where there
        is nothing to compare it with, and whether it stands out.
    """
    if not events:
        return np.empty(0), np.zeros(0, dtype=bool)
    store = store or Store()
    calm = _without(values, events, store)
    sizes, elsewhere = np.full(len(events), np.nan), np.full(len(events), np.inf)
    lengths = np.array([stop - first for first, stop in events], dtype=np.intp)
    for rows in np.unique(lengths).tolist():
        others = _finite(running_mean(calm, rows, store), store)
        if len(others) < rows:
            continue  # nothing to compare with
        background = Background.of(others, floor, store)
        largest = _largest(background, others, store)
        for k in np.flatnonzero(lengths == rows).tolist():
            within = values[slice(*events[k])]
            within = within[finite_rows(within)]
            if len(within):
                sizes[k] = background.sizes(within.mean(axis=0)[None])[0]
                elsewhere[k] = largest
    stands_out = np.zeros(len(events), dtype=bool)
    begins = time[[first for first, _ in events]]
    bar = 0.0
    for k in np.argsort(sizes, kind='stable').tolist():
        alike = (np.abs(begins - begins[k]) <= AROUND) & (RATIO * sizes >= sizes[k])
        large = sizes[k] >= max(LEAST_SIGMA, RATIO * max(bar, elsewhere[k]))
        stands_out[k] = large and alike.sum() <= MOST
        bar = bar if stands_out[k] else float(np.fmax(bar, sizes[k]))
    return sizes, stands_out
