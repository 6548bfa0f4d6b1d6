"""A bag seen as the signals of a robot: messages to arrays, as the pipeline takes them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import Batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.pipeline.joints import enough_of
from izmp_dynamics.recording.joint_watch import JointPresence, JointWatch
from izmp_dynamics.recording.survey import Survey
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.imu import rotations, with_gravity
from izmp_dynamics.signals.samples import Samples, Signals


class Recording(Survey):
    """An open bag with the signals of a robot.

    Attributes:
        orientation: source of the root's orientation: 'imu', 'position', or None.
        joint_watch: what contradicts the URDF's fixed and mimic joints.
        joint_presence: joints that are published for a part of the recording only.
        restored: signal → by how much stamps were late that were put back onto the clock of their
            publisher [s]; filled by the evaluation.

    Raises:
        IzmpError: if joints or IMU are not there or cannot be used.
    """

    def __init__(self, bag: BagReader, robot: RobotFile, model: RobotModel) -> None:
        super().__init__(bag, robot, model)
        self._watch_joints()
        self.restored: dict[str, float] = {}
        self.orientation = 'position' if self.posed else 'imu' if self.oriented else None

    def set_half_width(self, half_width: float | None) -> None:
        """Filter with a half-width that the robot file leaves open [s]; None: not at all."""
        chosen = replace(self.robot.filter, half_width=half_width)
        self.robot = replace(self.robot, filter=chosen)
        self.rig = replace(self.rig, robot=self.robot)

    def set_wrenches(self, **settings: float) -> None:
        """State something else of the force sensors of all feet, such as their delay [s]."""
        self.robot = self.robot.with_wrenches(**settings)
        feet = tuple(
            replace(rig, correction=Correction.of_wrench(foot.wrench)) if foot.wrench else rig
            for rig, foot in zip(self.rig.feet, self.robot.feet, strict=True)
        )
        self.rig = replace(self.rig, robot=self.robot, feet=feet)

    def spans(self, span_s: float) -> Iterator[tuple[Signals, int]]:
        """Go through the log in spans of receive time.

        Returns:
            For each span the signals received in it, and the receive time at its end [ns].
        """
        self.reset()  # the survey has seen some messages, perhaps another pass as well
        self._watch_joints()
        batches = self.bag.batches(self.names, span_s)
        return map(self._span, batches)  # keeps no batch while the next is read

    def _watch_joints(self) -> None:
        published = [column for group in self.groups for column in group.columns]
        self.joint_watch = JointWatch(self.model, published)
        self.joint_presence = JointPresence(self.model.joint_names, published)

    def _span(self, batch: Batch) -> tuple[Signals, int]:
        signals = self._joints(batch)
        for signal in self.robot.signals():
            name = signal.name
            if name == 'joints' or name not in self.uses:
                continue
            read = self._read(name, batch)
            if name == 'imu':
                signals[name] = self._imu(read)
                if self.orientation == 'imu':
                    rows = read.has_orientation
                    signals['orientation'] = Samples(read.stamps[rows], read.orientations[rows])
                continue
            signals[name] = self._observed(name, read.stamps, _VALUES[signal.kind](read))
            if name == 'position' == self.orientation:
                signals['orientation'] = Samples(read.stamps, read.orientations)
        return signals, batch.end

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

    def _joints(self, batch: Batch) -> dict[str, Samples]:
        """Positions; infinity stands for a number that is none, NaN for an absent joint.

        And efforts, where there are any.
        """
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
        signals = {'joints': Samples(read.stamps, positions)}
        if self.robot.estimates_loads:
            efforts = read.efforts[:, : self.model.dof]
            rows = ~np.isnan(efforts).all(axis=1)
            signals['efforts'] = Samples(read.stamps[rows], efforts[rows])
        return signals


_VALUES: Mapping[str, Callable[[Any], Array]] = {
    'position': lambda read: read.positions,
    'ground': lambda read: np.hstack([read.positions, read.orientations]),
    'accelerometers': lambda read: read.linear_acceleration,
    'segment_accelerometers': lambda read: read.linear_acceleration,
    'segments': lambda read: np.hstack([read.angular_velocity, read.linear_acceleration]),
    'feet': lambda read: read.wrenches,
    'foot_imus': lambda read: np.hstack([read.angular_velocity, read.linear_acceleration]),
}
"""Kind of a signal → values (T, …) of its samples, as `Evaluator` takes them."""
