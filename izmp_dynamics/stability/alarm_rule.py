"""When an alarm is raised and when it ends, by the probability that there is a reason for it."""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.kernel import kernel

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
        self._state = np.array([0.0, -np.inf, -np.inf])

    def push(self, times: Array, probability: Array, overlap: float) -> Flags:
        """Whether (K,) the alarm is raised, or was within `HOLD`.

        Args:
            times: (K,) [s].
            probability: (K,); NaN: there is no reason.
            overlap: time for which a reason must last [s].
        """
        alarm = np.empty(len(times), dtype=np.bool_)
        _judge(times, probability, self._least, float(overlap), self._state, alarm)
        return alarm


@kernel
def _judge(
    times: Array, probability: Array, least: float, overlap: float, state: Array, alarm: Flags
) -> None:
    """Write what `AlarmRule.push` returns.

    The state is changed: whether there was a reason at the last instant, since when, and when
    there was last one that raised the alarm [s].
    """
    for k in range(len(times)):
        reason = probability[k] >= least
        if reason and not state[0]:
            state[1] = max(state[1], times[k])
        if reason and times[k] - state[1] >= overlap:
            state[2] = max(state[2], times[k])
        state[0] = reason
        alarm[k] = times[k] - state[2] < HOLD
