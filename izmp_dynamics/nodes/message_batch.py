"""Messages of one topic in the order of arrival, as `pipeline.clock` follows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Stamps


@dataclass(frozen=True)
class Messages:
    """Messages with their stamps.

    Attributes:
        stamps: (T,) [ns].
        items: the T messages.
    """

    stamps: Stamps
    items: tuple[Any, ...]

    @classmethod
    def one(cls, stamp: int, message: Any) -> 'Messages':
        """A single message."""
        return cls(np.array([stamp]), (message,))

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return zip(self.stamps.tolist(), self.items, strict=True)

    def rows(self, rows: slice) -> 'Messages':
        """Some of the messages."""
        return Messages(self.stamps[rows], self.items[rows])

    def followed_by(self, later: 'Messages') -> 'Messages':
        """These messages, then the later ones."""
        return Messages(np.concatenate([self.stamps, later.stamps]), self.items + later.items)
