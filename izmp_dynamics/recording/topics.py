"""Which topics of a bag are the signals of a robot; sensors that are not there are left out."""

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

from izmp_dynamics.bags.batch import resolve_topic, topics_ending_in
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.finding import Finding, Level, list_names
from izmp_dynamics.model.feet import SCALARS, Foot
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.sensors import IMU_MESSAGES, JOINT_MESSAGES
from izmp_dynamics.model.signals import POINT, POSES, WRENCH, Signal
from izmp_dynamics.recording.mapped import MappedMessages
from izmp_dynamics.recording.topic_use import TopicUse


class SignalTopics:
    """The recorded topics of a robot's signals.

    Attributes:
        bag: the reader.
        robot: robot file without the sensors that were not recorded.
        uses: signal → topic.
        missing: what is not there.
        only_ir_md: whether there is no IMU, so that MR-AD cannot be evaluated.
        unused_wrenches: topics of force sensors that no foot of the robot file takes.

    Raises:
        ReplayError: if joints or IMU are not there, or a topic has another type.
    """

    def __init__(self, bag: BagReader, robot: RobotFile) -> None:
        self.bag = bag
        self.robot = robot = _recorded(robot, bag.topics)
        self.uses: dict[str, TopicUse] = {}
        self.missing: list[Finding] = []
        self.only_ir_md = False
        unused = self._unused((WRENCH,), robot)
        self.unused_wrenches = tuple(name for name in unused if 'truth' not in name.lower())
        if not any(topic.count for topic in bag.topics.values()):
            raise ReplayError(
                f"The bag '{bag.path}' holds no messages.", kind='empty_bag', path=bag.path
            )
        absent = [signal for signal in robot.signals() if not self._find(signal)]
        for signal in absent:
            if signal.name == 'imu' and self._posed:
                self._do_without_imu(signal)
            elif signal.required:
                raise self._not_there(signal)
            else:
                if signal.name not in {each.name for each in self.robot.signals()}:
                    continue  # it went with another one
                others = self._unused(signal.types, robot)
                absence = self._absence(signal.topic)
                self.leave_out(signal.name, *absence, others, level='warning')
        if robot.imu.from_position:
            self._require_pose()
        flagged = [foot.name for foot in robot.feet if foot.contact is not None]
        without = [foot.name for foot in robot.feet if not foot.sensors]
        if flagged:
            self.note(
                'contact_only',
                f'There is no measured CoP: of {list_names(flagged)} only contact is measured. '
                'How they share the load is estimated, and contact where none is.',
            )
        if without:
            some = len(without) < len(robot.feet)
            begin = 'There is no measured CoP, and contact' if some else 'Contact'
            unused = self.unused_wrenches
            self.note(
                'foot_without_wrench',
                f'{begin} is estimated, not measured: the robot file states no wrench for '
                f'{list_names(without)}.',
                f'The bag has {list_names(unused)}: state them under feet, as izmp draft does.'
                if unused
                else '',
                'warning' if unused else 'note',
            )
        normal_only = [
            foot.name
            for foot in self.robot.feet
            if foot.normal_only and not (foot.force and foot.radius)
        ]
        if normal_only:
            self.note(
                'normal_only',
                f'{list_names(normal_only)}: only the normal force is measured, and taken to act '
                "at the origin of the sensor's frame. So the CoP shows how the feet share the "
                'load, not where on the sole it acts.',
            )

    def note(self, kind: str, sentence: str, remedy: str = '', level: Level = 'note') -> None:
        """Note that something is not there."""
        self.missing.append(Finding(kind, level, sentence, remedy))

    @property
    def _posed(self) -> bool:
        """Whether the messages of the position may hold an orientation."""
        use = self.uses.get('position')
        return use is not None and use.msgtype != POINT

    def _do_without_imu(self, signal: Signal) -> None:
        """Evaluate IR-MD alone, with the angular velocity of the pose."""
        _, why = self._absence(signal.topic)
        others = self._unused(signal.types, self.robot)
        imu = dataclasses.replace(self.robot.imu, from_position=True)
        self.robot = dataclasses.replace(self.robot, imu=imu)
        self.only_ir_md = True
        sentence = (
            f'imu: {why}; without it there is no MR-AD. IR-MD is evaluated, with the angular '
            'velocity of the pose. Set imu.from_position: true to evaluate MR-AD with an IMU '
            f"derived from '{self.uses['position'].topic}'."
        )
        remedy, data = _perhaps(signal.shown_key, others), {'judged_by': True}
        self.missing.append(Finding('no_imu', 'warning', sentence, remedy, data=data))

    def _require_pose(self) -> None:
        """Refuse to derive an IMU from what is no pose; state that it is derived."""
        if not self._posed:
            raise ReplayError(
                'imu.from_position is true, but there is no recorded position with an '
                f'orientation; valid types of position.topic: {", ".join(POSES)}.',
                kind='no_pose',
            )
        self.note(
            'imu_derived',
            'There is no measured IMU: its signals are derived from '
            f"'{self.uses['position'].topic}' (imu.from_position), whose noise is "
            'differentiated twice. MR-AD is then not independent of IR-MD.',
        )

    @property
    def names(self) -> list[str]:
        """The recorded topics in use, each once."""
        return list(dict.fromkeys(use.topic for use in self.uses.values()))

    def reset(self) -> None:
        """Reset the statistics of the topics."""
        for signal in self.robot.signals():
            if signal.name in self.uses:
                self._use(signal, self.uses[signal.name].topic)

    def leave_out_unusable(self) -> None:
        """Leave out the sensors that have fewer than two messages with a stamp.

        Raises:
            ReplayError: if joints or IMU are among them.
        """
        required = {signal.name for signal in self.robot.signals() if signal.required}
        for use in [use for use in self.uses.values() if not use.steps]:
            if use.signal not in self.uses:
                continue  # it went with another one
            kind, why = _unusable(use)
            if use.signal in required:
                raise ReplayError(
                    f'{use.signal}: {why}.', kind=kind, signal=use.signal, topic=use.topic
                )
            level: Level = 'warning' if use.faults else 'note'
            self.leave_out(use.signal, kind, why, level=level)

    def _find(self, signal: Signal) -> bool:
        name = resolve_topic(signal.topic, self.bag.topics)
        if name is None:
            return False
        msgtype = self.bag.topics[name].msgtype
        if msgtype not in signal.types:
            raise ReplayError(
                f"{signal.name}: topic '{name}' has the type {msgtype}; valid: "
                f'{", ".join(signal.types)}.',
                kind='topic_type', signal=signal.name, topic=name, msgtype=msgtype,
                valid=signal.types,
            )  # fmt: skip
        if not self.bag.topics[name].count:
            return False
        self._use(signal, name)
        return True

    def _use(self, signal: Signal, topic: str) -> None:
        use = TopicUse(signal.name, topic, self.bag.topics[topic].msgtype)
        typestore = self.bag.decoder(topic).typestore
        if signal.mapping is not None:
            use.mapped = MappedMessages(signal, typestore)
        self.uses[signal.name] = use

    def _absence(self, wanted: str) -> tuple[str, str]:
        """Why a topic cannot be used: kind, and the beginning of a sentence."""
        name = resolve_topic(wanted, self.bag.topics)
        if name is not None:
            return 'no_messages', f"topic '{name}' holds no messages"
        alike = topics_ending_in(wanted, self.bag.topics)
        if alike:
            return 'ambiguous_topic', f"topic '{wanted}' may be any of {', '.join(alike)}"
        return 'not_in_bag', f"topic '{wanted}' is not in the bag"

    def _unused(self, types: tuple[str, ...], robot: RobotFile) -> tuple[str, ...]:
        """Topics with messages of these types that no signal of the robot takes."""
        topics = self.bag.topics
        used = {resolve_topic(wanted, topics) for wanted in robot.topics()}
        return tuple(
            topic.name
            for topic in topics.values()
            if topic.msgtype in types and topic.count and topic.name not in used
        )

    def _not_there(self, signal: Signal) -> ReplayError:
        """The error that a required topic is not there; it lists the topics that may be meant."""
        kind, why = self._absence(signal.topic)
        topics = self.bag.topics.values()
        there = [t.name for t in topics if t.msgtype in signal.types and t.count]
        if len(topics_ending_in(signal.topic, self.bag.topics)) > 1:
            remedy = (
                f'State the one that is meant, with its namespace, as {_key(signal.shown_key)}.'
            )
        elif there:
            remedy = _perhaps(signal.shown_key, there)
        else:
            known = standard_types().types
            others = [f'{t.name} ({t.msgtype})' for t in topics if t.msgtype not in known]
            remedy = f'No other topic has messages of type {signal.types[0]} either: ' + (
                f'record it, or map the fields of {" or ".join(others)}, as izmp draft does.'
                if others
                else 'it must be recorded.'
            )
        return ReplayError(
            f'{signal.name}: {why}. {remedy}',
            kind=kind, signal=signal.name, topic=signal.topic, candidates=tuple(there),
        )  # fmt: skip

    def leave_out(
        self,
        signal: str,
        kind: str,
        why: str,
        others: tuple[str, ...] = (),
        level: Level = 'note',
    ) -> None:
        """Take a sensor out of the robot; one accelerometer alone takes all with it.

        Without a force sensor, a ground, or the foot's IMU that says how the ground is inclined,
        another point or another support polygon would be judged: `judged_by`.

        Args:
            signal: the sensor's.
            kind: identifies the reason.
            why: the reason, as the beginning of a sentence.
            others: topics that may be meant.
            level: of the finding.

        Raises:
            ReplayError: if the robot file insists on the sensor.
        """
        self.uses.pop(signal, None)
        key = next(
            (each.shown_key for each in self.robot.signals() if each.name == signal), signal
        )
        sensor = signal.partition('[')[0]
        if sensor == 'accelerometers' and self.robot.angular_acceleration.method == sensor:
            raise ReplayError(
                f'{signal}: {why}; record it, take it out of the robot file, or set '
                'angular_acceleration.method to gyro.',
                kind=kind, signal=signal,
            )  # fmt: skip
        source = self.robot.ground.source
        judged_by = sensor in ('ground', 'feet') or (sensor, source) == ('foot_imus', 'feet_imus')
        self.robot = _without(self.robot, signal)
        left = {each.name for each in self.robot.signals()}
        for name in [name for name in self.uses if name not in left]:
            del self.uses[name]
        message = f'{signal}: {why}; without it {_LOST[sensor]}.'
        remedy = _perhaps(key, others)
        if judged_by:
            level = 'warning'
            remedy = remedy or f'To judge without it, leave {key} out of the robot file.'
        self.missing.append(Finding(kind, level, message, remedy, data={'judged_by': judged_by}))


