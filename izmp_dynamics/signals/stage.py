"""What the stages have in common that pair or differentiate signals while they come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.signals.buffer import SampleBuffer
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
        return decided(self.parts, instants[:count], newest)

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


def decided(stages: Iterable[Stage], instants: Stamps, newest: int) -> int:
    """How many leading instants have all that they need of some stages; see `Stage.decided`."""
    count = len(instants)
    for stage in stages:
        count = stage.decided(instants[:count], newest) if count else 0
    return count
