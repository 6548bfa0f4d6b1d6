"""What the stages have in common that pair or differentiate signals while they come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.signals.buffer import SampleBuffer
from izmp_dynamics.signals.gate import Gate
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream import SampleStream

PATIENCE = 0.5
"""An instant does not wait for a signal that is behind the instants by more [s]."""

TIDY_AFTER = nanoseconds(0.1)
"""Old samples are kept for so long beyond their use [ns], as dropping them is not for nothing."""


@dataclass(frozen=True)
class Streams:
    """Makes the streams of a robot's signals.

    Attributes:
        robot: its file.
        half_width: of the matched filter of all signals [s]; None: no filter.
        periods: signal → time between its samples [s]; learned where it is not known.
        patience: an instant does not wait for a signal that is behind by more [s].
    """

    robot: RobotFile
    half_width: float | None = None
    periods: Mapping[str, float] = field(default_factory=dict)
    patience: float = PATIENCE

    def make(self, signal: str, width: int, **options: Any) -> SampleStream:
        """Make the stream of a signal; arguments as of `SampleStream`."""
        settings: dict[str, Any] = {
            'max_gap': self.robot.pairing.max_gap,
            'period': self.periods.get(signal),
            'half_width': self.half_width,
            'clocked': self.robot.joints.stamps == 'publisher_clock',
        }
        return SampleStream(signal, width, **settings | options)


class Stage:
    """Streams of samples, and the buffers that instants wait for.

    Readiness is judged by stamps alone, never by the wall clock: an instant can be evaluated when
    every buffer has a sample at or after it, or is behind the newest instant by more than
    `patience`. So the same samples give the same results however fast they arrive.

    Args:
        streams: the inputs.
        patience: as above [s].

    Attributes:
        parts: stages that this one consists of, beside its streams.
    """

    parts: Sequence['Stage'] = ()

    def __init__(self, streams: Iterable[SampleStream], patience: float = PATIENCE) -> None:
        self.streams = tuple(streams)
        self._buffers = tuple(stream.buffer for stream in self.streams)
        self.patience = patience

    @property
    def sources(self) -> tuple[SampleBuffer, ...]:
        """What an instant waits for."""
        return self._buffers

    def decided(self, instants: Stamps, newest: int) -> int:
        """How many leading instants have all that they need, or never will.

        Args:
            instants: (K,) increasing [ns].
            newest: the newest instant that is known [ns].
        """
        count = len(instants)
        for source in self.sources:
            count = source.decided(instants[:count], newest, self.patience)
            if not count:
                return 0
        for part in self.parts:
            count = part.decided(instants[:count], newest)
        return count

    @property
    def _all_buffers(self) -> Iterable[SampleBuffer]:
        return dict.fromkeys((*self.sources, *self._buffers))

    def forget(self, before: int) -> None:
        """Drop samples that no instant from `before` [ns] on needs."""
        for buffer in self._all_buffers:
            buffer.forget(before)
        for part in self.parts:
            part.forget(before)

    def trim(self) -> None:
        """Drop samples that are too old to be needed, where no instants wait."""
        for buffer in self._all_buffers:
            buffer.trim()
        for part in self.parts:
            part.trim()

    def reset(self) -> None:
        """Forget all samples; the faults stay."""
        for stream in self.streams:
            stream.reset()
        for part in self.parts:
            part.reset()

    def flush(self, final: bool = True) -> None:
        """Take in the last samples, as nothing follows: no instant waits any more.

        Args:
            final: whether a period that is not known yet is learned from what there is.
        """
        for stream in self.streams:
            stream.flush(final)
        for part in self.parts:
            part.flush(final)


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
        gate: judges the stamps and counts those that were left out.
    """

    def __init__(self, width: int, behind: int, min_spacing: float) -> None:
        self._samples = SampleBuffer(width)
        self.stamps, self.values = self._samples.stamps, self._samples.values
        self.next_row = 0
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

    def close(self) -> None:
        """Take the last sample in, as nothing follows."""
        self._take_in(self.gate.flush(self._samples.room(self.gate.room(0))))

    def hand_out(self, end: int) -> slice:
        """Mark the results before row `end` as handed out; return the rows that are new."""
        rows = slice(self.next_row, end)
        self.next_row = end
        return rows

    def clear(self) -> None:
        """Discard the samples, but not the counts."""
        self._samples.drop(len(self.stamps))
        self.next_row = 0
        self._take_in(0)

    def _take_in(self, count: int) -> None:
        """Let the next rows enter; leave out what is not needed any more.

        What was handed out may be views of the rows: a buffer never writes to them again.
        """
        old = max(0, self.next_row - self._behind)
        self.next_row -= old
        self._samples.drop(old)
        self._samples.extend(count)
        self.stamps, self.values = self._samples.stamps, self._samples.values
