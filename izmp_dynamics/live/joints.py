"""Joint positions as they arrive → joint kinematics at the instants of the bus (ACD)."""

from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import NANOSECONDS, Array
from izmp_dynamics.live.sample_queue import State
from izmp_dynamics.live.stage_output import StageOutput
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.credible import LARGEST_JOINT_POSITION
from izmp_dynamics.replay.joints import JointGroup, JointStage, enough_of, group_joints
from izmp_dynamics.sensing.joint_kinematics import JointKinematics

if TYPE_CHECKING:  # scipy.signal takes long to import and most robots need no filter
    from izmp_dynamics.sensing.low_pass import CausalLowPass

LEARNED_MESSAGES = 25
"""Messages from which the groups of joints and their rates are learned, at least."""

LEARNED_TIME = 0.5
"""Time that those messages span, at least [s]."""

Flags = npt.NDArray[np.bool_]


class JointInstant(NamedTuple):
    """The joints at one instant of the bus.

    Attributes:
        stamp: [ns].
        q: (n,) positions [rad] or [m].
        qd: (n,) velocities.
        qdd: (n,) accelerations.
        valid: False if a joint has no trustworthy value; the arrays are NaN then.
    """

    stamp: int
    q: Array
    qd: Array
    qdd: Array
    valid: bool


