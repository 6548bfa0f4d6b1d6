"""Which stamps the nodes of a graph keep while the computer is too slow for them.

Processes that skip what they are late for skip different instants; where each of four keeps a
quarter, hardly an instant is left that all have. So a node that is late too often keeps every
2nd, 4th, 8th … stretch of time, counted from stamp zero. Whatever each of them needs, the
stretches that the slowest node keeps are kept by all.
"""

from izmp_dynamics.sensing.stamps import nanoseconds

INSTANTS = 8
"""Periods of the bus in a stretch; the longer, the older results are at its end."""

LARGEST_LEVEL = 6
"""Of 64 stretches one is kept, at least."""

LOOK_EVERY = 2.0
"""Time after which a node looks how late it was [s]; four cycles of stretches if that is more."""

TOO_MANY = 0.2
"""If a larger part of the messages that it keeps waits too long, a node keeps fewer [-].

Four nodes that lose no more, each for itself, leave a fifth of the instants at the worst.
"""

RESERVE, AT_EASE = 0.8, 0.16
"""Part of its time that a node may need for twice as many stretches; mean wait with which it may
keep all again, as part of a stretch [-]."""


class KeptStretches:
    """Follows how late a node is.

    Args:
        length: of a stretch, by stamps [s].
        longest_wait: time after which a message is too old, where all are kept [s].

    Attributes:
        length: as above.
        level: of 2**level stretches one is kept.
    """

    def __init__(self, length: float, longest_wait: float) -> None:
        self.length, self.level = length, 0
        self._length, self._longest_wait = nanoseconds(length), nanoseconds(longest_wait)
        self._begin(0.0)

    def keeps(self, stamp: int, wait: int) -> bool:
        """Whether a message is kept.

        If it has waited too long, only in every 2nd of the stretches that are kept otherwise, and
        in every 4th after twice the time: those that the slowest node keeps are skipped last.

        Args:
            stamp: [ns].
            wait: time since it was received [ns].
        """
        stretch = stamp // self._length
        if stretch % (1 << self.level):
            return False
        if wait > self.longest_wait:
            further = (wait // self.longest_wait).bit_length()
            if stretch % (1 << (self.level + further)):
                self._skipped += 1
                return False
        self._handed_out += 1
        self._waits += wait
        return True

    @property
    def longest_wait(self) -> int:
        """Time after which a message is too old [ns]: the next stretch that is kept comes then."""
        return max(self._longest_wait, self._length << self.level if self.level else 0)

    def look(self, now: float) -> None:
        """Keep half as many or twice as many stretches, if that is better.

        Args:
            now: by the steady clock [s].
        """
        if now - self._since < max(LOOK_EVERY, 4.0 * self.length * (1 << self.level)):
            return
        if self._skipped > TOO_MANY * (self._skipped + self._handed_out):
            self.level = min(self.level + 1, LARGEST_LEVEL)
        elif self.level and not self._skipped and self._is_at_ease:
            self.level -= 1
        self._begin(now)

    @property
    def _is_at_ease(self) -> bool:
        """Whether a node has time for twice as many stretches, by the waits of the messages.

        While it takes a stretch, they grow from zero to (load − 1) lengths of it.
        """
        most = max(AT_EASE, 0.5 * (RESERVE * (1 << (self.level - 1)) - 1.0))
        return self._waits <= most * self._length * self._handed_out

    def _begin(self, now: float) -> None:
        self._since = now
        self._handed_out = self._skipped = self._waits = 0
