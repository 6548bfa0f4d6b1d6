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
        origin: the first usable stamp of the stream [ns]; None before there is one.
        stamp_gate: judges the stamps and counts those that were left out.
    """

    def __init__(self, width: int, behind: int, min_spacing: float) -> None:
        self.stamps: Stamps = np.empty(0, dtype=np.int64)
        self.values: Array = np.empty((0, width))
        self.next_row = 0
        self.origin: int | None = None
        self.stamp_gate: StampGate[Array] = StampGate(min_spacing)
        self._behind = behind

    def push(self, stamp: int, values: Array) -> None:
        """Take a sample; it enters the window when the next one shows that its stamp is good."""
        self._append(self.stamp_gate.push(stamp, values))

    def close(self) -> None:
        """Take the last sample in, as nothing follows."""
        self._append(self.stamp_gate.flush())

    def hand_out(self, end: int) -> slice:
        """Mark the results before row `end` as handed out; return the rows that are new."""
        rows = slice(self.next_row, end)
        self.next_row = end
        return rows

    def clear(self) -> None:
        """Forget the samples, but not the counts and the origin."""
        self.stamps, self.values, self.next_row = self.stamps[:0], self.values[:0], 0

    def _append(self, admitted: tuple[int, Array] | None) -> None:
        if admitted is None:
            return
        stamp, values = admitted
        if self.origin is None:
            self.origin = stamp
        old = max(0, self.next_row - self._behind)
        self.stamps = np.append(self.stamps[old:], np.int64(stamp))
        self.values = np.concatenate([self.values[old:], values.reshape(1, -1)])
        self.next_row -= old
