"""Instants that wait, in their order, until all that they need has come or never will."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.pipeline.buffer import SampleBuffer
from izmp_dynamics.pipeline.stage import Stage
from izmp_dynamics.sensing.faults import Fault, Faults, Reason

LONGEST_WAIT = 8.0
"""An instant does not wait for a result that is behind by more [s]; stages wait less."""

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
    """Brings instants together with results of exactly their stamps, and with stages.

    Args:
        results: topic → numbers per message.
        stages: whose signals an instant needs as well.

    Attributes:
        faults: topic → instants without a result.
    """

    def __init__(self, results: Mapping[str, int], stages: Sequence[Stage] = ()) -> None:
        self._buffers = {topic: SampleBuffer(width) for topic, width in results.items()}
        self._stages = tuple(stages)
        self._waiting: deque[tuple[int, Payload]] = deque()
        self.faults: dict[str, Faults] = {topic: Counter() for topic in results}

    def reset(self) -> None:
        """Forget all instants and results; the faults stay."""
        self._waiting.clear()
        for buffer in self._buffers.values():
            buffer.reset()

    def push(self, stamp: int, payload: Payload) -> None:
        """Take the next instant [ns]."""
        if self._waiting and stamp <= self._waiting[-1][0]:
            return
        self._waiting.append((stamp, payload))

    def add(self, topic: str, stamp: int, values: Array) -> None:
        """Take a result (m,) at an instant [ns]; what is not finite counts as none."""
        buffer = self._buffers[topic]
        if stamp > buffer.newest:
            buffer.append(np.array([stamp]), values.reshape(1, -1))

    def take(self) -> Iterator[Ready[Payload]]:
        """Hand out the instants that are decided, in their order."""
        if not self._waiting:
            return
        stamps = np.array([stamp for stamp, _ in self._waiting])
        count = max(self._decided(stamps), len(stamps) - CAPACITY)
        columns = []
        for topic, buffer in self._buffers.items():
            paired = buffer.at(stamps[:count])
            missing = count - int(np.count_nonzero(paired.valid))
            if missing:
                self.faults[topic][Fault(Reason.NO_SAMPLE)] += missing
            columns.append(paired.values)
        if count:
            for buffer in self._buffers.values():
                buffer.forget(int(stamps[count - 1]))
        for row in range(count):
            stamp, payload = self._waiting.popleft()
            yield Ready(stamp, payload, tuple(column[row] for column in columns))

    def _decided(self, stamps: np.ndarray) -> int:
        newest = int(stamps[-1])
        count = len(stamps)
        for stage in self._stages:
            count = min(count, stage.decided(stamps, newest))
        for buffer in self._buffers.values():
            count = min(count, buffer.decided(stamps, newest, LONGEST_WAIT))
        return count