def _recorded(robot: RobotFile, topics: Collection[str]) -> RobotFile:
    """A robot with the messages of its alternative if only these were recorded.

    What is known of the sensors, such as a bias, stays.
    """
    if robot.alternative is None or resolve_topic(robot.joints.topic, topics) is not None:
        return robot
    path = Path(robot.alternative)
    beside = robot.path.parent if path.suffix and robot.path else Path()
    other = load_robot_file(beside / path)
    if resolve_topic(other.joints.topic, topics) is None:
        return robot
    joints, imu = (
        {key: getattr(part, key) for key in keys}
        for part, keys in ((other.joints, JOINT_MESSAGES), (other.imu, IMU_MESSAGES))
    )
    scalars = {foot.name: {key: getattr(foot, key) for key in SCALARS} for foot in other.feet}
    return dataclasses.replace(
        robot,
        feet=tuple(
            foot if foot.sensors else dataclasses.replace(foot, **scalars.get(foot.name, {}))
            for foot in robot.feet
        ),
        joints=dataclasses.replace(robot.joints, **joints),
        imu=dataclasses.replace(robot.imu, **imu),
    )


def _perhaps(key: str, topics: Sequence[str]) -> str:
    meant = f'If one of these is meant, make it {_key(key)}: {", ".join(topics)}.'
    return meant if topics else ''


