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
from izmp_dynamics.base.robust import MAD_TO_SIGMA
from izmp_dynamics.verdict.timeline import Mask, running_sum

LEAST_SIGMA = 5.0
"""Standard deviations from which on a deviation can stand out."""

RATIO = 2.0
"""How many times as large as the largest error it must be."""

MOST, AROUND = 3, 3.0
"""Events of 1/RATIO of its size or more, itself included, that there may be within ± [s] of it."""

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
    def of(cls, known: Array, floor: float) -> 'Background':
        """Estimate it.

        Args:
            known: (K, d) finite values of the signal.
            floor: smallest standard deviation per axis, in its unit.
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


def significance(
    time: Array,
    values: Array,
    events: list[tuple[int, int]],
    floor: float,
) -> tuple[Array, Mask]:
    """Judge events by the mean of the signal over each.

    Args:
        time: (K,) instants [s].
        values: (K, d) the signal; NaN where it is not known.
        events: first and one-past-last row of each, disjoint.
        floor: smallest standard deviation per axis, in the unit of the signal.

    Returns:
        (E,) size of each event in standard deviations of means over as many rows, NaN where there
        is nothing to compare it with, and whether it stands out.
    """
    if not events:
        return np.empty(0), np.zeros(0, dtype=bool)
    calm = np.array(values)
    for first, stop in events:
        calm[first:stop] = np.nan
    sizes, elsewhere = np.full(len(events), np.nan), np.full(len(events), np.inf)
    lengths = np.array([stop - first for first, stop in events], dtype=np.intp)
    for rows in np.unique(lengths).tolist():
        others = running_mean(calm, rows)
        others = others[finite_rows(others)]
        if len(others) < rows:
            continue  # nothing to compare with
        background = Background.of(others, floor)
        largest = float(background.sizes(others).max())
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
