"""Joint positions of all publishers → one joint kinematics (ACD), at the actuator and bus rate."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.replay.conditioning import Conditioning
from izmp_dynamics.replay.counts import NO_SAMPLE, Counts
from izmp_dynamics.replay.pairing import pair
from izmp_dynamics.replay.signals import Stream
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.bus_grid import BusGrid
from izmp_dynamics.sensing.joint_kinematics import JointKinematics


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
    """ACD for all groups of joints; joints that nobody publishes are held at zero.

    Args:
        model: the robot.
        robot: its file.
        groups: the groups, the one that sets the instants first.
        conditioning: of the signals.
        origin: origin of the bus grid [ns].

    Attributes:
        reaches: per group, the longest time between messages that is bridged [s].
    """

    def __init__(
        self,
        model: RobotModel,
        robot: RobotFile,
        groups: tuple[JointGroup, ...],
        conditioning: Conditioning,
        origin: int,
    ) -> None:
        self.model = model
        self.groups = groups
        self.origin = origin
        acd = robot.acd
        self.stages = tuple(
            ActuatorDifferentiator(
                [model.joint_names[column] for column in group.columns],
                group.period,
                method=acd.method,
                window=acd.window,
                degree=acd.degree,
                max_gap=max(acd.max_gap, 2.5 * group.period),
                acceleration_limit=acd.acceleration_limit,
            )
            for group in groups
        )
        self.bus = BusGrid(robot.rates.bus, groups[0].period)
        self.reaches = tuple(
            max(conditioning.reach('joints'), stage.max_gap) for stage in self.stages
        )
        low_pass = conditioning.low_pass('joints')
        self.low_passes = tuple(
            None if low_pass is None else low_pass.across(reach) for reach in self.reaches
        )

    @property
    def context(self) -> float:
        """Time before and after an instant that its values depend on [s]."""
        settle = max((low_pass.context for low_pass in self.low_passes if low_pass), default=0.0)
        widest = max(stage.context + stage.max_gap for stage in self.stages)
        return settle + widest + max(self.reaches) + self.bus.tick

    def evaluate(self, streams: tuple[Stream, ...], counts: Counts) -> JointKinematics:
        """Differentiate; the instants are those of the first group.

        Args:
            streams: (T, columns of the group) positions per group [rad] or [m].
            counts: takes what was gated.
        """
        parts = []
        for stage, stream, low_pass in zip(self.stages, streams, self.low_passes, strict=True):
            kinematics, faults = stage.batch(stream.stamps, stream.values, self.origin, low_pass)
            inside = counts.inside(stream.stamps)
            counts.by_signal['joints'] += faults.counts(inside)
            parts.append(kinematics)
        return self._merged(parts, counts)

    def on_bus(self, stamps: Stamps) -> npt.NDArray[np.bool_]:
        """Which instants reach the bus."""
        return self.bus.select(stamps, self.origin)

    def _merged(self, parts: list[JointKinematics], counts: Counts) -> JointKinematics:
        instants = parts[0].stamps
        merged = np.zeros((3, len(instants), self.model.dof))
        valid = parts[0].valid.copy()
        for group, reach, part in zip(self.groups, self.reaches, parts, strict=True):
            columns = list(group.columns)
            values = np.stack([part.positions, part.velocities, part.accelerations])
            if part is not parts[0]:
                paired = pair(instants, part.stamps, np.hstack(list(values)), reach)
                counts.add('joints', NO_SAMPLE, instants, valid & ~paired.valid)
                values = np.stack(np.split(paired.values, 3, axis=1))
                valid &= paired.valid
            merged[:, :, columns] = values
        return JointKinematics(instants, merged[0], merged[1], merged[2], valid)


def group_joints(present: npt.NDArray[np.bool_], stamps: Stamps) -> tuple[JointGroup, ...]:
    """Find which joints are published together.

    Args:
        present: (T, n) which joints each message has.
        stamps: (T,) [ns].

    Returns:
        Groups of joints, the largest first; a joint belongs to the largest group that has it.
    """
    patterns, which, sizes = np.unique(present, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
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


def split_joints(
    positions: Array,
    present: npt.NDArray[np.bool_],
    stamps: Stamps,
    groups: tuple[JointGroup, ...],
) -> tuple[Stream, ...]:
    """Sort joint messages into the groups' streams.

    Args:
        positions: (T, n) [rad] or [m], NaN where a message lacks a joint.
        present: (T, n).
        stamps: (T,) [ns].
        groups: from `group_joints`.

    Returns:
        Per group the messages that have at least half of its joints; what they lack is NaN. A
        publisher that repeats a few joints of another one adds nothing.
    """
    streams = []
    for group in groups:
        columns = list(group.columns)
        rows = enough_of(present[:, columns])
        streams.append(Stream(stamps[rows], positions[rows][:, columns]))
    return tuple(streams)


def enough_of(present: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Whether messages (…, joints of a group) have at least half of the group's joints."""
    enough: npt.NDArray[np.bool_] = 2 * present.sum(axis=-1) >= present.shape[-1]
    return enough
