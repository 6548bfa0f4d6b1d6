"""Cuts a log into windows of time, each as soon as nothing that belongs to it can still come."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.conventions import Stamps
from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.signals import Signals

_NEVER = 2**62  # [ns]
_NEIGHBOURS = 5
_AHEAD = 10
"""Windows by which another signal's clock may be ahead of the joints'; beyond, it is let go."""


class Windows:
    """Collects signals as they were received, and gives them out in windows of their stamps.

    The joints set the pace, as theirs are the instants. A window is due when the joints are past
    it, or have fallen silent. Time without joints is passed over, however long it is: a pause in
    the recording, or a clock that was set.

    Args:
        start: of the first window [ns].
        length: of a window [ns].
        context: that each window is padded by on either side [ns].
        late: a message may come so much later than the joints' messages of its time [ns].

    Attributes:
        start: instants before it have been given out [ns].
        pending: what was received and may still be needed; None before anything was.
    """

    def __init__(self, start: int, length: int, context: int, late: int) -> None:
        self.start = start
        self._length, self._context, self._late = length, context, late
        self._newest = start
        self._heard: int | None = None
        self.pending: Signals | None = None
        self._last_span: Signals | None = None

    def take(self, signals: Signals, received: int) -> Iterator[tuple[Signals, Counts]]:
        """Take what was received until `received` [ns]; give out the windows that are due.

        Yields:
            The signals of a window with its context, and the counts to be filled in.
        """
        signals = signals.between(self.start - self._context, _NEVER)
        self.pending = self.pending.followed_by(signals) if self.pending else signals
        self._newest = max(
            [self._newest, *(_newest(s.stamps, self._late) for s in signals.joints)]
        )
        if self._heard is None or any(len(stream) for stream in signals.joints):
            self._heard = received
        silent = received - self._heard > self._late + self._context
        while self._resume() and (silent or self._newest >= self._due()):
            yield self._cut(self.pending)
        if silent and self._last_span is not None:
            self.pending = self._last_span.followed_by(signals)
        self._last_span = signals

    def close(self) -> Iterator[tuple[Signals, Counts]]:
        """Give out what is left at the end of the log."""
        joints = self.pending.joints if self.pending else ()
        last = [s.stamps[s.stamps <= self._newest + self._length] for s in joints]
        self._newest = max([self._newest, *(int(s.max()) for s in last if len(s))])
        while self.pending and self._resume():
            yield self._cut(self.pending)

    def _due(self) -> int:
        return self.start + self._length + self._late + self._context

    def _resume(self) -> bool:
        """Whether joints are waiting; pass over the time without any."""
        joints = self.pending.joints if self.pending else ()
        waiting = [s.stamps[s.stamps >= self.start] for s in joints]
        waiting = [stamps[stamps <= self._newest] for stamps in waiting]
        first = min((int(stamps.min()) for stamps in waiting if len(stamps)), default=None)
        if first is not None and first >= self.start + self._length:
            self.start = first
        return first is not None

    def _cut(self, pending: Signals) -> tuple[Signals, Counts]:
        """Give out the window that begins at `start`, and begin the next one."""
        stop = min(self.start + self._length, self._newest + 1)
        signals = pending.between(self.start - self._context, stop + self._context)
        counts = Counts(self.start, stop)
        self.start = stop
        ahead = self._newest + _AHEAD * self._length
        self.pending = pending.between(stop - self._context, ahead)
        return signals, counts


def _newest(stamps: Stamps, slack: int) -> int:
    """The newest stamp that one or two wrong ones cannot push ahead by more than `slack` [ns]."""
    if not len(stamps):
        return 0
    width = min(_NEIGHBOURS, len(stamps))
    around = np.lib.stride_tricks.sliding_window_view(stamps, width)
    trusted = np.median(around, axis=1).max()
    return int(stamps[stamps <= trusted + slack].max())
