"""Which messages the nodes of a graph keep while the computer is too slow, and which DDS dropped.

Processes that skip what they are late for skip different instants; where each of four keeps a
quarter, hardly an instant is left that all have. So each skips by a grid that all share: time, by
stamps, is divided into segments, counted from zero. Of messages that have waited too long, those
in every 2nd segment are kept; after twice the time in every 4th, and so on. What the latest of all
nodes keeps is then kept by the others as well, without a word between them.
"""

from collections.abc import Callable, Mapping
from typing import Any

from izmp_dynamics.signals.stamps import nanoseconds

INSTANTS = 8
"""Periods of the bus in a segment; the longer, the older results are at its end."""


class KeptSegments:
    """The segments of time whose messages are kept.

    Args:
        length: of a segment, by stamps [s].
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


class Losses:
    """Notices missing messages of a subscription by their numbers; the first may have any.

    Several publishers count each for themselves, and the middleware does not state which is which:
    then nothing is noticed. Nor is it where the middleware gives no numbers (Humble; Cyclone DDS).

    Attributes:
        following: number of the next message if none is missing; negative: not known.

    Args:
        lost: is given the number of messages that are missing before this one.
    """

    def __init__(self, publishers: Callable[[], int], lost: Callable[[int], None]) -> None:
        self._publishers = publishers
        self._lost = lost
        self.following = -1

    def restart(self) -> None:
        """Let the next message have any number."""
        self.following = -1

    def see(self, info: Mapping[str, Any]) -> None:
        """Take what the middleware states about a message."""
        number = info.get('publication_sequence_number')
        if number is None:
            return
        following, self.following = self.following, number + 1
        if 1 < following < number and self._publishers() == 1:
            self._lost(number - following)
