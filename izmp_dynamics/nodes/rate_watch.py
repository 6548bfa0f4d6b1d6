"""Notices that a sensor publishes at another rate than the one that was learned from it."""

from collections import Counter
from collections.abc import Iterable, Mapping

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.health import Input

RATIO = 1.5
"""Ratio of two rates beyond which they are different."""

LOOKS = 3
"""So many looks in a row must find another rate."""

FEWEST = 4
"""Messages between two looks that show a rate."""


class RateWatch:
    """Compares by stamps, so that it does not matter how fast they come."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int, int]] = {}
        self._different: Counter[str] = Counter()

    def changed(self, inputs: Iterable[Input], periods: Mapping[str, float]) -> dict[str, float]:
        """Look; return the signals whose rate has changed, with the new period [s].

        Args:
            inputs: of a node.
            periods: signal → time between its samples that was learned [s].
        """
        found = {}
        for entry in inputs:
            count, stamp, missed = self._before.get(entry.topic, (0, 0, 0))
            self._before[entry.topic] = entry.count, entry.newest, entry.missed
            learned, number = periods.get(entry.signal), entry.count - count
            if learned is None or not count or number < FEWEST or entry.missed > missed:
                continue  # a computer that is too slow shows no rate
            period = (entry.newest - stamp) / number / NANOSECONDS
            different = period > RATIO * learned or 0.0 < period < learned / RATIO
            self._different[entry.signal] = self._different[entry.signal] + 1 if different else 0
            if self._different[entry.signal] >= LOOKS:
                self._different[entry.signal] = 0
                found[entry.signal] = period
        return found
