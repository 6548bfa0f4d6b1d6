"""A recorded topic that is in use, and what was seen of it."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.batch import Batch
from izmp_dynamics.bags.messages import imu_batch, joint_state_batch, pose_batch, wrench_batch
from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.model.signals import IMU, JOINT_STATE, WRENCH
from izmp_dynamics.recording.mapped import MappedMessages
from izmp_dynamics.sensing.sensor_check import NormalForceWatch
from izmp_dynamics.signals.clock import AHEAD

LONG_GAP = 0.1
"""A gap that is remarked on, if it is also as long as ten messages [s]."""

MOST_GAPS = 1000
"""Gaps that are remembered one by one: the longest ones."""

BACK = 0.5
"""A message that is older than an earlier one by so much was not merely delayed [s]."""

_NEIGHBOURS = 5
"""Messages on either side of which the median stamp is taken."""

_ENOUGH = 20
"""Messages of a span from which on their rhythm is judged."""

_IN_TURN = 0.7
"""Share of jumps that go back by the next message from which on two publishers are suspected."""


@dataclass
class TopicUse:
    """A recorded topic and what was seen of it.

    Attributes:
        signal: what it is in the robot file, e.g. 'imu' or 'feet[left]'.
        topic: as recorded.
        msgtype: ROS type.
        count: messages read.
        longest_gap: longest time between two stamps [s].
        gap_at: the stamp at which it begins [ns].
        gaps: stamps at which gaps longer than `LONG_GAP` begin and end [ns].
        first: oldest credible stamp [ns]; None before any.
        newest: newest credible stamp [ns]; None before any.
        steps: median time between stamps of each span [s].
        steps_back: messages that are older than earlier ones by more than `BACK`.
        farthest_back: by how much at most [s].
        delays: median time from stamp to arrival of each span [s].
        rhythms: (spans in which the messages seem to come from two publishers, spans judged).
        changes: whether its values were ever seen to change, or there are too few.
        faults: messages that cannot be read, or were left out before any evaluation.
        unset: messages whose stamp is zero or negative.
        frame_ids: frames seen in the headers.
        forces: of a force sensor, which forces it ever measured.
        mapped: reads messages of another type.
    """

    signal: str
    topic: str
    msgtype: str
    count: int = 0
    longest_gap: float = 0.0
    gap_at: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)
    first: int | None = None
    newest: int | None = None
    steps: list[float] = field(default_factory=list)
    steps_back: int = 0
    farthest_back: float = 0.0
    delays: list[float] = field(default_factory=list)
    rhythms: tuple[int, int] = (0, 0)
    changes: bool = True
    faults: Faults = field(default_factory=Faults)
    unset: int = 0
    frame_ids: set[str] = field(default_factory=set)
    forces: NormalForceWatch = field(default_factory=NormalForceWatch)
    mapped: MappedMessages | None = None

    @property
    def rate(self) -> float:
        """Median rate of the stamps [Hz]; 0 if unknown."""
        return 1.0 / float(np.median(self.steps)) if self.steps else 0.0

    @property
    def delay(self) -> float:
        """Median time from stamp to arrival [s]; NaN if unknown."""
        return float(np.median(self.delays)) if self.delays else float('nan')

    @property
    def alternates(self) -> bool:
        """Whether the messages seem to come from two publishers in turn."""
        alternating, spans = self.rhythms
        return 2 * alternating > spans

    def is_gap(self, length: float, restored: float) -> bool:
        """Whether a time without messages is more than the jitter of the stamps.

        Args:
            length: of the time [s].
            restored: by how much stamps were late that were put back onto their clock [s].
        """
        rate = self.rate
        return rate > 0 and length > max(LONG_GAP, 10.0 / rate, restored + 2.0 / rate)

    def read(self, batch: Batch, joint_names: Sequence[str]) -> Any:
        """Read the topic's messages of a span and take note of them.

        Returns:
            The messages as the batch of `bags.messages` that belongs to the type.
        """
        messages = batch[self.topic]
        if self.mapped is not None:
            read: Any = self.mapped.read(messages, joint_names)
        elif self.msgtype == JOINT_STATE:
            read = joint_state_batch(messages, joint_names)
        else:
            read = {IMU: imu_batch, WRENCH: wrench_batch}.get(self.msgtype, pose_batch)(messages)
        self.count += len(messages)
        self.frame_ids.update(read.frame_ids)
        if read.broken:
            self.faults[Fault(Reason.UNREADABLE, read.fault)] += read.broken
        self.unset += int(np.count_nonzero(read.stamps <= 0))
        credible = credible_stamps(read.stamps)
        stamps, received = read.stamps[credible], read.received[credible]
        if len(stamps):
            self.delays.append(float(np.median(received - stamps)) / NANOSECONDS)
            self._see_stamps(stamps)
        return read

    def observe(self, stamps: Stamps, values: Array) -> None:
        """Judge the rhythm of messages that belong together, in the order of arrival."""
        if self.mapped is not None and self.mapped.is_flag:  # which may well stay as it is
            return
        usable = values
        if self.msgtype == WRENCH:
            self.forces.see(values)
            usable = values[np.isfinite(values).all(axis=1)]
        if len(stamps) >= _ENOUGH:
            alternating, spans = self.rhythms
            constant = bool(np.all(usable[1:] == usable[:-1]))
            self.changes = not constant if spans == 0 else self.changes or not constant
            two = bool(steps_alternate(stamps) or values_alternate(values))
            self.rhythms = (alternating + two, spans + 1)

    def _see_stamps(self, stamps: Stamps) -> None:
        """Judge the order, the rate and the gaps of stamps in the order of arrival."""
        first, newest = int(stamps.min()), int(stamps.max())
        before = stamps[0] if self.newest is None else self.newest
        top = np.maximum.accumulate(np.append(before, stamps))
        behind = (top[1:] - stamps) / NANOSECONDS
        self.steps_back += int(np.count_nonzero(behind > BACK))
        self.farthest_back = max(self.farthest_back, float(behind.max()))
        steps = np.diff(np.unique(np.append(before, stamps))) / NANOSECONDS
        if len(steps):  # in their order: one stray stamp hides no others, as it would in `top`
            self.steps.append(float(np.median(steps)))
        steps = np.diff(top) / NANOSECONDS
        if (steps > 0).any():
            rows = np.flatnonzero(steps > LONG_GAP).tolist()
            self.gaps += [(int(top[row]), int(top[row + 1])) for row in rows]
            if len(self.gaps) > MOST_GAPS:  # of a slow topic every interval is that long
                self.gaps = sorted(self.gaps, key=lambda gap: gap[0] - gap[1])[:MOST_GAPS]
            longest = int(np.argmax(steps))
            if steps[longest] > self.longest_gap:
                self.longest_gap, self.gap_at = float(steps[longest]), int(top[longest])
        self.first = first if self.first is None else min(self.first, first)
        self.newest = newest if self.newest is None else max(self.newest, newest)


def credible(read: Any) -> Any:
    """Return the messages of a batch whose stamps may be true."""
    rows = credible_stamps(read.stamps)
    if rows.all():
        return read
    arrays = {
        name: value[rows] for name, value in vars(read).items() if isinstance(value, np.ndarray)
    }
    return dataclasses.replace(read, **arrays)


def credible_stamps(stamps: Stamps) -> npt.NDArray[np.bool_]:
    """(T,) which stamps [ns] may be true, seen from both sides.

    Compared with the median of their neighbours: a step passes, a stray message does not.
    """
    known = stamps > 0
    rows = np.asarray(known)
    stamps = stamps[known]
    if len(stamps) < 3 or np.ptp(stamps) <= AHEAD:
        return rows
    padded = np.pad(stamps, _NEIGHBOURS, mode='reflect')
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)
    middle = np.partition(around, _NEIGHBOURS, axis=1)[:, _NEIGHBOURS]
    step = np.median(np.abs(np.diff(stamps)))
    rows[known] = np.abs(stamps - middle) <= max(AHEAD, 10.0 * step)
    return rows


def steps_alternate(stamps: Stamps) -> bool:
    """Whether the time between messages is long and short in turn.

    One publisher with a coarse clock may alternate between 2 and 3 ms or 1 and 2 ms, so the long
    step must be 2.5 times the short one.
    """
    steps = np.diff(stamps)
    even, odd = np.median(steps[::2]), np.median(steps[1::2])
    pairs = steps[1:] + steps[:-1]
    unsteady = np.median(np.abs(pairs - np.median(pairs)))
    return bool(max(even, odd) > 2.5 * min(even, odd) and unsteady < 0.1 * abs(even - odd))


def values_alternate(values: Array) -> bool:
    """Whether a column of values (T, m) jumps to and fro, each second one smooth.

    Of two publishers almost every jump goes back by the next one. That of an encoder which
    flickers by its resolution does so once in four messages, as it comes at random.
    """
    if len(values) < 3:
        return False
    with np.errstate(over='ignore', invalid='ignore'):  # not gated yet
        steps = np.diff(values, axis=0)
        up, down = steps > 0, steps < 0
        returns = np.mean((up[1:] & down[:-1]) | (down[1:] & up[:-1]), axis=0)
        in_turn = returns > _IN_TURN + 1.0 / np.sqrt(len(values))  # of few, chance is large
        if not in_turn.any():
            return False
        steps, values = steps[:, in_turn], values[:, in_turn]
        single = np.median(np.abs(steps), axis=0)
        double = np.median(np.abs(values[2:] - values[:-2]), axis=0)
        return bool(np.any((single > 5.0 * double) & (single > 1e-6)))
