"""Instants as spans of time: shares, runs and what is sustained, with uneven stamps and gaps."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, Stamps, seconds
from izmp_dynamics.store import Store

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
    """

    time: Array
    span: Array
    gap_after: Mask

    @classmethod
    def of(cls, stamps: Stamps, store: Store | None = None) -> 'Timeline':
        """Build the timeline of ascending `stamps` (K,) [ns].

        Args:
            stamps: the instants.
            store: keeps the times; None: in memory.
        """
        if len(stamps) < 2:
            nothing = np.zeros(len(stamps))
            return cls(seconds(stamps), nothing, np.zeros(len(stamps), dtype=bool))
        by_rows = partial((store or Store()).by_rows, len(stamps))
        origin = int(stamps[0])
        time = by_rows(lambda rows: seconds(stamps[rows], origin))
        step = by_rows(lambda rows: np.diff(time[rows.start : rows.stop + 1]))
        typical = float(np.median(step))
        gap_after = np.append(step > GAP_FACTOR * typical, False)

        def span(rows: slice) -> Array:
            steps = step[rows] if rows.stop < len(time) else np.append(step[rows], 0.0)
            return np.where(gap_after[rows], typical, steps)

        return cls(time, by_rows(span), gap_after)

    @property
    def duration(self) -> float:
        """Time from the first to the last instant [s]."""
        return float(self.time[-1]) if len(self.time) else 0.0

    def total(self, mask: Mask) -> float:
        """Time that the instants of `mask` (K,) stand for [s]."""
        return float(self.span[mask].sum())

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
        held = np.concatenate([[0.0], np.cumsum(self.span * mask)])
        start = np.searchsorted(self.time, self.time - WINDOW / 2, side='left')
        stop = np.searchsorted(self.time, self.time + WINDOW / 2, side='right')
        found: Mask = held[stop] - held[start] >= WINDOW / 2 - 1e-9
        return found
