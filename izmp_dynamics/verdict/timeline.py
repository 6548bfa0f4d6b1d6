"""Instants as spans of time: shares, runs and what is sustained, with uneven stamps and gaps."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps, seconds
from izmp_dynamics.base.store import Store

Mask = npt.NDArray[np.bool_]
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
        store: keeps what is as long as the recording.
    """

    time: Array
    span: Array
    gap_after: Mask
    store: Store = field(default_factory=Store, repr=False, compare=False)

    @classmethod
    def of(cls, stamps: Stamps, store: Store | None = None) -> 'Timeline':
        """Build the timeline of ascending `stamps` (K,) [ns].

        Args:
            stamps: the instants.
            store: keeps the times; None: in memory.
        """
        store = store or Store()
        if len(stamps) < 2:
            nothing = np.zeros(len(stamps))
            return cls(seconds(stamps), nothing, np.zeros(len(stamps), dtype=bool), store)
        by_rows = partial(store.by_rows, len(stamps))
        origin = int(stamps[0])
        time = by_rows(lambda rows: seconds(stamps[rows], origin))
        step = by_rows(lambda rows: np.diff(time[rows.start : rows.stop + 1]))
        typical = store.median(step)

        def until_next(rows: slice) -> Array:
            return step[rows] if rows.stop < len(time) else np.append(step[rows], 0.0)

        gap_after = by_rows(lambda rows: until_next(rows) > GAP_FACTOR * typical)
        span = by_rows(lambda rows: np.where(gap_after[rows], typical, until_next(rows)))
        return cls(time, span, gap_after, store)

    @cached_property
    def usual_step(self) -> float:
        """Median of the spans that are not empty [s]; NaN without any."""
        return self.store.median(self.by_rows(lambda rows: self.span[rows][self.span[rows] > 0]))

    @property
    def duration(self) -> float:
        """Time from the first to the last instant [s]."""
        return float(self.time[-1]) if len(self.time) else 0.0

    def total(self, mask: Mask) -> float:
        """Time that the instants of `mask` (K,) stand for [s]."""
        return self.sum(lambda rows: self.span[rows][mask[rows]])

    def by_rows(self, function: Callable[[slice], Any]) -> Any:
        """Compute an array (K, …) from a function of some of its rows."""
        return self.store.by_rows(len(self.time), function)

    def sum(self, function: Callable[[slice], Array]) -> float:
        """Add up what a function gives for some of the instants."""
        total = self.store.reduce(np.add, len(self.time), lambda rows: function(rows).sum())
        return float(total)

    def share(self, part: Mask, whole: Mask) -> float:
        """Share of the time of `whole` (K,) in which `part` (K,) holds; NaN for no time at all."""
        if not whole.any():
            return float('nan')
        time = self.total(whole)
        if time == 0:
            return float((part & whole).sum() / whole.sum())
        return min(1.0, self.total(part & whole) / time)

    def runs(self, mask: Mask) -> tuple[Indices, Indices]:
        """Find the unbroken runs of `mask` (K,); a gap in the recording ends a run.

        Returns:
            first and one-past-last index of each run.
        """
        joined = mask[:-1] & mask[1:] & ~self.gap_after[:-1]
        first = mask.copy()
        first[1:] &= ~joined
        last = mask.copy()
        last[:-1] &= ~joined
        return np.flatnonzero(first), np.flatnonzero(last) + 1

    def sustained(self, mask: Mask) -> Mask:
        """Find where `mask` (K,) holds for at least half of the `WINDOW` around an instant.

        A single spike, however high, is not sustained; an excursion with a few samples of noise
        in it is.
        """
        held = self.store.running_sum(len(self.time), lambda rows: self.span[rows] * mask[rows])

        def holds(rows: slice) -> Mask:
            here = self.time[rows]
            start = np.searchsorted(self.time, here - WINDOW / 2, side='left')
            stop = np.searchsorted(self.time, here + WINDOW / 2, side='right')
            enough: Mask = held[stop] - held[start] >= WINDOW / 2 - 1e-9
            return enough

        found: Mask = self.by_rows(holds)
        return found
