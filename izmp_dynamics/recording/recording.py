"""A bag seen as the signals of a robot: messages to arrays, as the pipeline takes them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import Batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.joints import enough_of
from izmp_dynamics.recording.joint_presence import JointPresence
from izmp_dynamics.recording.joint_watch import JointWatch
from izmp_dynamics.recording.survey import Survey
from izmp_dynamics.recording.topics import SignalTopics
from izmp_dynamics.signals.imu import rotations, with_gravity
from izmp_dynamics.signals.samples import Samples, Signals


class Recording:
    """An open bag with the signals of a robot.

    Args:
        bag: open reader.
        robot: robot file.
        model: the robot's model.

    Attributes:
        bag: the reader.
        model: the robot's model.
        robot: robot file without the sensors that were not recorded.
        rig: the robot, prepared for evaluation.
        orientation: source of the root's orientation: 'imu', 'position', or None.
        uses: signal → topic.
        missing: what is not there.
        only_ir_md: whether there is no IMU, so that MR-AD cannot be evaluated.
        unused_wrenches: topics of force sensors that no foot of the robot file takes.
        findings: anomalies of the beginning.
        joint_watch: what contradicts the URDF's fixed and mimic joints.
        joint_presence: joints that are published for a part of the recording only.
        groups: joints that are published together.
        held_joints: foot → movable joints between root and sole that are held at zero, as
            they have no publisher.
        periods: signal → median time between its messages [s].
        origin: times in sentences count from it: the first stamp of the joints, and from the
            evaluation on the first instant, as in the report [ns].
        restored: signal → by how much stamps were late that were put back onto the clock of their
            publisher [s]; filled by the evaluation.

    Raises:
        IzmpError: if joints or IMU are not there or cannot be used.
    """

    def __init__(self, bag: BagReader, robot: RobotFile, model: RobotModel) -> None:
        self.bag = bag
        self.model = model
        topics = SignalTopics(bag, robot)
        survey = Survey(topics, model)
        self.robot = topics.robot
        self.uses = topics.uses
        self.missing = topics.missing
        self.only_ir_md = topics.only_ir_md
        self.unused_wrenches = topics.unused_wrenches
        self.rig = survey.rig
        self.groups = survey.groups
        self.held_joints = survey.held_joints
        self.periods = survey.periods
        self.origin = survey.origin
        self.findings: list[Finding] = survey.findings
        self._watch_joints()
        self.restored: dict[str, float] = {}
        self._topics = topics
        self.orientation = 'imu' if survey.oriented else None
        if survey.posed:
            self.orientation = 'position'

    def set_half_width(self, half_width: float | None) -> None:
        """Filter with a half-width that the robot file leaves open [s]; None: not at all."""
        chosen = replace(self.robot.filter, half_width=half_width)
        self.robot = replace(self.robot, filter=chosen)
        self.rig = replace(self.rig, robot=self.robot)

    def spans(self, span_s: float) -> Iterator[tuple[Signals, int]]:
        """Go through the log in spans of receive time.

        Returns:
            For each span the signals received in it, and the receive time at its end [ns].
        """
        self._topics.reset()  # the survey has seen some messages, perhaps another pass as well
        self._watch_joints()
        batches = self.bag.batches(self._topics.names, span_s)
        return map(self._span, batches)  # keeps no batch while the next is read

    def _watch_joints(self) -> None:
        published = [column for group in self.groups for column in group.columns]
        self.joint_watch = JointWatch(self.model, published)
        self.joint_presence = JointPresence(self.model.joint_names, published)

    def _span(self, batch: Batch) -> tuple[Signals, int]:
        return self._signals(batch), batch.end

    def _signals(self, batch: Batch) -> Signals:
        """Turn the messages of a span into signals."""
        signals = {'joints': self._joints(batch)}
        if not self.robot.imu.from_position:
            imu = self._read('imu', batch)
            signals['imu'] = self._imu(imu)
            if self.orientation == 'imu':
                signals['orientation'] = _rows(imu, imu.orientations, imu.has_orientation)
        for k in range(len(self.robot.accelerometers)):
            signal = f'accelerometers[{k}]'
            read = self._read(signal, batch)
            signals[signal] = self._observed(signal, read.stamps, read.linear_acceleration)
        if 'position' in self.uses:
            pose = self._read('position', batch)
            signals['position'] = self._observed('position', pose.stamps, pose.positions)
            if self.orientation == 'position':
                signals['orientation'] = Samples(pose.stamps, pose.orientations)
        for foot in self.robot.feet:
            if foot.wrench:
                signal = f'feet[{foot.name}]'
                read = self._read(signal, batch)
                signals[signal] = self._observed(signal, read.stamps, read.wrenches)
            if foot.imu:
                signal = f'foot_imus[{foot.name}]'
                read = self._read(signal, batch)
                motion = np.hstack([read.angular_velocity, read.linear_acceleration])
                signals[signal] = self._observed(signal, read.stamps, motion)
        if 'ground' in self.uses:
            read = self._read('ground', batch)
            pose = np.hstack([read.positions, read.orientations])
            signals['ground'] = self._observed('ground', read.stamps, pose)
        return signals

    def _read(self, signal: str, batch: Batch) -> Any:
        return self.uses[signal].read(batch, self.joint_watch.names)

    def _observed(self, signal: str, stamps: Stamps, values: Array) -> Samples:
        """Note the rhythm of a signal on its way into the pipeline."""
        self.uses[signal].observe(stamps, values)
        return Samples(stamps, values)

    def _imu(self, read: Any) -> Samples:
        """Angular velocity and specific force; gravity is added back if the driver removed it."""
        force = read.linear_acceleration
        if self.robot.imu.gravity_removed:
            world_R_imu, _ = rotations(read.orientations)
            world_R_imu[~read.has_orientation] = np.nan
            force = with_gravity(force, world_R_imu, self.robot.gravity)
        return self._observed('imu', read.stamps, np.hstack([read.angular_velocity, force]))

    def _joints(self, batch: Batch) -> Samples:
        """Positions; infinity stands for a number that is none, NaN for an absent joint."""
        read = self._read('joints', batch)
        self.joint_watch.watch(read)
        self.joint_presence.watch(read)
        present = read.present[:, : self.model.dof]
        positions = read.positions[:, : self.model.dof]
        positions = np.where(np.isnan(positions) & present, np.inf, positions)
        positions = np.where(present, positions, np.nan)
        for group in self.groups:
            columns = list(group.columns)
            rows = enough_of(present[:, columns])
            self.uses['joints'].observe(read.stamps[rows], read.positions[rows][:, columns])
        return Samples(read.stamps, positions)


def _rows(read: Any, values: Array, rows: np.ndarray) -> Samples:
    return Samples(read.stamps[rows], values[rows])