def _key(key: str) -> str:
    return f'{key}.topic in the robot file'


_LOST = {
    'position': 'there is no IR-MD and no pose in the world',
    'ground': 'the ground is the sole of the foot that carries most',
    'segments': 'the motion of that link follows from the joints',
    'segment_accelerometers': (
        "the angular acceleration of that link is its gyroscope's difference quotient"
    ),
    'feet': 'there is no measured CoP',
    'foot_imus': 'the ground under that foot is its sole by kinematics',
    'accelerometers': "the angular acceleration is the gyroscope's difference quotient",
}
"""Kind of a sensor → what there is, or is not, without it."""


def _without(robot: RobotFile, signal: str) -> RobotFile:
    """The robot without a sensor; one accelerometer of a link takes all there with it."""
    sensor, _, rest = signal.partition('[')
    name, replace = rest.partition(']')[0], dataclasses.replace

    def feet(**absent: None) -> tuple[Foot, ...]:
        return tuple(replace(foot, **absent) if foot.name == name else foot for foot in robot.feet)

    if sensor == 'position':
        return replace(robot, position=None)
    if sensor == 'ground':
        sole = replace(robot.ground, source='sole', frame=None, topic=None, height=0.0)
        return replace(robot, ground=sole)
    if sensor == 'segments':
        return replace(robot, segments=tuple(u for u in robot.segments if u.link != name))
    if sensor == 'segment_accelerometers':
        units = (replace(u, accelerometers=()) if u.link == name else u for u in robot.segments)
        return replace(robot, segments=tuple(units))
    if sensor == 'feet':
        return replace(robot, feet=feet(wrench=None, force=None, contact=None))
    if sensor == 'foot_imus':
        left, ground = feet(imu=None), robot.ground
        if ground.source == 'feet_imus' and not any(foot.imu for foot in left):
            ground = replace(ground, source='sole')
        return replace(robot, feet=left, ground=ground)
    return replace(robot, accelerometers=())


def _unusable(use: TopicUse) -> tuple[str, str]:
    """Why a topic with messages cannot be used: kind, and the beginning of a sentence."""
    if use.unset:
        return (
            Reason.STAMP_UNSET.value,
            f"{use.unset} of {use.count} messages of topic '{use.topic}' cannot be used: "
            f'{Reason.STAMP_UNSET.text}; the driver must set header.stamp, '
            'or state clock: received beside the type and fields of these messages',
        )
    if use.faults:
        fault, number = use.faults.most_common(1)[0]
        return (
            fault.reason.value,
            f"{number} of {use.count} messages of topic '{use.topic}' cannot be used: "
            f'{fault.text.rstrip(".")}',
        )
    dated = use.count > 1 and use.mapped is not None
    remedy = '; where their clock stands still, state clock: received' if dated else ''
    return (
        'too_few_messages',
        f"topic '{use.topic}' holds {use.count} message{'s'[: use.count != 1]}, but at least two "
        f'with different stamps are needed{remedy}',
    )
