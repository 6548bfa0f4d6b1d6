"""Joints that hang: messages with new stamps whose positions are those of the one before.

A joint that stands still repeats its position as well, above all with a coarse encoder. So joints
are said to hang only if two or more that changed with every message stop with the same message,
without having slowed down, and an IMU or force sensor goes on changing: if that repeats itself
too, the robot is at rest, as in a simulator that puts resting bodies to sleep.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.signals.repeats import ALIVE, FOREVER, HANGS, MOST_SPANS, Flags, HangSpans
from izmp_dynamics.signals.samples import Samples, joined
from izmp_dynamics.signals.stamps import nanoseconds

LEAST = 2
"""So many joints stop at once: a single one may well have reached its goal."""

MOVES = 0.01
"""One of them moved faster [rad/s] or [m/s]; a simulator puts to sleep what is slower."""

SLOWED = 0.5
"""Joints whose last step is shorter than this part of the usual one were stopping [-]."""

_FADES = 1.0 / ALIVE
_APART = nanoseconds(HANGS) // 2


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


class Witnesses:
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
        due: stamp at which it is judged whether they hang [ns]; 0: too early.
        hangs: whether they do, as was judged; None: not yet.
        waiting: messages that wait for that.
    """

    joints: Flags
    since: int
    due: int = 0
    hangs: bool | None = None
    waiting: list[Samples] = field(default_factory=list)


class JointHangs:
    """Judges the positions of joints that are published together, one message after the other.

    Messages wait only after such a stop, for 0.1 s and until the witnesses are known.

    Args:
        period: time between the messages [s].
        width: number of joints.
        witnesses: of the robot's motion.
        reach: how far a value is spread towards earlier and later instants [s].
    """

    def __init__(
        self, period: float, width: int, witnesses: Witnesses, reach: tuple[float, float]
    ) -> None:
        self._width = width
        self._period = period
        self._longest = nanoseconds(max(HANGS, 5.0 * period))
        self._witnesses = witnesses
        self._spans = HangSpans(reach, width)
        self._stop: _Stop | None = None
        # Position, changes in a row, newest step, its mean and that of its size.
        self._state = np.zeros((5, width))
        self._state[0] = np.nan

    def push(self, samples: Samples) -> Samples:
        """Take messages (T, n); return those that can be used by now."""
        count, passed = 0, list[Samples]()
        if self._stop is None:
            count = _until_stop(samples.values, self._state, LEAST)
            self._spans.see(samples.stamps[:count])
            if count == len(samples):  # the usual case
                return samples
            passed.append(samples.rows(slice(count)))
            samples = self._stop_at(samples.rows(slice(count, None)), passed)
        self._take(samples, passed)
        return joined(passed, samples)

    def settle(self, like: Samples, newest: int) -> Samples:
        """Return what waited, if the witnesses are known by now or not waited for any more.

        Args:
            like: samples of the same width.
            newest: stamp up to which no witness is waited for any more [ns].
        """
        stop, passed = self._stop, list[Samples]()
        if stop is not None and self.waits:
            self._judge(stop, passed, final=stop.due <= newest)
        return joined(passed, like)

    def flush(self, like: Samples) -> Samples:
        """Return all messages that wait, as nothing follows."""
        passed = [self.settle(like, FOREVER)]
        if self._stop is not None and self._stop.hangs is None:
            self._release(self._stop, passed)
        return joined(passed, like)

    def hangs(self, instants: Stamps) -> Flags:
        """(K, n) at which instants [ns] which joints hang, or are derived from such positions."""
        return self._spans.hangs(instants, around=True)

    @property
    def has_hung(self) -> bool:
        """Whether joints have ever hung."""
        return self._spans.any

    @property
    def waits(self) -> bool:
        """Whether messages wait for the witnesses."""
        return self._stop is not None and self._stop.due > 0 and self._stop.hangs is None

    def _take(self, samples: Samples, passed: list[Samples]) -> None:
        """Judge messages; add those that pass to `passed`."""
        while len(samples):
            if self._stop is None:
                samples = self._follow(samples, passed)
            elif self.waits:
                self._stop.waiting.append(samples)
                return
            else:
                samples = self._see_stopped(self._stop, samples, passed)

    def _follow(self, samples: Samples, passed: list[Samples]) -> Samples:
        """Let messages pass up to one with which joints stop; return the rest, from that one."""
        count = _until_stop(samples.values, self._state, LEAST)
        if count:
            self._spans.see(samples.stamps[:count])
            passed.append(samples.rows(slice(count)))
        rest = samples.rows(slice(count, None))
        return self._stop_at(rest, passed) if len(rest) else rest

    def _stop_at(self, rest: Samples, passed: list[Samples]) -> Samples:
        """Judge joints that stop with the first of these messages; return those not judged yet."""
        stopped = (rest.values[0] == self._state[0]) & (self._state[1] >= ALIVE)
        _, _, step, drift, size = self._state[:, stopped]
        abrupt = np.abs(step).sum() >= SLOWED * size.sum()
        if abrupt and np.abs(drift).max() > MOVES * self._period:
            self._stop = _Stop(stopped, self._spans.since)
            return rest
        return self._pass(rest, passed)

    def _pass(self, samples: Samples, passed: list[Samples]) -> Samples:
        """Let the first message pass as it is; return the rest."""
        one = samples.rows(slice(1))
        _until_stop(one.values, self._state, self._width + 1)
        self._spans.see(one.stamps)
        passed.append(one)
        return samples.rows(slice(1, None))

    def _see_stopped(self, stop: _Stop, samples: Samples, passed: list[Samples]) -> Samples:
        """Judge the first message after joints stopped; return those that are to be judged."""
        one, rest = samples.rows(slice(1)), samples.rows(slice(1, None))
        still = stop.joints & (one.values[0] == self._state[0])
        if stop.hangs is not None:
            if (still != stop.joints).any():
                self._stop = None
                return self._pass(samples, passed)
            passed.append(one)
            return rest
        if np.count_nonzero(still) < LEAST:
            self._release(stop, passed)
            return samples
        stop.joints = still
        stop.waiting.append(one)
        if one.stamps[0] - stop.since >= self._longest:
            stop.due = int(one.stamps[0])
            stop.waiting.append(rest)
            self._judge(stop, passed)
            return samples.rows(slice(0))
        return rest

    def _judge(self, stop: _Stop, passed: list[Samples], final: bool = False) -> None:
        """Decide whether joints hang, as soon as the witnesses are known."""
        begin = (stop.since + stop.due) // 2  # what falls asleep may do so a little later
        changed = self._witnesses.changed(begin, stop.due)
        if changed is None and not final:
            return
        if not changed:
            self._release(stop, passed)
            return
        stop.hangs = True
        self._spans.begin(stop.joints)
        waiting, stop.waiting = stop.waiting, []
        for samples in waiting:
            self._take(samples, passed)

    def _release(self, stop: _Stop, passed: list[Samples]) -> None:
        """Let messages pass that waited, as the joints that stopped do not hang."""
        self._stop = None
        self._state[1, stop.joints] = 0.0
        for samples in stop.waiting:
            self._take(samples, passed)


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
