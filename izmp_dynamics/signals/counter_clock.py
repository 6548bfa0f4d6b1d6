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


class CounterClock:
    """Dates the messages of one topic; the same stamps for pieces of any length.

    Args:
        unit: time that the counter advances by one in [s].
        bits: of the counter; None: it does not wrap.
    """

    def __init__(self, unit: float, bits: int | None = None) -> None:
        self._unit = unit * NANOSECONDS
        wrap = 0.0 if bits is None else 2.0**bits * self._unit
        self._wrap = round(wrap) if wrap < 2.0**62 else 0
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
        with np.errstate(invalid='ignore'):
            counted = np.rint(np.nan_to_num(counts) * self._unit).astype(np.int64)
        last = self._last or (int(counted[0]), int(received[0]), int(received[0]))
        steps = np.diff(counted, prepend=last[0])
        waited = np.diff(received, prepend=last[1])
        if self._wrap:
            steps = steps + self._wrap * np.rint((waited - steps) / self._wrap).astype(np.int64)
        restarts = (steps < -BACK) | (steps - waited > AHEAD) | (waited - steps > BEHIND)
        stamps: Stamps = last[2] + np.cumsum(np.where(restarts, waited, steps))
        self._last = int(counted[-1]), int(received[-1]), int(stamps[-1])
        return stamps
