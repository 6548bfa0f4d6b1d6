"""Instants that wait, in their order, for the results of their stamps, while they may come."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.signals.stamps import nanoseconds

LONGEST_WAIT = 8.0
"""An instant does not wait for a result that is behind by more [s]."""

CAPACITY = 4000
"""Instants that may wait."""

Payload = TypeVar('Payload')


class Ready(NamedTuple, Generic[Payload]):
    """An instant that can be evaluated.

    Attributes:
        stamp: [ns].
        payload: what came with it.
        results: (m,) values by topic, in the order of the queue; NaN where there is none.
    """

    stamp: int
    payload: Payload
    results: tuple[Array, ...]


class InstantQueue(Generic[Payload]):
    """Brings instants together with results of exactly their stamps.

    Args:
        results: topic → numbers per message.

    Attributes:
        faults: topic → instants without a result.
    """

    def __init__(self, results: Mapping[str, int]) -> None:
        self._results: dict[str, dict[int, Array]] = {topic: {} for topic in results}
        self._nothing = {topic: np.full(width, np.nan) for topic, width in results.items()}
        self._waiting: deque[tuple[int, Payload]] = deque()
        self.faults: dict[str, Faults] = {topic: Counter() for topic in results}
        self.reset()

    def reset(self) -> None:
        """Forget all instants and results; the faults stay."""
        self._waiting.clear()
        self._first = self._last = 0
        self._newest = dict.fromkeys(self._results, 0)
        for results in self._results.values():
            results.clear()

    def push(self, stamp: int, payload: Payload) -> None:
        """Take the next instant [ns]; one that is not later than those before is left out."""
        if stamp <= self._last:
            return
        self._last = stamp
        self._first = self._first or stamp
        self._waiting.append((stamp, payload))
        if len(self._waiting) > CAPACITY:
            self._waiting.popleft()
            for faults in self.faults.values():
                faults[Fault(Reason.NO_SAMPLE)] += 1

    def add(self, topic: str, stamp: int, values: Array) -> None:
        """Take a result (m,) at an instant [ns]; what is not finite counts as none."""
        results = self._results[topic]
        results.setdefault(stamp, values)
        self._newest[topic] = max(self._newest[topic], stamp)
        if len(results) > CAPACITY:
            del results[next(iter(results))]

    def take(self) -> Iterator[Ready[Payload]]:
        """Hand out the instants that are decided, in their order."""
        while self._waiting and self._is_decided(self._waiting[0][0]):
            stamp, payload = self._waiting.popleft()
            yield Ready(stamp, payload, tuple(self._result(each, stamp) for each in self._results))

    def _is_decided(self, stamp: int) -> bool:
        oldest = self._waiting[-1][0] - nanoseconds(LONGEST_WAIT)
        return all(
            newest >= stamp or max(newest, self._first) < oldest
            for newest in self._newest.values()
        )

    def _result(self, topic: str, stamp: int) -> Array:
        results = self._results[topic]
        while results and next(iter(results)) < stamp:  # no instant wants them any more
            del results[next(iter(results))]
        values = results.pop(stamp, None)
        if values is None or not np.isfinite(values).all():
            self.faults[topic][Fault(Reason.NO_SAMPLE)] += 1
            return self._nothing[topic]
        return values
