"""Samples of several messages, to be taken by the pipeline together.

A stage costs about the same for one sample as for several.
"""

from collections import defaultdict

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.signals.samples import Samples

MOST_COLLECTED = 64
"""Samples that are collected before a stage takes them, whatever they are."""


class Collected:
    """Collects samples by signal.

    Attributes:
        count: samples of all signals.
        newest: signal → stamp of its latest sample [ns].
    """

    def __init__(self) -> None:
        self._samples: defaultdict[str, list[tuple[int, Array]]] = defaultdict(list)
        self.count = 0
        self.newest: dict[str, int] = {}

    def add(self, signal: str, stamp: int, values: Array) -> None:
        """Add a sample (m,) at `stamp` [ns]."""
        self._samples[signal].append((stamp, values))
        self.newest[signal] = stamp
        self.count += 1

    def take(self) -> list[tuple[str, list[tuple[int, Array]]]]:
        """Hand out what was collected, stamps and values of each signal in order of arrival."""
        taken = [*self._samples.items()]
        self._samples = defaultdict(list)
        self.newest.clear()
        self.count = 0
        return taken


def together(samples: list[tuple[int, Array]]) -> Samples:
    """Samples of one signal, to be taken at once."""
    stamps, values = zip(*samples, strict=True)
    return Samples(np.array(stamps), np.array(values))
