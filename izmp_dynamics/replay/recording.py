"""A bag seen as the signals of a robot: topics found, joints grouped, messages to arrays."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from izmp_dynamics.bags.batch import Batch
from izmp_dynamics.bags.messages import imu_batch, joint_state_batch, pose_batch, wrench_batch
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.errors import ReplayError
from izmp_dynamics.model.robot_file import Accelerometer, Foot, RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.replay.joints import group_joints, split_joints
from izmp_dynamics.replay.rig import make_rig
from izmp_dynamics.replay.signals import Signals, Stream
from izmp_dynamics.sensing.imu import rotations, with_gravity
from izmp_dynamics.sensing.imu_check import check_imu

JOINT_STATE = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
POSITIONS = (
    'geometry_msgs/msg/PointStamped',
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'nav_msgs/msg/Odometry',
)
SURVEY_SECONDS = 10.0
"""Time at the beginning of a log from which frames, groups and rates are learned."""

_HOUR = 3600 * NANOSECONDS


@dataclass
class TopicUse:
    """A recorded topic and what was seen of it.

    Attributes:
        signal: what it is in the robot file, e.g. 'imu' or 'feet[left]'.
        topic: as recorded.
        msgtype: ROS type.
        count: messages read.
        longest_gap: [s].
        steps: median time between stamps of each span [s].
        gated: reason → messages that were not used, before any evaluation.
        frame_ids: frames seen in the headers.
    """

    signal: str
    topic: str
    msgtype: str
    count: int = 0
    longest_gap: float = 0.0
    steps: list[float] = field(default_factory=list)
    gated: Counter[str] = field(default_factory=Counter)
    frame_ids: set[str] = field(default_factory=set)
    _newest: int | None = None

    @property
    def rate(self) -> float:
        """Median rate of the stamps [Hz]; 0 if unknown."""
        return 1.0 / float(np.median(self.steps)) if self.steps else 0.0

    def see(self, stamps: Stamps, broken: int, fault: str | None, frames: tuple[str, ...]) -> None:
        """Take note of a span of messages."""
        self.count += len(stamps) + broken
        self.frame_ids.update(frames)
        if broken:
            self.gated[f'cannot be read: {fault}'] += broken
        known = np.sort(stamps[stamps > 0])
        if not len(known):
            return
        joined = known if self._newest is None else np.append(self._newest, known)
        steps = np.diff(joined)
        steps = steps[steps > 0] / NANOSECONDS
        if len(steps):
            self.steps.append(float(np.median(steps)))
            self.longest_gap = max(self.longest_gap, float(steps.max()))
        self._newest = (
            int(known[-1]) if self._newest is None else max(self._newest, int(known[-1]))
        )


class Recording:
    """An open bag with the signals of a robot.

    Args:
        bag: open reader.
        robot: robot file.
        model: the robot's model.

    Attributes:
        robot: robot file without the sensors that were not recorded.
        rig: the robot made ready.
        uses: signal → topic.
        missing: what is not there, one sentence each.
        groups: joints that are published together.
        periods: signal → median time between its messages [s].
        oriented: whether the IMU's orientation can be used.
        origin: first stamp of the joints [ns].

    Raises:
        ReplayError: if joints or IMU are not there.
    """

    def __init__(self, bag: BagReader, robot: RobotFile, model: RobotModel) -> None:
        self.bag = bag
        self.model = model
        self.missing: list[str] = []
        self.uses: dict[str, TopicUse] = {}
        self.robot = self._find_topics(robot)
        self._survey()

    @property
    def topics(self) -> list[str]:
        """The recorded topics in use, each once."""
        return list(dict.fromkeys(use.topic for use in self.uses.values()))

    def spans(self, span_s: float) -> Iterator[tuple[Signals, int]]:
        """Go through the log in spans of receive time.

        Yields:
            The signals that were received in the span, and the receive time at its end [ns].
        """
        for signal, use in self.uses.items():
            self.uses[signal] = TopicUse(signal, use.topic, use.msgtype)  # the survey saw some
        for batch in self.bag.batches(self.topics, span_s):
            yield self._signals(batch), batch.end

    def _find_topics(self, robot: RobotFile) -> RobotFile:
        self._require('joints', robot.joints.topic, JOINT_STATE)
        self._require('imu', robot.imu.topic, IMU)
        position = robot.position
        if position is not None and not self._find('position', position.topic, *POSITIONS):
            self._miss('position', position.topic, 'IR-MD and the pose in the world')
            position = None
        return dataclasses.replace(
            robot,
            position=position,
            accelerometers=self._find_accelerometers(robot),
            feet=tuple(self._find_foot(foot) for foot in robot.feet),
        )

    def _find_accelerometers(self, robot: RobotFile) -> tuple[Accelerometer, ...]:
        found = [
            self._find(f'accelerometers[{k}]', sensor.topic, IMU)
            for k, sensor in enumerate(robot.accelerometers)
        ]
        if all(found):
            return robot.accelerometers
        absent = [
            sensor.topic
            for sensor, there in zip(robot.accelerometers, found, strict=True)
            if not there
        ]
        if robot.angular_acceleration.method == 'accelerometers':
            self._fail(f"accelerometers: topic '{absent[0]}'", IMU)
        for k in range(len(found)):
            self.uses.pop(f'accelerometers[{k}]', None)
        self.missing.append(
            f'Accelerometers {", ".join(absent)} are not recorded: the angular acceleration comes '
            'from the difference quotient of the gyroscope.'
        )
        return ()

    def _find_foot(self, foot: Foot) -> Foot:
        if foot.wrench is None:
            return foot
        if self._find(f'feet[{foot.name}]', foot.wrench.topic, WRENCH):
            if foot.wrench.normal_only:
                self.missing.append(
                    f"Foot '{foot.name}' measures its normal force only, taken to act at the "
                    "sensor frame's origin: the CoP tells how the feet share the load, not "
                    'where on the sole it acts.'
                )
            return foot
        self._miss(f'feet[{foot.name}]', foot.wrench.topic, 'the measured CoP')
        return dataclasses.replace(foot, wrench=None)

    def _find(self, signal: str, wanted: str, *types: str) -> bool:
        name = resolve_topic(wanted, self.bag.topics)
        if name is None:
            return False
        msgtype = self.bag.topics[name].msgtype
        if msgtype not in types:
            raise ReplayError(
                f"{signal}: topic '{name}' has the type {msgtype}; valid: {', '.join(types)}."
            )
        self.bag.decoder(name)
        self.uses[signal] = TopicUse(signal, name, msgtype)
        return True

    def _require(self, signal: str, wanted: str, msgtype: str) -> None:
        if not self._find(signal, wanted, msgtype):
            self._fail(f"{signal}: topic '{wanted}'", msgtype)

    def _fail(self, what: str, msgtype: str) -> NoReturn:
        there = [topic.name for topic in self.bag.topics.values() if topic.msgtype == msgtype]
        raise ReplayError(
            f'{what} is not in the bag. Topics of type {msgtype} there: '
            f'{", ".join(there) or "none"}.'
        )

    def _miss(self, signal: str, wanted: str, without: str) -> None:
        self.missing.append(
            f"{signal}: topic '{wanted}' is not in the bag; without it: no {without}."
        )

    def _survey(self) -> None:
        """Learn frames, joint groups and rates from the beginning of the log."""
        joints: list[tuple[Array, Array, Stamps]] = []
        imus: list[Any] = []
        stop = (self.bag.start or 0) + round(SURVEY_SECONDS * NANOSECONDS)
        for batch in self.bag.batches(self.topics, 1.0):
            for signal in self.uses:
                read = self._read(signal, batch)
                if signal == 'joints':
                    joints.append((read.positions, read.present, read.stamps))
                elif signal == 'imu':
                    imus.append(read)
            if batch.end > stop and all(use.count > 1 for use in self.uses.values()):
                break
        self._learn_joints(joints)
        silent = [use for use in self.uses.values() if not use.steps]
        if silent:
            raise ReplayError(
                f"{silent[0].signal}: topic '{silent[0].topic}' has {silent[0].count} messages, "
                'but at least two with increasing stamps are needed.'
            )
        self.periods = {signal: 1.0 / use.rate for signal, use in self.uses.items()}
        self.rig = make_rig(self.robot, self.model, self._frame_ids())
        self._learn_imu(imus)

    def _learn_imu(self, imus: list[Any]) -> None:
        """Refuse an IMU whose signals cannot be right; find out if its orientation is one."""
        oriented = np.concatenate([imu.has_orientation for imu in imus])
        rows = oriented if oriented.any() else ~oriented
        stamps, omega, force, orientation = (
            np.concatenate([getattr(imu, name) for imu in imus])[rows]
            for name in ('stamps', 'angular_velocity', 'linear_acceleration', 'orientations')
        )
        verdict = check_imu(
            stamps,
            omega,
            force,
            orientation if oriented.any() else None,
            self.robot.imu.gravity_removed,
            self.robot.gravity,
        )
        self.oriented = verdict.oriented
        self.missing += verdict.remarks

    def _learn_joints(self, joints: list[tuple[Array, Array, Stamps]]) -> None:
        present = np.concatenate([part[1] for part in joints])
        stamps = np.concatenate([part[2] for part in joints])
        self.groups = group_joints(present, stamps)
        if not self.groups:
            names = ', '.join(self.model.joint_names)
            raise ReplayError(
                f"Topic '{self.uses['joints'].topic}' has no positions of the robot's joints "
                f'({names}). Is this the URDF of the recorded robot?'
            )
        published = {column for group in self.groups for column in group.columns}
        absent = [name for k, name in enumerate(self.model.joint_names) if k not in published]
        if absent:
            self.missing.append(
                f'Joints that nobody publishes are taken to be at zero: {", ".join(absent)}.'
            )
        known = stamps[stamps > 0]
        self.origin = int(np.sort(known)[0])

    def _frame_ids(self) -> dict[str, str | None]:
        """Topic as in the robot file → its one frame_id, if it has one."""
        ids: dict[str, str | None] = {}
        sensors = [
            ('imu', self.robot.imu.topic),
            *((f'accelerometers[{k}]', s.topic) for k, s in enumerate(self.robot.accelerometers)),
            *((f'feet[{f.name}]', f.wrench.topic) for f in self.robot.feet if f.wrench),
        ]
        for signal, topic in sensors:
            frames = self.uses[signal].frame_ids
            ids[topic] = next(iter(frames)) if len(frames) == 1 else None
        return ids

    def _read(self, signal: str, batch: Batch) -> Any:
        """Read one signal's messages of a span and take note of them."""
        use = self.uses[signal]
        messages = batch[use.topic]
        if use.msgtype == JOINT_STATE:
            read: Any = joint_state_batch(messages, self.model.joint_names)
        else:
            read = {IMU: imu_batch, WRENCH: wrench_batch}.get(use.msgtype, pose_batch)(messages)
        use.see(read.stamps, read.broken, read.fault, read.frame_ids)
        return read

    def _signals(self, batch: Batch) -> Signals:
        """Turn the messages of a span into signals."""
        joints = self._read('joints', batch)
        imu = self._read('imu', batch)
        pose = self._read('position', batch) if 'position' in self.uses else None
        oriented = imu.has_orientation & self.oriented
        force = imu.linear_acceleration
        if self.robot.imu.gravity_removed:
            world_R_imu, _ = rotations(imu.orientations)
            force = with_gravity(force, world_R_imu, self.robot.gravity)
        return Signals(
            joints=tuple(
                self._timed('joints', stream)
                for stream in split_joints(
                    joints.positions, joints.present, joints.stamps, self.groups
                )
            ),
            imu=self._timed(
                'imu',
                Stream(imu.stamps, np.hstack([imu.angular_velocity, force])),
            ),
            orientation=_timely(Stream(imu.stamps[oriented], imu.orientations[oriented]))[0],
            accelerometers=tuple(
                self._vector(f'accelerometers[{k}]', batch, 'linear_acceleration')
                for k in range(len(self.robot.accelerometers))
            ),
            position=self._timed('position', Stream(pose.stamps, pose.positions))
            if pose
            else Stream.empty(3),
            pose=_timely(Stream(pose.stamps, pose.orientations))[0]
            if pose and pose.orientations is not None
            else Stream.empty(4),
            wrenches=tuple(
                self._vector(f'feet[{foot.name}]', batch, 'wrenches')
                if foot.wrench
                else Stream.empty(6)
                for foot in self.robot.feet
            ),
        )

    def _vector(self, signal: str, batch: Batch, attribute: str) -> Stream:
        read = self._read(signal, batch)
        return self._timed(signal, Stream(read.stamps, getattr(read, attribute)))

    def _timed(self, signal: str, stream: Stream) -> Stream:
        """Leave out and count samples whose stamp cannot be true."""
        timely, reasons = _timely(stream)
        self.uses[signal].gated += reasons
        return timely


def resolve_topic(wanted: str, topics: Iterable[str]) -> str | None:
    """Find a topic by the name in the robot file, in whatever namespace it was recorded.

    Args:
        wanted: name in the robot file, with or without a slash in front.
        topics: recorded names.

    Returns:
        The topic of exactly that name, else the only one that ends in it, else None.
    """
    tail = f'/{wanted.lstrip("/")}'
    if tail in topics:
        return tail
    ending = [topic for topic in topics if topic.endswith(tail)]
    return ending[0] if len(ending) == 1 else None


def _timely(stream: Stream) -> tuple[Stream, Counter[str]]:
    """Leave out samples whose stamp is zero, negative, or far from all others."""
    reasons: Counter[str] = Counter()
    zero = stream.stamps <= 0
    middle = np.median(stream.stamps[~zero]) if (~zero).any() else 0
    far = ~zero & (np.abs(stream.stamps - middle) > _HOUR)
    for reason, rows in (
        ('stamp is zero or negative', zero),
        ('stamp is more than an hour off', far),
    ):
        if rows.any():
            reasons[reason] = int(rows.sum())
    return stream.rows(~(zero | far)), reasons
