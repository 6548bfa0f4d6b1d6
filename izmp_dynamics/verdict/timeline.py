"""Instants as spans of time: shares, runs and what is sustained, with uneven stamps and gaps."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Flags, Stamps, seconds
from izmp_dynamics.base.robust import median

Indices = npt.NDArray[np.intp]

GAP_FACTOR = 3.0
"""A step longer than this many median steps is a gap."""

WINDOW = 0.1
"""Time [s] in more than half of which something must hold to be called sustained."""


@dataclass(frozen=True)
class Timeline:
    """The instants of an evaluation and the time that each stands for.

    Attributes:
        time: (K,) instants since the first one [s].
        span: (K,) time until the next instant [s]; a gap counts as one median step.
        gap_after: (K,) whether the recording has a gap after the instant.
    """

    time: Array
    span: Array
    gap_after: Flags

    @classmethod
    def of(cls, stamps: Stamps) -> 'Timeline':
        """Build the timeline of ascending `stamps` (K,) [ns]."""
        time = seconds(stamps)
        if len(time) < 2:
            return cls(time, np.zeros(len(time)), np.zeros(len(time), dtype=bool))
        step = np.diff(time, append=time[-1])
        typical = median(step[:-1])
        gap_after = step > GAP_FACTOR * typical
        return cls(time, np.where(gap_after, typical, step), gap_after)

    @cached_property
    def usual_step(self) -> float:
        """Median of the spans that are not empty [s]; NaN without any."""
        return median(self.span[self.span > 0])

    @property
    def duration(self) -> float:
        """Time from the first to the last instant [s]."""
        return float(self.time[-1]) if len(self.time) else 0.0

    def total(self, mask: Flags) -> float:
        """Time that the instants of `mask` (K,) stand for [s]."""
        return float(self.span[mask].sum())

    def share(self, part: Flags, whole: Flags) -> float:
        """Share of the time of `whole` (K,) in which `part` (K,) holds; NaN for no time at all."""
        if not whole.any():
            return float('nan')
        time = self.total(whole)
        if time == 0:
            return float((part & whole).sum() / whole.sum())
        return min(1.0, self.total(part & whole) / time)

    def mean(self, values: Array) -> float:
        """Mean of the known values (K,): each instant weighs as long as it lasts."""
        known = np.isfinite(values)
        time, values = self.total(known), values[known]
        if time == 0:
            return float(values.mean()) if len(values) else float('nan')
        return float(values @ self.span[known]) / time

    def runs(self, mask: Flags) -> tuple[Indices, Indices]:
        """Find the unbroken runs of `mask` (K,); a gap in the recording ends a run.

        Returns:
            first and one-past-last index of each run.
        """
        joined = mask[:-1] & mask[1:] & ~self.gap_after[:-1]
        first, last = mask.copy(), mask.copy()
        first[1:] &= ~joined
        last[:-1] &= ~joined
        return np.flatnonzero(first), np.flatnonzero(last) + 1

    def longest_run(self, mask: Flags) -> tuple[float, float]:
        """Duration of the longest run of a mask (K,), and its first instant; 0 and NaN [s]."""
        first, stop = self.runs(mask)
        if not len(first):
            return 0.0, float('nan')
        ends = running_sum(self.span * mask)
        lasts = ends[stop] - ends[first]
        longest = int(lasts.argmax())
        return float(lasts[longest]), float(self.time[first[longest]])

    def within(self, first: float, stop: float) -> slice:
        """Rows of the instants from one time [s] to just before another."""
        return slice(*np.searchsorted(self.time, [first, stop]).tolist())

    def sustained(self, mask: Flags) -> Flags:
        """Find where `mask` (K,) holds for at least half of the `WINDOW` around an instant.

        A single spike, however high, is not sustained; an excursion with a few samples of noise
        in it is.
        """
        held = running_sum(self.span * mask)
        start = np.searchsorted(self.time, self.time - WINDOW / 2, side='left')
        stop = np.searchsorted(self.time, self.time + WINDOW / 2, side='right')
        return np.asarray(held[stop] - held[start] >= WINDOW / 2 - 1e-9)


def running_sum(values: npt.NDArray[np.generic]) -> Array:
    """Sums (K + 1,) of all values (K,) before each one, and of all."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, dtype=np.float64, out=sums[1:])
    return sums


def changes(values: npt.NDArray[np.generic]) -> Indices:
    """Rows at which values (K,) differ from those of the row before."""
    return np.flatnonzero(values[1:] != values[:-1]) + 1
