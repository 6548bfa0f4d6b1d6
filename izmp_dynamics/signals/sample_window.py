"""The newest samples of a stream, for stages that differentiate while the stream runs."""

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.gate import Gate


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
        closed: whether nothing follows.
        gate: judges the stamps and counts those that were left out.
    """

    def __init__(self, width: int, behind: int, min_spacing: float) -> None:
        self._samples = SampleBuffer(width)
        self.stamps, self.values = self._samples.stamps, self._samples.values
        self.next_row = 0
        self.dropped = 0
        self.closed = False
        self.gate = Gate(width, min_spacing=min_spacing)
        self._behind = behind

    @property
    def received_until(self) -> int:
        """Newest usable stamp [ns]; 0 before there is one."""
        return self.gate.pending

    @property
    def settled(self) -> int:
        """Newest stamp whose results have been handed out [ns]; 0 before there is one."""
        return int(self.stamps[self.next_row - 1]) if self.next_row else 0

    def extend(self, stamps: Stamps, values: Array) -> None:
        """Take samples (T,), (T, width); the last one enters when the next one confirms it."""
        room = self._samples.room(self.gate.room(len(stamps)))
        self._take_in(self.gate.admit(stamps, values, room))
        self.closed = False

    def close(self) -> None:
        """Take the last sample in, as nothing follows."""
        self._take_in(self.gate.flush(self._samples.room(self.gate.room(0))))
        self.closed = True

    def hand_out(self, end: int) -> slice:
        """Mark the results before row `end` as handed out; return the rows that are new."""
        rows = slice(self.next_row, end)
        self.next_row = end
        return rows

    def clear(self) -> None:
        """Discard the samples, but not the counts."""
        self.dropped += len(self.stamps)
        self._samples.drop(len(self.stamps))
        self.next_row = 0
        self._take_in(0)

    def _take_in(self, count: int) -> None:
        """Let the next rows enter; leave out what is not needed any more.

        What was handed out may be views of the rows: a buffer never writes to them again.
        """
        old = max(0, self.next_row - self._behind)
        self.next_row -= old
        self.dropped += old
        self._samples.drop(old)
        self._samples.extend(count)
        self.stamps, self.values = self._samples.stamps, self._samples.values
