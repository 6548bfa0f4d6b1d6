"""Stamps from a counter in the messages, such as Unitree's `tick`, which has no date.

The first message is dated by its arrival, every further one by what the counter has advanced. A
counter that wraps goes on; one that restarts, with its robot, goes on by the time of arrival.
"""

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps

BACK = round(0.1 * NANOSECONDS)
"""A counter that goes back by more has restarted: no message is so much out of order [ns]."""

AHEAD = 1 * NANOSECONDS
"""So has one that advances by so much more than the time of arrival [ns]."""

BEHIND = 10 * NANOSECONDS
"""And one that advances by so much less, which messages that are held up do as well [ns]."""


MOST = 2.0**62
"""Larger counts are no times [ns]."""


class CounterClock:
    """Dates the messages of one topic; the same stamps for pieces of any length.

    Args:
        unit: time that the counter advances by one in [s].
        bits: of the counter; None: it does not wrap.
    """

    def __init__(self, unit: float, bits: int | None = None) -> None:
        self._unit = unit * NANOSECONDS
        wrap = 0.0 if bits is None else 2.0**bits * self._unit
        self._wrap = round(wrap) if wrap < MOST else 0
        self._last: tuple[int, int, int] | None = None  # counted, received, stamp [ns]

    def stamps(self, counts: Array, received: Stamps) -> Stamps:
        """Date messages, in the order of arrival.

        Args:
            counts: (T,) of the messages.
            received: (T,) when they arrived [ns].

        Returns:
            (T,) [ns].
        """
        if not len(counts):
            return np.zeros(0, np.int64)
        first = self.stamp(float(counts[0]), int(received[0]))
        counted = counts * self._unit
        counted = np.rint(np.where(np.abs(counted) < MOST, counted, 0.0)).astype(np.int64)
        steps, waited = np.diff(counted), np.diff(received)
        if self._wrap:
            steps = steps + self._wrap * np.rint((waited - steps) / self._wrap).astype(np.int64)
        restarts = (steps < -BACK) | (steps - waited > AHEAD) | (waited - steps > BEHIND)
        stamps = np.full(len(counts), first)
        stamps[1:] += np.cumsum(np.where(restarts, waited, steps))
        self._last = int(counted[-1]), int(received[-1]), int(stamps[-1])
        return stamps

    def stamp(self, count: float, received: int) -> int:
        """Date one message, as `stamps` does."""
        scaled = count * self._unit
        counted = round(scaled) if abs(scaled) < MOST else 0  # which NaN is not
        if self._last is None:
            self._last = counted, received, received
        step, waited = counted - self._last[0], received - self._last[1]
        if self._wrap:
            step += self._wrap * round((waited - step) / self._wrap)
        if step < -BACK or step - waited > AHEAD or waited - step > BEHIND:
            step = waited
        self._last = counted, received, self._last[2] + step
        return self._last[2]
