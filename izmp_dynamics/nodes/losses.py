"""Notices messages that DDS dropped, by the numbers that a publisher gives its messages."""

from collections.abc import Callable, Mapping
from typing import Any


class Losses:
    """Watches one subscription; the first message may have any number.

    Several publishers count each for themselves, and the middleware does not state which is which:
    then nothing is noticed. Nor is it where the middleware gives no numbers (Humble; Cyclone DDS).

    Attributes:
        following: number of the next message if none is missing; negative: not known.

    Args:
        publishers: counts them.
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
