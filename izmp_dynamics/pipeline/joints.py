"""Joint positions of all publishers → one joint kinematics (ACD), at the actuator's rate."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Flags, Stamps
from izmp_dynamics.base.faults import Fault, Faults, Reason
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.limits import LARGEST_JOINT_POSITION
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.signals.buffer import SampleBuffer, reach_of
from izmp_dynamics.signals.bus_grid import BusGrid
from izmp_dynamics.signals.matched_filter import check_half_width
from izmp_dynamics.signals.publisher_clock import PublisherClock
from izmp_dynamics.signals.repeats import StuckLog
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.signals.stream import filter_spread
from izmp_dynamics.signals.stuck_joints import MotionEvidence, StuckJoints

LEARNED_MESSAGES = 25
"""Messages from which the groups of joints and their rates are learned, at least."""

LEARNED_TIME = 0.5
"""Time that those messages span, at least [s]."""

_MOST_LEARNED = 10_000
_RATE_MESSAGES = 100
_HELD_UP = Fault(Reason.STAMP_HELD_UP)


@dataclass(frozen=True)
class JointGroup:
    """Joints that are published in one message.

    Attributes:
        columns: their indices into q.
        period: median time between the messages [s].
    """

    columns: tuple[int, ...]
    period: float


class JointStage:
    """ACD for all groups of joints; joints that no message holds are at zero.

    The instants are those of the first group; the kinematics of the others are interpolated to
    them. Where the groups are not known, the first messages are kept until they show which joints
    come together and how often; then they are evaluated, so nothing is lost.

    Args:
        model: the robot.
        robot: its file; the filter of the positions is between the gates and the quotients.
        groups: the groups, the one that sets the instants first; None: learned.
        patience: an instant does not wait for a group that is behind by more [s].
        evidence: signals that show whether the robot moves while joints repeat their positions;
            without any, no joint is said to be stuck.
        relearn: whether further joints become groups when they appear, and all are learned again
            when their rate changed, as a running system needs it; else such joints are held at
            zero and counted.

    Attributes:
        groups: joints that are published together; empty while that is being learned.
        clocks: of the publishers of the groups; empty if the stamps are used as they are.
        evidence: of the motion of the robot, by those signals.
        stuck_times: times in which joints were stuck.
        stuck_joints: which ones.

    Raises:
        SensingError: if the joints are too slow for the filter.
    """

    def __init__(
        self,
        model: RobotModel,
        robot: RobotFile,
        *,
        groups: tuple[JointGroup, ...] | None = None,
        patience: float,
        evidence: Iterable[str] = (),
        relearn: bool = False,
    ) -> None:
        self.model = model
        self.robot = robot
        self.groups: tuple[JointGroup, ...] = ()
        self._known_groups = groups
        self._patience = patience
        self._relearn = relearn
        self._faults: Faults = Counter()
        self._stages: tuple[ActuatorDifferentiator, ...] = ()
        self.clocks: tuple[PublisherClock, ...] = ()
        self.stuck_times, self.stuck_joints = StuckLog(), frozenset[str]()
        self.evidence = MotionEvidence(evidence)
        self._gates: tuple[StuckJoints, ...] = ()
        self._last: int | None = None
        self._due: int | None = None
        self._none = JointKinematics.none(model.dof)
        self.reset()

    @property
    def absent(self) -> tuple[str, ...]:
        """Joints that no message holds, once the groups are known."""
        known = {column for group in self.groups for column in group.columns}
        return tuple(name for k, name in enumerate(self.model.joint_names) if k not in known)

    @property
    def faults(self) -> Faults:
        """Samples and instants that could not be used, by reason."""
        faults = sum((stage.faults for stage in self._stages), self._faults)
        return sum((clock.faults for clock in self.clocks), faults)

    def reset(self) -> None:
        """Forget all samples and what was learned; the faults stay."""
        self._faults = self.faults
        self._stages = ()
        self._gates = ()
        self.evidence.reset()
        self.clocks = ()
        self.groups = ()
        self._held_up: list[tuple[int, int]] = []
        self._learning = Samples.empty(self.model.dof)
        if self._known_groups is not None:
            self._begin(self._known_groups)

    def assume(self, groups: tuple[JointGroup, ...]) -> None:
        """Begin with groups that are known from before, until the next reset.

        Raises:
            SensingError: if the joints are too slow for the filter.
        """
        if groups and not self.groups:
            self._begin(groups)

    def push(self, samples: Samples) -> JointKinematics:
        """Take messages; return the instants that no further message can change.

        Args:
            samples: (T, n) positions in the order of the model [rad] or [m]; NaN where a message
                lacks a joint, infinity where its value is no number.

        Raises:
            ShapeError: if they have another width.
        """
        samples.check_width('joints', self.model.dof)
        if self.groups and self._relearn and self._has_new_rate():
            self.reset()
        if self.groups:
            return self._evaluate(samples)
        unset = samples.stamps <= 0
        if unset.any():
            self._faults[Fault(Reason.STAMP_UNSET)] += int(np.count_nonzero(unset))
        self._learning = Samples.joined([self._learning, samples.select(~unset)])
        stamps = self._learning.stamps
        learned = self._none
        if len(stamps) >= LEARNED_MESSAGES and np.ptp(stamps) >= LEARNED_TIME * NANOSECONDS:
            learned = self._learn()
        self._learning = self._learning.select(slice(-_MOST_LEARNED, None))
        return learned

    def settle(self) -> JointKinematics:
        """Return the instants that waited for evidence of motion.

        To be called when the samples of all signals that came together have been taken.
        """
        if not any(gate.waits for gate in self._gates):
            return self._none
        for k, gate in enumerate(self._gates):
            self._extend(k, gate.settle(self._newest - nanoseconds(self._patience)))
        return self._completed()

    def flush(self, final: bool = True) -> JointKinematics:
        """Return the instants that are left at the end of the stream.

        Args:
            final: whether groups that are not known yet are learned from what there is.
        """
        parts = []
        if final and not self.groups and len(self._learning) > 1:
            parts.append(self._learn())
        for k in range(len(self._stages)):
            self._flush_group(k)
        return JointKinematics.joined([*parts, self._completed()])

    def on_bus(self, stamps: Stamps) -> Flags:
        """Which of the next instants (K,) [ns] reach the bus; to be asked for each once.

        The ticks count from stamp zero, so the choice does not depend on the first message.
        Those at which joints are stuck are counted.
        """
        if not len(stamps):
            return np.zeros(0, dtype=np.bool_)
        selected = self._bus.select(stamps, self._last)
        self._last, self._due = int(stamps[-1]), None
        stuck, repeated = np.zeros((2, len(stamps)), dtype=np.bool_)
        for group, gate in zip(self.groups, self._gates, strict=True):
            if not gate.spans.any:
                continue
            joints = gate.spans.stuck_at(stamps, around=True) & selected[:, None]
            if joints.any():
                stuck |= joints.any(axis=1)
                repeated |= stuck & gate.spans.stuck_at(stamps, filtered=False).any(axis=1)
                columns = np.array(group.columns)[joints.any(axis=0)].tolist()
                self.stuck_joints |= {self.model.joint_names[column] for column in columns}
        if stuck.any():
            self._faults[Fault(Reason.HANGS)] += int(np.count_nonzero(stuck))
            self.stuck_times.add(stamps[repeated])
        return selected

    def due(self, stamp: int) -> int:
        """Stamp [ns] before which no message completes an instant that reaches the bus.

        It holds as long as the messages come at their usual rate.

        Args:
            stamp: of the latest message that was taken, or is there to be taken [ns].
        """
        if len(self.groups) != 1 or self._last is None or stamp < self._last:
            return 0
        if self._due is None:
            behind = self._stages[0].latency - 0.25  # instants may be half a sample early
            begin = self._bus.next_after(self._last)
            self._due = begin + nanoseconds(behind * self.groups[0].period)
        return self._due

    def _flush_group(self, group: int) -> None:
        """Differentiate the last messages of a group, at the end or before a pause."""
        gate = self._gates[group]
        if self.clocks:
            self._extend(group, gate.push(self.clocks[group].flush()))
        self._extend(group, gate.flush())
        self._take(group, self._stages[group].flush())
        if group:
            self._others[group - 1].closed = True

    def _learn(self) -> JointKinematics:
        groups = group_joints(~np.isnan(self._learning.values), self._learning.stamps)
        if not groups:
            return self._none
        learned, self._learning = self._learning, Samples.empty(self.model.dof)
        self._begin(groups)
        return self._evaluate(learned)

    def _begin(self, groups: tuple[JointGroup, ...]) -> None:
        max_gap = self.robot.pairing.max_gap
        self._reach = reach_of(max_gap, min(group.period for group in groups))
        self._others: list[SampleBuffer] = []
        self._columns: list[npt.NDArray[np.intp]] = []
        self._unknown = np.ones(self.model.dof, dtype=np.bool_)
        self._first_seen: dict[int, int] = {}
        self._newest = 0
        for group in groups:
            self._add_group(group)
        self._bus = BusGrid(self.robot.rates.bus, groups[0].period)
        self._last = self._due = None
        self._pending = self._none

    def _add_group(self, group: JointGroup) -> None:
        acd = self.robot.acd
        longest = max(acd.max_gap, 2.5 * group.period)
        reach = max(self._reach, longest)
        width = len(group.columns)
        half_width = self.robot.filter.half_width
        check_half_width(half_width, 'joints', group.period)
        stage = ActuatorDifferentiator(
            [self.model.joint_names[column] for column in group.columns],
            group.period,
            method=acd.method,
            window=acd.window,
            degree=acd.degree,
            max_gap=longest,
            acceleration_limit=acd.acceleration_limit,
            half_width=half_width,
        )
        if self.groups:
            other = SampleBuffer(3 * width, reach)
            other.give_up = partial(self._flush_group, len(self.groups))
            self._others.append(other)
        self.groups, self._stages = (*self.groups, group), (*self._stages, stage)
        spread = filter_spread(half_width, group.period) or stage.window // 2 * group.period
        gate = StuckJoints(group.period, width, self.evidence, (spread, spread))
        self._gates = (*self._gates, gate)
        if self.robot.joints.stamps == 'publisher_clock':
            self.clocks = (*self.clocks, PublisherClock(width))
        self._columns.append(np.array(group.columns))
        self._unknown[list(group.columns)] = False
        self._held_up.append((0, 0))

    def _evaluate(self, samples: Samples) -> JointKinematics:
        """Sort messages into the groups and differentiate each."""
        if len(self.groups) == 1 and _all_credible(samples.values, self._unknown):
            columns = self._columns[0]
            values = (
                samples.values if len(columns) == self.model.dof else samples.values[:, columns]
            )
            self._differentiate(0, samples.stamps, values)
            return self._completed()
        present = ~np.isnan(samples.values)
        if (self._unknown & present).any():
            self._see_unknown(samples.stamps, present)
        with np.errstate(invalid='ignore'):
            credible = np.abs(samples.values) <= LARGEST_JOINT_POSITION
        positions = np.where(credible, samples.values, np.nan)
        for k, columns in enumerate(self._columns):
            rows = enough_of(present[:, columns])
            if rows.any():
                self._differentiate(k, samples.stamps[rows], positions[rows][:, columns])
        for stage, other in zip(self._stages[1:], self._others, strict=True):
            other.expect(stage.received_until)
            other.settled = stage.settled
        return self._completed()

    def _differentiate(self, group: int, stamps: Stamps, positions: Array) -> None:
        if len(stamps):
            self._newest = max(self._newest, int(stamps.max()))
        samples = Samples(stamps, positions)
        if self.clocks:
            samples = self.clocks[group].push(samples)
        self._extend(group, self._gates[group].push(samples))

    def _extend(self, group: int, samples: Samples) -> None:
        self._take(group, self._stages[group].extend(samples.stamps, samples.values))

    def _see_unknown(self, stamps: Stamps, present: Flags) -> None:
        """Count joints of which no group is known; of a running system they become one.

        That takes a second message. Those that come less often than an instant waits stay at
        zero, since every result would wait for them.
        """
        for row in np.flatnonzero((self._unknown & present).any(axis=1)).tolist():
            stamp, late = int(stamps[row]), []
            for column in np.flatnonzero(self._unknown & present[row]).tolist():
                self._faults[Fault(Reason.JOINT_APPEARED, self.model.joint_names[column])] += 1
                step = (stamp - self._first_seen.get(column, stamp)) / NANOSECONDS
                self._first_seen[column] = stamp
                if self._relearn and 0.0 < step <= self._patience:
                    late.append((column, step))
            if late:
                columns, steps = zip(*late, strict=True)
                self._add_group(JointGroup(columns, min(steps)))

    def _has_new_rate(self) -> bool:
        """Whether most messages of a group now come too close together for its known period."""
        for k, stage in enumerate(self._stages):
            messages, before = self._held_up[k]
            self._held_up[k] = messages + 1, before
            if messages >= _RATE_MESSAGES:
                held = stage.faults[_HELD_UP]
                self._held_up[k] = 0, held
                if 2 * (held - before) > messages:
                    return True
        return False

    def _take(self, group: int, kinematics: JointKinematics) -> None:
        """Take what the differentiation of a group completed."""
        if not len(kinematics):
            return
        kinematics = self._without_stuck(group, kinematics)
        parts = (kinematics.positions, kinematics.velocities, kinematics.accelerations)
        if group:
            self._others[group - 1].append(kinematics.stamps, np.hstack(parts))
            return
        if len(self._columns[0]) < self.model.dof:
            wide = np.zeros((3, len(kinematics), self.model.dof))
            for target, part in zip(wide, parts, strict=True):
                target[:, self._columns[0]] = part
            kinematics = JointKinematics(
                kinematics.stamps, wide[0], wide[1], wide[2], kinematics.valid
            )
        self._pending = JointKinematics.joined([self._pending, kinematics])

    def _without_stuck(self, group: int, kinematics: JointKinematics) -> JointKinematics:
        spans = self._gates[group].spans
        if not spans.any:
            return kinematics
        wrong = spans.stuck_at(kinematics.stamps, around=True)
        if not wrong.any():
            return kinematics
        parts = (kinematics.positions, kinematics.velocities, kinematics.accelerations)
        q, qd, qdd = (np.where(wrong, np.nan, part) for part in parts)
        return JointKinematics(
            kinematics.stamps, q, qd, qdd, kinematics.valid & ~wrong.any(axis=1)
        )

    def _completed(self) -> JointKinematics:
        """Hand out the instants at which the other groups are known, or never will be."""
        pending = self._pending if self.groups else self._none
        if not len(pending):
            return pending
        if not self._others:
            self._pending = self._none
            return pending
        newest = int(pending.stamps[-1])
        count = min(
            other.decided(pending.stamps, newest, self._patience) for other in self._others
        )
        self._pending = pending.select(slice(count, None))
        return self._merged(pending.select(np.arange(count)))

    def _merged(self, first: JointKinematics) -> JointKinematics:
        """Pair the other groups with instants of the first."""
        valid = first.valid.copy()
        for columns, other in zip(self._columns[1:], self._others, strict=True):
            paired = other.at(first.stamps)
            lost = int(np.count_nonzero(valid & ~paired.valid))
            if lost:
                self._faults[Fault(Reason.NO_SAMPLE)] += lost
            valid &= paired.valid
            parts = np.split(paired.values, 3, axis=1)
            first.positions[:, columns], first.velocities[:, columns] = parts[0], parts[1]
            first.accelerations[:, columns] = parts[2]
            if len(first):
                other.forget(int(first.stamps[-1]))
        return JointKinematics(
            first.stamps, first.positions, first.velocities, first.accelerations, valid
        )


def group_joints(present: Flags, stamps: Stamps) -> tuple[JointGroup, ...]:
    """Find which joints are published together.

    Args:
        present: (T, n) which joints each message has.
        stamps: (T,) [ns].

    Returns:
        Groups of joints, the largest first; a joint belongs to the largest group that has it.
    """
    packed = np.packbits(present, axis=1)  # in the same order, and sorted faster
    first, which, sizes = np.unique(
        packed, axis=0, return_index=True, return_inverse=True, return_counts=True
    )[1:]
    patterns, which = present[first], which.reshape(-1)
    taken = np.zeros(present.shape[1], dtype=np.bool_)
    groups = []
    for index in np.argsort(-patterns.sum(axis=1) * len(stamps) - sizes):
        columns = np.flatnonzero(patterns[index] & ~taken)
        steps = np.diff(np.sort(stamps[which == index]))
        steps = steps[steps > 0]
        if not len(columns) or not len(steps):
            continue
        taken[columns] = True
        period = float(np.median(steps)) * 1e-9
        groups.append(JointGroup(tuple(int(column) for column in columns), period))
    return tuple(groups)


def enough_of(present: Flags) -> Flags:
    """Whether messages (…, joints of a group) have at least half of the group's joints.

    A publisher that repeats a few joints of another one adds nothing.
    """
    return np.asarray(2 * present.sum(axis=-1) >= present.shape[-1])


@kernel
def _all_credible(positions: Array, unknown: Flags) -> bool:
    """Whether every message (T, n) has all joints but the unknown ones, with credible values."""
    for t in range(len(positions)):
        for j in range(positions.shape[1]):
            if unknown[j]:
                if not np.isnan(positions[t, j]):
                    return False
            elif not abs(positions[t, j]) <= LARGEST_JOINT_POSITION:
                return False
    return True
