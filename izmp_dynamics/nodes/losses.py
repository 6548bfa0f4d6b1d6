"""Notices messages that DDS dropped, by the numbers that a publisher gives its messages."""

from collections.abc import Callable, Mapping
from typing import Any


class Losses:
    """Watches one subscription; the first message may have any number.

    Several publishers count each for themselves, and the middleware does not state which is which:
    then nothing is noticed. Nor is it where the middleware gives no numbers (Humble; Cyclone DDS).

    Args:
        publishers: counts them.
        lost: is given the number of messages that are missing before this one.
    """

    def __init__(self, publishers: Callable[[], int], lost: Callable[[int], None]) -> None:
        self._publishers = publishers
        self._lost = lost
        self._last = 0

    def restart(self) -> None:
        """Let the next message have any number."""
        self._last = 0

    def see(self, info: Mapping[str, Any]) -> None:
        """Take what the middleware states about a message."""
        number = info.get('publication_sequence_number')
        if number is None:
            return
        last, self._last = self._last, number
        if last and number > last + 1 and self._publishers() == 1:
            self._lost(number - last - 1)
