"""Messages of several topics that bear the same stamp, brought together."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

from izmp_dynamics.sensing.stamps import nanoseconds

PATIENCE = 8.0
"""An instant that is so much older than the newest one is given up [s]."""

CAPACITY = 4000
"""Instants that may be open."""


class ExactJoin:
    """Waits until all topics have spoken about an instant.

    Args:
        keys: of the topics.

    Attributes:
        counts: instants that were given up, by the topic that was missing.
    """

    def __init__(self, *keys: Hashable) -> None:
        self.keys = keys
        self.counts: Counter[str] = Counter()
        self._open: dict[int, dict[Hashable, Any]] = {}

    def reset(self) -> None:
        """Forget everything; the counts stay."""
        self._open.clear()

    def add(self, key: Hashable, stamp: int, value: Any) -> list[Any] | None:
        """Take what a topic says about an instant [ns].

        Returns:
            The values in the order of the keys if the instant is complete.
        """
        parts = self._open.setdefault(stamp, {})
        if key in parts:
            self.counts[f'{key}: stamp occurs twice'] += 1
        parts[key] = value
        if len(parts) == len(self.keys):
            del self._open[stamp]
            return [parts[name] for name in self.keys]
        self._give_up(stamp)
        return None

    def _give_up(self, newest: int) -> None:
        while self._open:
            oldest = next(iter(self._open))
            late = oldest < newest - nanoseconds(PATIENCE)
            if not late and len(self._open) <= CAPACITY:
                return
            parts = self._open.pop(oldest)
            for key in self.keys:
                if key not in parts:
                    self.counts[f'no {key} at this instant'] += 1
