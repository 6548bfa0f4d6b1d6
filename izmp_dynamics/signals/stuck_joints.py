"""Joints that are stuck: messages with new stamps whose positions are those of the one before.

A joint that stands still repeats its position as well, above all with a coarse encoder. So joints
count as stuck only if two or more that changed with every message stop with the same message,
without having slowed down, and an IMU or force sensor goes on changing: if that repeats itself
too, the robot is at rest, as in a simulator that puts resting bodies to sleep.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, Flags, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.repeats import (
    ALIVE,
    FOREVER,
    MOST_SPANS,
    STUCK_AFTER,
    StuckSpans,
)
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds

LEAST = 2
"""So many joints stop at once: a single one may well have reached its goal."""

MOVES = 0.01
"""One of them moved faster [rad/s] or [m/s]; a simulator puts to sleep what is slower."""

SLOWED = 0.5
"""Joints whose last step is shorter than this part of the usual one were stopping [-]."""

_FADES = 1.0 / ALIVE
_APART = nanoseconds(STUCK_AFTER) // 2


class Changes:
    """When the samples of a signal differed from those before.

    Attributes:
        newest: stamp of the newest sample [ns].
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.newest = self._count = 0
        self._last: Array | None = None
        self._spans: Stamps = np.empty((MOST_SPANS, 2), dtype=np.int64)

    def see(self, samples: Samples) -> None:
        """Take samples (T, m); those that are not newer than all before count for nothing."""
        if self._last is None:
            self._last = np.empty(samples.values.shape[1])
        self.newest, self._count = _see_changes(
            samples.stamps, samples.values, self.newest, self._last, self._spans, self._count
        )

    def within(self, begin: int, end: int) -> bool:
        """Whether there is a change after `begin` and not after `end` [ns]."""
        spans = self._spans[: self._count]
        return bool(((spans[:, 0] <= end) & (spans[:, 1] > begin)).any())


@kernel
def _see_changes(
    stamps: Stamps, values: Array, newest: int, last: Array, spans: Stamps, count: int
) -> tuple[int, int]:
    """Follow the values; write first and last change (MOST_SPANS, 2) of each time of changes.

    Returns:
        The newest stamp [ns], and how many such times there were.
    """
    for t in range(len(stamps)):
        if stamps[t] <= newest:
            continue
        changed = False
        for j in range(len(last)):
            changed = changed or values[t, j] != last[j]
            last[j] = values[t, j]
        if changed and newest > 0:
            before = (count - 1) % MOST_SPANS
            if count == 0 or stamps[t] - spans[before, 1] > _APART:
                spans[count % MOST_SPANS, 0] = stamps[t]
                before, count = count % MOST_SPANS, count + 1
            spans[before, 1] = stamps[t]
        newest = stamps[t]
    return newest, count


class MotionEvidence:
    """The signals that show whether the robot moves while its joints repeat their positions.

    Args:
        signals: their names.
    """

    def __init__(self, signals: Iterable[str]) -> None:
        self._changes = {signal: Changes() for signal in signals}

    def reset(self) -> None:
        """Forget all samples."""
        for changes in self._changes.values():
            changes.reset()

    def see(self, signal: str, samples: Samples) -> None:
        """Take samples (T, m) of one of them; other signals are ignored."""
        changes = self._changes.get(signal)
        if changes is not None:
            changes.see(samples)

    def changed(self, begin: int, end: int) -> bool | None:
        """Whether one of them changed after `begin` and not after `end` [ns]; None: not known."""
        if any(changes.within(begin, end) for changes in self._changes.values()):
            return True
        return False if all(c.newest >= end for c in self._changes.values()) else None


@dataclass
class _Stop:
    """Joints that stopped with one message.

    Attributes:
        joints: (n,) which.
        since: stamp of the last message before [ns].
        due: stamp at which it is judged whether they are stuck [ns]; 0: too early.
        stuck: whether they are.
    """

    joints: Flags
    since: int
    due: int = 0
    stuck: bool = False


