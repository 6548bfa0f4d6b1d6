"""Filters of a stream that arrives in pieces, and what those have in common that look ahead."""

from abc import ABC, abstractmethod
from typing import Protocol

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import SampleBuffer


class StreamFilter(Protocol):
    """A filter for a stream that arrives in pieces."""

    def extend(self, stamps: Stamps, values: Array) -> Array:
        """Take the next samples; return those, in order, that no further sample can change."""
        ...

    def flush(self) -> Array:
        """Return the samples that are left at the end of the stream."""
        ...

    def reset(self) -> None:
        """Discard all samples."""
        ...


class DelayedFilter(ABC):
    """A filter whose results wait for the samples that follow.

    Args:
        width: numbers per sample.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self.reset()

    def reset(self) -> None:
        """Discard all samples."""
        self._samples = SampleBuffer(self._width)
        self._next = 0

    @property
    def _stamps(self) -> Stamps:
        return self._samples.stamps

    @property
    def _values(self) -> Array:
        return self._samples.values

    def extend(self, stamps: Stamps, values: Array) -> Array:
        """Take samples; return the results, in order, that no further sample can change."""
        self._samples.append(stamps, values)
        return self._hand_out(max(self._settled(), self._next))

    def flush(self) -> Array:
        """Return the results that are left at the end of the stream, and reset."""
        left = self._hand_out(len(self._stamps))
        self.reset()
        return left

    def _forget(self, count: int) -> None:
        """Drop so many of the oldest samples, which no further result needs."""
        self._samples.drop(count)
        self._next -= count

    @abstractmethod
    def _settled(self) -> int:
        """How many leading samples have a result that no further sample can change."""

    @abstractmethod
    def _hand_out(self, end: int) -> Array:
        """Return the results from `_next` to `end`; forget samples that no other one needs."""
