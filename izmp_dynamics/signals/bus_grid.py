"""The ticks of the field bus: which instants of a faster stream reach the dynamics (sect. 4.6)."""

import math
from fractions import Fraction

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Stamps
from izmp_dynamics.signals.differences import Mask

_LARGEST_DENOMINATOR = 1000
"""Of the rate as a fraction, so that the arithmetic is exact in 64 bits."""

_MARGIN = 0.25
"""Part of a sample by which a tick may be longer than a whole number of samples."""


_FEW = 8
"""Instants up to which Python is faster than numpy."""


class BusGrid:
    """Decimates a stream to the first instant at or after each tick of the bus.

    The ticks are multiples of 1 / rate since stamp zero, so the choice depends on the stamps
    alone: a recording, a window of it and a running system, whenever it was started, have the
    same instants. An instant belongs to a tick already half a sample before it, so that jitter
    does not change the pattern of a stream whose stamps lie on the ticks; a lost sample shifts
    only its own tick. Of a stream that is hardly faster than the bus every instant is selected.

    Args:
        rate: rate of the bus [Hz].
        period: nominal time between the samples of the stream [s].
    """

    def __init__(self, rate: float, period: float) -> None:
        self._samples = max(1, math.ceil(1.0 / (rate * period) - _MARGIN))
        ticks = Fraction(rate).limit_denominator(_LARGEST_DENOMINATOR)
        self._ticks, self._seconds = ticks.numerator, ticks.denominator
        self._early = round(NANOSECONDS / (2.0 * self._samples * rate))

    def select(self, stamps: Stamps, before: int | None = None) -> Mask:
        """Select the instants that reach the bus.

        Args:
            stamps: (K,) increasing instants [ns].
            before: the instant before the first one [ns]. Without one it is not known whether the
                first one is the first of its tick, and it is left out.

        Returns:
            (K,) mask.
        """
        if self._samples == 1:
            return np.ones(len(stamps), dtype=np.bool_)
        if len(stamps) <= _FEW:
            ticks = [*map(self._tick, stamps.tolist())]
            befores = [*(ticks[:1] if before is None else [self._tick(before)]), *ticks]
            return np.array([*map(int.__gt__, ticks, befores)], dtype=np.bool_)
        seconds, rest = np.divmod(np.asarray(stamps, np.int64) + self._early, NANOSECONDS)
        ticks = (seconds * self._ticks + rest * self._ticks // NANOSECONDS) // self._seconds
        selected = np.empty(len(stamps), dtype=np.bool_)
        selected[1:] = np.diff(ticks) > 0
        selected[0] = before is not None and self._tick(int(stamps[0])) > self._tick(before)
        return selected

    def next_after(self, stamp: int) -> int:
        """Earliest time [ns] of the first instant that is selected after this one."""
        if self._samples == 1:
            return stamp
        begin = (self._tick(stamp) + 1) * self._seconds * NANOSECONDS
        return -(-begin // self._ticks) - self._early

    def _tick(self, stamp: int) -> int:
        """Number of the tick that an instant [ns] belongs to."""
        return (stamp + self._early) * self._ticks // (self._seconds * NANOSECONDS)