class LiveJoints:
    """Differentiates the joints of all publishers; those that nobody publishes are at zero.

    The first messages are kept until they tell which joints come together and how often; then
    they are evaluated, so nothing is lost.

    Args:
        model: the robot.
        robot: its file.

    Attributes:
        groups: joints that are published together; empty while that is being learned.
        counts: faults by reason.
    """

    def __init__(self, model: RobotModel, robot: RobotFile) -> None:
        self.model = model
        self.robot = robot
        self.counts: Counter[str] = Counter()
        self.groups: tuple[JointGroup, ...] = ()
        self.reset()

    def reset(self) -> None:
        """Forget all samples and learn anew; the counts stay."""
        if self.groups:
            self.counts = self._all_counts()
        self.groups = ()
        self._learning: list[tuple[int, Array, Flags]] = []
        self._pending: deque[JointInstant] = deque()

    @property
    def period(self) -> float | None:
        """Time between messages of the fastest-growing group [s]; None while it is learned."""
        return self.groups[0].period if self.groups else None

    @property
    def absent(self) -> tuple[str, ...]:
        """Joints that nobody publishes."""
        known = {column for group in self.groups for column in group.columns}
        return tuple(name for k, name in enumerate(self.model.joint_names) if k not in known)

    def all_counts(self) -> Counter[str]:
        """Faults by reason, with those of the differentiation."""
        return self._all_counts() if self.groups else self.counts

    def update(self, stamp: int, positions: Array, present: Flags) -> list[JointInstant]:
        """Take a message; return the instants that it completes.

        Args:
            stamp: [ns].
            positions: (n,) in the order of the model, NaN where the message lacks a joint.
            present: (n,) which joints it has.
        """
        with np.errstate(invalid='ignore'):
            positions = np.where(np.abs(positions) <= LARGEST_JOINT_POSITION, positions, np.nan)
        if not self.groups:
            return self._learn(stamp, positions, present)
        if present[self._unknown].any():
            self.counts['new joints appeared: rates are learned anew'] += 1
            self.reset()
            return self._learn(stamp, positions, present)
        return self._evaluate(stamp, positions, present)

    def flush(self) -> list[JointInstant]:
        """Return what is left at the end of the stream."""
        if not self.groups:
            return self._start() if len(self._learning) > 1 else []
        done = []
        for k, stage in enumerate(self._stages):
            done += self._take(k, stage.flush())
        return [*done, *self._completed(final=True)]

    def _learn(self, stamp: int, positions: Array, present: Flags) -> list[JointInstant]:
        if stamp <= 0:
            self.counts['stamp is zero or negative'] += 1
            return []
        self._learning.append((stamp, positions, present))
        stamps = [sample[0] for sample in self._learning]
        long_enough = max(stamps) - min(stamps) >= LEARNED_TIME * NANOSECONDS
        if len(self._learning) < LEARNED_MESSAGES or not long_enough:
            del self._learning[:-10_000]
            return []
        return self._start()

    def _start(self) -> list[JointInstant]:
        stamps = np.array([sample[0] for sample in self._learning])
        groups = group_joints(np.array([sample[2] for sample in self._learning]), stamps)
        if not groups:
            return []
        period = min(group.period for group in groups)
        conditioning = Conditioning(self.robot, {'joints': period})
        self._origin = int(stamps.min())
        stage = JointStage(self.model, self.robot, groups, conditioning, self._origin)
        self.groups, self._stages, self._bus = groups, stage.stages, stage.bus
        self._others = [StageOutput(reach) for reach in stage.reaches[1:]]
        self._columns = [np.array(group.columns) for group in groups]
        self._unknown = np.ones(self.model.dof, dtype=np.bool_)
        self._unknown[np.concatenate(self._columns)] = False
        self._filters = self._low_pass(stage.reaches)
        self._last: int | None = None
        learned, self._learning = self._learning, []
        return [instant for sample in learned for instant in self._evaluate(*sample)]

    def _low_pass(self, reaches: tuple[float, ...]) -> 'list[CausalLowPass] | None':
        low_pass = self.robot.low_pass
        if low_pass.cutoff is None:
            return None
        from izmp_dynamics.sensing.low_pass import CausalLowPass

        return [
            CausalLowPass(low_pass.cutoff, group.period, low_pass.order, reach)
            for group, reach in zip(self.groups, reaches, strict=True)
        ]

    def _evaluate(self, stamp: int, positions: Array, present: Flags) -> list[JointInstant]:
        done: list[JointInstant] = []
        for k, columns in enumerate(self._columns):
            if not enough_of(present[columns]):
                continue
            values = positions[columns]
            if self._filters is not None and stamp > 0:
                values = self._filters[k].update(stamp, values)
            done += self._take(k, self._stages[k].update(stamp, values))
        return done

    def _take(self, group: int, kinematics: JointKinematics) -> list[JointInstant]:
        """Take what a group's differentiation completed."""
        if not len(kinematics):
            return []
        if group == 0:
            self._pending.extend(self._on_bus(kinematics))
        else:
            parts = (kinematics.positions, kinematics.velocities, kinematics.accelerations)
            for stamp, row in zip(kinematics.stamps.tolist(), np.hstack(parts), strict=True):
                self._others[group - 1].push(stamp, row)
        return list(self._completed(final=False))

    def _on_bus(self, kinematics: JointKinematics) -> Iterator[JointInstant]:
        """Thin out to the bus, and put the values of the first group into place."""
        selected = self._bus.select(kinematics.stamps, self._origin, self._last)
        self._last = int(kinematics.stamps[-1])
        for row in np.flatnonzero(selected).tolist():
            merged = np.zeros((3, self.model.dof))
            for target, part in zip(
                merged,
                (kinematics.positions, kinematics.velocities, kinematics.accelerations),
                strict=True,
            ):
                target[self._columns[0]] = part[row]
            valid = bool(kinematics.valid[row])
            stamp = int(kinematics.stamps[row])
            yield JointInstant(stamp, merged[0], merged[1], merged[2], valid)

    def _completed(self, final: bool) -> Iterator[JointInstant]:
        """Hand out the instants at which the other groups have been heard of."""
        while self._pending:
            instant = self._pending[0]
            newest = self._pending[-1].stamp
            answers = [output.at(instant.stamp, newest) for output in self._others]
            if not final and any(answer.state is State.WAIT for answer in answers):
                return
            self._pending.popleft()
            valid = instant.valid
            for columns, answer in zip(self._columns[1:], answers, strict=True):
                values = np.full(3 * len(columns), np.nan)
                if answer.values is not None:
                    values = answer.values
                valid &= bool(np.isfinite(values).all())
                q, qd, qdd = np.split(values, 3)
                instant.q[columns], instant.qd[columns], instant.qdd[columns] = q, qd, qdd
            yield instant._replace(valid=valid)

    def _all_counts(self) -> Counter[str]:
        return sum((stage.counts for stage in self._stages), self.counts)
