"""Which messages the nodes of a graph keep while the computer is too slow for them.

Processes that skip what they are late for skip different instants; where each of four keeps a
quarter, hardly an instant is left that all have. So each skips by a grid that all share: time, by
stamps, is divided into stretches, counted from zero. Of messages that have waited too long, those
in every 2nd stretch are kept; after twice the time in every 4th, and so on. What the latest of all
nodes keeps is then kept by the others as well, without a word between them.
"""

from izmp_dynamics.signals.stamps import nanoseconds

INSTANTS = 8
"""Periods of the bus in a stretch; the longer, the older results are at its end."""


class KeptStretches:
    """The stretches.

    Args:
        length: of a stretch, by stamps [s].
        longest_wait: time up to which all messages are kept [s].
    """

    def __init__(self, length: float, longest_wait: float) -> None:
        self._length, self._longest_wait = nanoseconds(length), nanoseconds(longest_wait)

    def keep(self, stamp: int, wait: int) -> bool:
        """Whether a message is kept.

        Args:
            stamp: [ns].
            wait: time since it was received [ns].
        """
        if wait <= self._longest_wait:
            return True
        level = (wait // self._longest_wait).bit_length()
        return not (stamp // self._length) % (1 << level)