class StuckJoints:
    """Judges the positions of joints that are published together, one message after the other.

    Messages wait only after such a stop, for 0.1 s and until it is known whether the robot moves.

    Args:
        period: time between the messages [s].
        width: number of joints.
        evidence: of the robot's motion.
        reach: how far a value is spread towards earlier and later instants [s].

    Attributes:
        spans: times in which joints were stuck.
    """

    def __init__(
        self, period: float, width: int, evidence: MotionEvidence, reach: tuple[float, float]
    ) -> None:
        self._width = width
        self._period = period
        self._longest = nanoseconds(max(STUCK_AFTER, 5.0 * period))
        self._evidence = evidence
        self.spans = StuckSpans(reach, width)
        self._stop: _Stop | None = None
        self._queue = Samples.empty(width)
        self._seen = 0  # messages of the queue that have been looked at
        # Position, changes in a row, newest step, its mean and that of its size.
        self._state = np.zeros((5, width))
        self._state[0] = np.nan

    def push(self, samples: Samples) -> Samples:
        """Take messages (T, n); return those that can be used by now."""
        self._queue = Samples.joined([self._queue, samples])
        return self._passed()

    def settle(self, newest: int) -> Samples:
        """Return what waited, if it is known by now whether the robot moves, or not waited for.

        Args:
            newest: stamp up to which no evidence is waited for any more [ns].
        """
        stop = self._stop
        if stop is None or not self.waits or not self._judge(stop, stop.due <= newest):
            return self._queue.select(slice(0))
        self._seen = 0
        return self._passed()

    def flush(self) -> Samples:
        """Return all messages that wait, as nothing follows."""
        parts = [self.settle(FOREVER)]
        while self._stop is not None and not self._stop.stuck:
            self._release(self._stop)
            self._seen = 0
            parts.append(self._passed())
        return Samples.joined(parts)

    @property
    def waits(self) -> bool:
        """Whether messages wait for evidence of motion."""
        return self._stop is not None and self._stop.due > 0 and not self._stop.stuck

    def _passed(self) -> Samples:
        """Look at the messages of the queue, one after the other; return those that pass."""
        queue, row, end = self._queue, self._seen, 0
        while row < len(queue) and not self.waits:
            stop = self._stop
            if stop is None:
                row = end = row + self._follow(queue.select(slice(row, None)), LEAST)
                if row < len(queue):
                    self._stop = self._stop_at(queue.values[row])
                    if self._stop is None:
                        row = end = row + self._follow(queue.select(slice(row, row + 1)))
                continue
            still = stop.joints & (queue.values[row] == self._state[0])
            if stop.stuck:
                if (still != stop.joints).any():
                    self._stop = None
                    self._follow(queue.select(slice(row, row + 1)))
                row = end = row + 1
            elif np.count_nonzero(still) < LEAST:
                self._release(stop)
                row = end
            else:
                stop.joints, stamp, row = still, int(queue.stamps[row]), row + 1
                stop.due = stamp if stamp - stop.since >= self._longest else 0
                if stop.due and self._judge(stop):
                    row = end
        self._queue, self._seen = queue.select(slice(end, None)), row - end
        return queue.select(slice(end))

    def _follow(self, samples: Samples, least: int | None = None) -> int:
        """Follow messages up to one with which `least` joints stop; return how many."""
        count = _until_stop(samples.values, self._state, least or self._width + 1)
        self.spans.see(samples.stamps[:count])
        return count

    def _stop_at(self, positions: Array) -> _Stop | None:
        """Judge joints that stop with this message; None if they had slowed down."""
        stopped = (positions == self._state[0]) & (self._state[1] >= ALIVE)
        _, _, step, drift, size = self._state[:, stopped]
        abrupt = np.abs(step).sum() >= SLOWED * size.sum()
        if abrupt and np.abs(drift).max() > MOVES * self._period:
            return _Stop(stopped, self.spans.since)
        return None

    def _judge(self, stop: _Stop, final: bool = False) -> bool:
        """Decide whether joints are stuck; False as long as no evidence of motion is known."""
        begin = (stop.since + stop.due) // 2  # what falls asleep may do so a little later
        changed = self._evidence.changed(begin, stop.due)
        if changed:
            stop.stuck = True
            self.spans.begin(stop.joints)
        elif changed is not None or final:
            self._release(stop)
        return changed is not None or final

    def _release(self, stop: _Stop) -> None:
        """Let messages pass that waited, as the joints that stopped are not stuck."""
        self._stop = None
        self._state[1, stop.joints] = 0.0


@kernel
def _until_stop(positions: Array, state: Array, least: int) -> int:
    """How many messages (T, n) pass before `least` joints stop; follows them in the state."""
    for t in range(len(positions)):
        stopped = 0
        for j in range(positions.shape[1]):
            if positions[t, j] == state[0, j] and state[1, j] >= ALIVE:
                stopped += 1
        if stopped >= least:
            return t
        for j in range(positions.shape[1]):
            step = positions[t, j] - state[0, j]
            if not np.isfinite(step):
                step = 0.0
            state[0, j] = positions[t, j]
            state[1, j] = 0.0 if step == 0.0 else state[1, j] + 1.0
            state[2, j] = step
            state[3, j] += _FADES * (step - state[3, j])
            state[4, j] += _FADES * (abs(step) - state[4, j])
    return len(positions)
