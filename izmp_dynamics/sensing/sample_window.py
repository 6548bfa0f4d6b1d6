"""The newest samples of a stream, for stages that differentiate while the stream runs."""

import numpy as np

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.sensing.stamps import StampGate


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
        self.stamps: Stamps = np.empty(0, dtype=np.int64)
        self.values: Array = np.empty((0, width))
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
        self.stamps, self.values, self.next_row = self.stamps[:0], self.values[:0], 0

    def _append(self, stamps: Stamps, values: Array) -> None:
        if not len(stamps):
            return
        old = max(0, self.next_row - self._behind)
        self.stamps = np.concatenate([self.stamps[old:], stamps])
        self.values = np.concatenate([self.values[old:], values])
        self.next_row -= old
        self.dropped += old
