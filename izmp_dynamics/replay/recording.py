"""A bag seen as the signals of a robot: messages to arrays, without what cannot be true."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from izmp_dynamics.bags.batch import Batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.conventions import Array
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.replay.credible import (
    LARGEST_ACCELERATION,
    LARGEST_JOINT_POSITION,
    LARGEST_LOAD,
    LARGEST_POSE,
    LARGEST_POSITION,
    LARGEST_RATE,
    too_large,
)
from izmp_dynamics.replay.finding import Finding
from izmp_dynamics.replay.joints import split_joints
from izmp_dynamics.replay.signals import Signals, Stream
from izmp_dynamics.replay.survey import Survey
from izmp_dynamics.replay.topics import SignalTopics
from izmp_dynamics.sensing.imu import NO_ROTATION, rotations, with_gravity

_IMU_LARGEST = np.repeat([LARGEST_RATE, LARGEST_ACCELERATION], 3)


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
        rig: the robot made ready.
        uses: signal → topic.
        missing: what is not there, one sentence each.
        findings: what is odd about the beginning.
        groups: joints that are published together.
        periods: signal → median time between its messages [s].
        origin: first stamp of the joints [ns].

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
        self.rig = survey.rig
        self.groups = survey.groups
        self.periods = survey.periods
        self.origin = survey.origin
        self.findings: list[Finding] = survey.findings
        self._topics = topics
        self._oriented = survey.oriented
        expected = {column for group in self.groups for column in group.columns}
        self._unexpected = set(range(model.dof)) - expected
        self._largest_load = LARGEST_LOAD * model.total_mass * robot.gravity

    def spans(self, span_s: float) -> Iterator[tuple[Signals, int]]:
        """Go through the log in spans of receive time.

        Yields:
            The signals that were received in the span, and the receive time at its end [ns].
        """
        self._topics.forget()  # the survey has seen some messages
        for batch in self.bag.batches(self._topics.names, span_s):
            yield self._signals(batch), batch.end

    def count_late(self, signals: Signals, start: int) -> None:
        """Count samples from before `start` [ns], up to which everything is evaluated."""
        for signal, stream in self._named(signals):
            late = int(np.count_nonzero(stream.stamps < start)) if start > self.origin else 0
            if late:
                self.uses[signal].gated['arrived too late to be used'] += late

    def _named(self, signals: Signals) -> Iterator[tuple[str, Stream]]:
        for stream in signals.joints:
            yield 'joints', stream
        yield 'imu', signals.imu
        for k, stream in enumerate(signals.accelerometers):
            yield f'accelerometers[{k}]', stream
        if 'position' in self.uses:
            yield 'position', signals.position
        if 'ground' in self.uses:
            yield 'ground', signals.ground
        for foot, stream in zip(self.robot.feet, signals.wrenches, strict=True):
            if foot.wrench:
                yield f'feet[{foot.name}]', stream
        for foot, stream in zip(self.robot.feet, signals.foot_imus, strict=True):
            if foot.imu:
                yield f'foot_imus[{foot.name}]', stream

    def _signals(self, batch: Batch) -> Signals:
        """Turn the messages of a span into signals."""
        imu = self._read('imu', batch)
        pose = self._read('position', batch) if 'position' in self.uses else None
        oriented = imu.has_orientation & self._oriented
        force = imu.linear_acceleration
        if self.robot.imu.gravity_removed:
            world_R_imu, _ = rotations(imu.orientations)
            force = with_gravity(force, world_R_imu, self.robot.gravity)
        motion = Stream(imu.stamps, np.hstack([imu.angular_velocity, force]))
        return Signals(
            joints=self._joints(batch),
            imu=self._stream('imu', motion, _IMU_LARGEST),
            orientation=self._orientation('imu', imu, oriented),
            accelerometers=tuple(
                self._vector(
                    f'accelerometers[{k}]', batch, 'linear_acceleration', LARGEST_ACCELERATION
                )
                for k in range(len(self.robot.accelerometers))
            ),
            position=self._stream(
                'position', Stream(pose.stamps, pose.positions), LARGEST_POSITION
            )
            if pose
            else Stream.empty(3),
            pose=self._orientation('position', pose, np.ones(len(pose), dtype=np.bool_))
            if pose and pose.orientations is not None
            else Stream.empty(4),
            wrenches=tuple(
                self._vector(f'feet[{foot.name}]', batch, 'wrenches', self._largest_load)
                if foot.wrench
                else Stream.empty(6)
                for foot in self.robot.feet
            ),
            foot_imus=tuple(
                self._foot_imu(f'foot_imus[{foot.name}]', batch) if foot.imu else Stream.empty(6)
                for foot in self.robot.feet
            ),
            ground=self._ground(batch) if 'ground' in self.uses else Stream.empty(7),
        )

    def _ground(self, batch: Batch) -> Stream:
        read = self._read('ground', batch)
        pose = Stream(read.stamps, np.hstack([read.positions, read.orientations]))
        pose = self._stream('ground', pose, LARGEST_POSE)
        _, good = rotations(pose.values[:, 3:])
        return self._without('ground', pose, ~good, NO_ROTATION)

    def _foot_imu(self, signal: str, batch: Batch) -> Stream:
        read = self._read(signal, batch)
        motion = np.hstack([read.angular_velocity, read.linear_acceleration])
        return self._stream(signal, Stream(read.stamps, motion), _IMU_LARGEST)

    def _read(self, signal: str, batch: Batch) -> Any:
        return self.uses[signal].read(batch, self.model.joint_names)

    def _joints(self, batch: Batch) -> tuple[Stream, ...]:
        """Positions by group; the outlier gate tells of those that are NaN from here on."""
        read = self._read('joints', batch)
        credible = np.abs(read.positions) <= LARGEST_JOINT_POSITION
        positions = np.where(credible, read.positions, np.nan)
        streams = split_joints(positions, read.present, read.stamps, self.groups)
        for stream in streams:
            self.uses['joints'].hear(stream.stamps, stream.values)
        for column in self._unexpected:
            number = int(np.count_nonzero(read.present[:, column]))
            if number:
                name = self.model.joint_names[column]
                reason = f'{name}: not there at the beginning, taken to be at zero throughout'
                self.uses['joints'].gated[reason] += number
        return streams

    def _vector(self, signal: str, batch: Batch, attribute: str, largest: Array | float) -> Stream:
        read = self._read(signal, batch)
        return self._stream(signal, Stream(read.stamps, getattr(read, attribute)), largest)

    def _stream(self, signal: str, stream: Stream, largest: Array | float) -> Stream:
        """Leave out and count what no such sensor can read."""
        self.uses[signal].hear(stream.stamps, stream.values)
        return self._without(
            signal,
            stream,
            too_large(stream.values, largest),
            'value is larger than any such sensor can read',
        )

    def _orientation(self, signal: str, read: Any, rows: np.ndarray) -> Stream:
        """Leave out and count what is no rotation."""
        stream = Stream(read.stamps[rows], read.orientations[rows])
        _, good = rotations(stream.values)
        return self._without(signal, stream, ~good, NO_ROTATION)

    def _without(self, signal: str, stream: Stream, rows: np.ndarray, why: str) -> Stream:
        if not rows.any():
            return stream
        self.uses[signal].gated[why] += int(rows.sum())
        return stream.rows(~rows)
