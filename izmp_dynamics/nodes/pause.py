"""What a node does when no message comes: hand out what waits, and be ready to go on.

Whether a recording has ended, a simulation is paused or the messages come slowly is not known. So
what waits for a next sample is handed out by copies of the pipeline's stages, as at the end; if
messages come again, the stages go on as if there had been no pause, and what was handed out is not
published a second time. Thus the wall clock decides when results come, and not which.
"""

import time
from collections import deque
from collections.abc import Iterable

from izmp_dynamics.nodes.health import Input
from izmp_dynamics.signals.stamps import nanoseconds

FLUSH_AFTER = 1.0
"""Time without any message after which what waits is handed out, at least [s]."""

USUAL_TIMES = 50.0
"""It takes so many times the usual time between messages, too."""

LAG, USUAL_LAG = 0.1, 3.0
"""A topic that is behind another by more has lost messages, or is late [s], [usual steps]."""

LOOK_EVERY = 0.25
"""Time after which a node looks for pauses of its inputs and new publishers [s]."""

_LOOKS = 40


class PauseWatch:
    """Notices that no message comes any more; looks at the number of messages every `LOOK_EVERY`.

    A process that the system stops, or gives no time as it is busy, does not look meanwhile, so
    that it takes no pause of its own for one of the messages, which wait in its queues then.
    """

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque(maxlen=_LOOKS)
        self._over, self._vain = True, 0

    def begins(self, count: int, newest: float, at_least: float = FLUSH_AFTER) -> bool:
        """Look; return whether a pause has begun since the last look.

        Args:
            count: messages so far.
            newest: when the last one was received, by the steady clock [s].
            at_least: no shorter time without a message is a pause [s].
        """
        if not self._looks or count != self._looks[-1][1]:
            self._looks.append((newest, count))
            self._over, self._vain = False, 0
            return False
        self._vain += 1
        silent = min(time.monotonic() - newest, self._vain * LOOK_EVERY)
        if self._over or silent <= max(at_least, self._longest()):
            return False
        self._over = True
        return True

    def _longest(self) -> float:
        """Time without a message that is no pause, by the usual time between two [s]."""
        (first, before), (last, count) = self._looks[0], self._looks[-1]
        usual = (last - first) / (count - before) if count > before else 0.0
        return USUAL_TIMES * usual


def some_are_behind(inputs: Iterable[Input], patience: float) -> bool:
    """Whether messages of a topic are still to come, as its stamps are behind those of another.

    With reliable delivery, what was lost on the way comes up to some seconds later.

    Args:
        inputs: of a node.
        patience: a topic that is behind by more is not waited for [s].
    """
    known = [entry for entry in inputs if entry.count > 1]
    newest = max((entry.newest for entry in known), default=0)
    return any(
        max(nanoseconds(LAG), USUAL_LAG * entry.usual_step)
        < newest - entry.newest
        < nanoseconds(patience)
        for entry in known
    )
