"""When an alarm is raised and when it ends, by the probability that there is a reason for it."""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array

Flags = npt.NDArray[np.bool_]

HORIZON = 1.0
"""Falls are predicted so far ahead [s]."""

WAIT = 0.1
"""Time in which the next instants make surer what is not [s]."""

HOLD = 0.5
"""An alarm ends when there was no reason for it for so long [s]."""


def threshold(missed_fall: float) -> float:
    """Probability from which on an alarm costs less than to wait until it is surer.

    An alarm that is wrong costs 1. Waiting for `WAIT` costs that share of a missed fall by which
    the time that is left to act gets shorter: (1 − p) · 1 = p · missed_fall · WAIT / HORIZON.

    Args:
        missed_fall: what a missed fall costs, in false alarms.
    """
    return 1.0 / (1.0 + missed_fall * WAIT / HORIZON)


class AlarmRule:
    """Judges instants one after the other; pieces of any length give the same results.

    There is a reason for an alarm as long as its probability is high enough. Instants that share
    samples share their errors; so the alarm is raised when the reason has lasted until an instant
    that shares none with the first one.

    Args:
        least: probability from which on there is a reason.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self.reset()

    def reset(self) -> None:
        """Forget the alarm."""
        self._reason, self._begun, self._raised = False, -np.inf, -np.inf

    def push(self, times: Array, probability: Array, overlap: float) -> Flags:
        """Whether (K,) the alarm is raised, or was within `HOLD`.

        Args:
            times: (K,) [s].
            probability: (K,); NaN: there is no reason.
            overlap: time for which a reason must last [s].
        """
        reason = probability >= self._least
        begins = reason & ~np.append(self._reason, reason[:-1])
        begun = _latest(self._begun, begins, times)
        raised = _latest(self._raised, reason & (times - begun >= overlap), times)
        if len(times):
            self._reason, self._begun, self._raised = reason[-1], begun[-1], raised[-1]
        alarm: Flags = times - raised < HOLD
        return alarm


def _latest(before: float, rows: Flags, times: Array) -> Array:
    """Time (K,) of the latest of some rows, `before` until there is one."""
    latest: Array = np.maximum.accumulate(np.append(before, np.where(rows, times, -np.inf)))
    return latest[1:]
