"""The newest samples of a stream, for stages that differentiate while the stream runs."""

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.stamps import StampGate

_SHORTEST = 64
"""Samples that there is room for, at least."""


class SampleWindow:
    """Keeps the samples whose results are open, and those before them that they depend on.

    A stage runs its batch function on the window and hands out the rows that no further sample
    can change. So the numbers of one sample at a time are those of the batch.

    Args:
        width: numbers per sample.
        behind: samples before a result that it depends on.
        min_spacing: samples that are followed sooner than this are left out [s].

    Attributes:
        stamps: (B,) usable samples [ns].
        values: (B, width).
        next_row: the first row whose result has not been handed out.
        dropped: samples that were forgotten so far.
        stamp_gate: judges the stamps and counts those that were left out.
    """

    def __init__(self, width: int, behind: int, min_spacing: float) -> None:
        self._width, self._start, self._end = width, 0, 0
        self._stamps: Stamps = np.empty(_SHORTEST, dtype=np.int64)
        self._values: Array = np.empty((_SHORTEST, width))
        self.stamps, self.values = self._stamps[:0], self._values[:0]
        self.next_row = 0
        self.dropped = 0
        self.stamp_gate = StampGate(width, min_spacing)
        self._behind = behind

    @property
    def received_until(self) -> int:
        """Newest usable stamp [ns]; 0 before there is one."""
        return self.stamp_gate.pending

    @property
    def settled(self) -> int:
        """Newest stamp whose results have been handed out [ns]; 0 before there is one."""
        return int(self.stamps[self.next_row - 1]) if self.next_row else 0

    def extend(self, stamps: Stamps, values: Array) -> None:
        """Take samples (T,), (T, width); the last one enters when the next one confirms it."""
        stamps = np.ascontiguousarray(stamps, dtype=np.int64)
        values = np.ascontiguousarray(values, dtype=np.float64)
        rows = self._room(len(stamps))
        if self.stamp_gate.follow_all(stamps, values, self._stamps[rows], self._values[rows]):
            self._take_in(rows)
        else:
            self._append(*self.stamp_gate.push(stamps, values))

    def close(self) -> None:
        """Take the last sample in, as nothing follows."""
        self._append(*self.stamp_gate.flush())

    def hand_out(self, end: int) -> slice:
        """Mark the results before row `end` as handed out; return the rows that are new."""
        rows = slice(self.next_row, end)
        self.next_row = end
        return rows

    def clear(self) -> None:
        """Discard the samples, but not the counts."""
        self.dropped += len(self.stamps)
        self._start, self.next_row = self._end, 0
        self.stamps, self.values = self.stamps[:0], self.values[:0]

    def _append(self, stamps: Stamps, values: Array) -> None:
        if len(stamps):
            rows = self._room(len(stamps))
            self._stamps[rows], self._values[rows] = stamps, values
            self._take_in(rows)

    def _room(self, count: int) -> slice:
        """Rows for further samples.

        What was handed out may be views of the arrays, so those are replaced and not rearranged.
        """
        if self._end + count > len(self._stamps):
            kept, stamps, values = len(self.stamps), self.stamps, self.values
            length = max(_SHORTEST, 2 * (kept + count))
            self._stamps = np.empty(length, dtype=np.int64)
            self._values = np.empty((length, self._width))
            self._stamps[:kept], self._values[:kept] = stamps, values
            self._start, self._end = 0, kept
        return slice(self._end, self._end + count)

    def _take_in(self, rows: slice) -> None:
        """Let these rows, the next ones, enter; leave out what is not needed any more."""
        old = max(0, self.next_row - self._behind)
        self.next_row -= old
        self.dropped += old
        self._start, self._end = self._start + old, rows.stop
        self.stamps = self._stamps[self._start : self._end]
        self.values = self._values[self._start : self._end]
