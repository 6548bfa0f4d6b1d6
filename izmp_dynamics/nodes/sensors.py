"""What a node of the graph subscribes to: sensors, and results of other nodes."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.signals import Signal
from izmp_dynamics.nodes.health import AT_FIRST, Input
from izmp_dynamics.nodes.messages import JointReader
from izmp_dynamics.nodes.outputs import Outputs
from izmp_dynamics.nodes.registry import COMPUTED_BY
from izmp_dynamics.nodes.sensor_watch import ForceWatch, ImuWatch
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.wire import JointSample, Sample
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.given import GivenRoot
from izmp_dynamics.pipeline.joints import JointStage
from izmp_dynamics.pipeline.rig import Rig, make_rig
from izmp_dynamics.results.topics import TOPICS
from izmp_dynamics.signals.imu import rotations, with_gravity

_SENSORS = {
    'joints': (
        "start the robot's joint_state_broadcaster, or remap joint_states to its topic.",
        True,
    ),
    'imu': ("start the IMU's driver, or remap its topic.", True),
    'accelerometers': (
        "start the accelerometer's driver, or set angular_acceleration.method to gyro.",
        True,
    ),
    'segments': (
        "start the unit's driver, or delete the link under segments in the robot file; without it "
        'the motion of the link follows from the joints.',
        False,
    ),
    'segment_accelerometers': (
        "start the accelerometer's driver, or delete it under segments in the robot file.",
        False,
    ),
    'feet': ("start the foot sensor's driver, or delete wrench in the robot file.", False),
    'foot_imus': (
        "start the driver of the foot's IMU; without it the ground is that of the sole.",
        False,
    ),
}
"""Kind of signal → what to do if it has no publisher, and whether nothing comes out without it."""

_SOUGHT = {
    'position': (
        'start the source of the position, or delete position in the robot file.',
        'Without it there is no odometry and no IR-MD.',
    ),
    'ground': (
        'start the source of the pose of the ground, or take topic out of ground.',
        'Without it the ground is not known, and there is no IZMP.',
    ),
}
"""Signal → what to do if it has no publisher, and what there is not then."""

GIVEN = {
    'joint_kinematics': 'joints',
    'root_acceleration': 'root',
    'root_twist': 'root',
    'mr_ad/contact_wrench': 'mr_ad',
    'odom': 'world',
    'ir_md/contact_wrench': 'ir_md',
}
"""Result of another node, which is also the signal of the evaluator → which of `stages.PARTS`."""

LATER = ('world', 'ir_md')
"""What is subscribed to as soon as somebody asks for what follows from it."""


class Sensors:
    """Subscribes, hands every sample to the node, and learns the frames that messages name.

    Args:
        node: collects the samples.
        make_evaluator: is called when a frame, or the source of the orientation, has changed.

    Attributes:
        source: of the orientation, 'imu' or 'position'.
        watch: judges the first samples of the IMU.
        forces: judges the force sensors.
        is_placed: whether the pose of the root is computed, or its messages are subscribed to.
    """

    def __init__(self, node: TopicNode, make_evaluator: Callable[[], None]) -> None:
        self._node, self._health, self._make_evaluator = node, node.health, make_evaluator
        self._computes, self._given = node.task.computes, node.task.given
        self._is_idle = node.task.is_idle(node.robot)
        self.source = 'imu'
        self.is_placed = 'world' in self._computes
        self._subscribed: set[str] = set()
        self._joints: Input | None = None
        self._reader = JointReader(node.model.joint_names)
        self._groups: tuple[Any, ...] = ()
        self._accelerometers: list[Input] = []

    @property
    def _robot(self) -> RobotFile:
        return self._node.robot

    def configure(self, robot: RobotFile) -> None:
        """Follow another robot file."""
        self._configured, places = robot, self._computes & {'root', 'mr_ad', 'world', 'verdict'}
        topics = {signal.topic for signal in self._node.task.signals(robot)} if places else set()
        framed = [s for s in robot.signals() if s.mounted or s.name == 'ground']
        self._frames: dict[str, str | None] = {
            signal.topic: signal.link or self._node.model.root for signal in framed
        }
        self._asked = {s.topic for s in framed if s.frame is None and s.topic in topics}
        self._unknown = set(self._asked)
        self._frames_seen: dict[str, str] = {}
        states = self._computes & {'root', 'world'}  # another node does it where this one does not
        self.watch = ImuWatch(robot, self._health if states else None, self._node.get_logger())
        self.forces = ForceWatch(robot, self._health)

    def rig(self, robot: RobotFile | None = None) -> Rig | None:
        """The robot, prepared; None while a frame is unknown, or if there is nothing to do.

        Args:
            robot: its file; None: the one that is followed.

        Raises:
            IzmpError: if a frame is no link of the robot, or not where it has to be.
        """
        if self._is_idle or self._unknown:
            return None
        return make_rig(robot or self._configured, self._node.model, self._frames)

    def follow(self, evaluator: Evaluator) -> None:
        """Let a new evaluator learn what is subscribed to for that."""
        if isinstance(evaluator.root, GivenRoot):
            evaluator.root.learns = bool(self._accelerometers)
        if 'verdict' in self._computes:
            self._remark_on_ground(evaluator.rig)

    def subscribe(self, outputs: Outputs) -> None:
        """Subscribe to all that is needed from the start, or as soon as somebody asks for it."""
        computes = self._computes
        if self._robot.position is None and computes & set(LATER):
            lost = 'odometry and no IR-MD' if 'world' in computes else 'IR-MD'
            sentence = f'The robot file names no position; there is no {lost}.'
            self._health.values['position'] = sentence
        if not self._is_idle:
            self.subscribe_to_sensors(self._robot)
            self._subscribe_to_results(outputs)

    def subscribe_to_sensors(self, robot: RobotFile) -> None:
        """Subscribe to the sensors that are needed, each once."""
        for signal in self._node.task.signals(robot):
            self._subscribe(signal)

    def _subscribe(self, signal: Signal, optional: bool = False) -> None:
        if signal.name in self._subscribed:
            return
        self._subscribed.add(signal.name)
        kind = signal.kind
        if kind in _SOUGHT:
            take = self._take_position if kind == 'position' else self._take_ground
            self._node.until(partial(self._seek, signal, take, time.monotonic()))
        elif self._computes == {'joints'} and kind != 'joints':
            why = 'without it, stuck joint positions may go unnoticed.'
            self._subscribe_to_sensor(signal, partial(self._take, signal.name), why, False)
        else:
            source, required = _SENSORS[kind]
            takers: dict[str, Callable[[int, Any], None]] = {
                'joints': self._take_joints,
                'imu': partial(self._take_imu, signal),
            }
            taker = takers.get(kind, partial(self._take_mounted, signal))
            entry = self._subscribe_to_sensor(signal, taker, source, required and not optional)
            if kind == 'accelerometers':
                self._accelerometers.append(entry)
            elif kind == 'joints':
                self._joints = entry

    def _subscribe_to_sensor(
        self, signal: Signal, take: Callable[[int, Any], None], source: str, required: bool
    ) -> Input:
        return self._node.subscribe(
            signal.topic,
            signal.types[0],
            take,
            source,
            signal=signal.name,
            sensor=True,
            required=required,
        )

    def _seek(self, signal: Signal, take: Callable[[int, Sample], None], begin: float) -> bool:
        """Subscribe if there is a publisher, which shows the type; return whether there is."""
        name, valid, topic = signal.name, signal.types, self._node.resolve_topic_name(signal.topic)
        publishers = self._node.get_publishers_info_by_topic(topic)
        types = sorted({each.topic_type for each in publishers})
        known = [msgtype for msgtype in types if msgtype in valid]
        if not (types or time.monotonic() - begin > AT_FIRST):
            return False
        remedy, lost = _SOUGHT[name]
        if not known:
            sentence = (
                f'{topic} has the type {", ".join(types)}; valid: {", ".join(valid)}.'
                if types
                else f'There is no publisher of {topic}: {remedy} {lost}'
            )
            level = 'error' if types else self._health.absent
            self._health.remark(name, level, sentence, '' if types else topic)
            return False
        self._health.clear(name)
        if name == 'position':
            self.choose_source('Point' not in known[0])
        self._node.subscribe(signal.topic, known[0], take, remedy, signal=name, sensor=True)
        return True

    def _subscribe_to_results(self, outputs: Outputs) -> None:
        self._subscribe_to_given(later=False)
        if self._robot.position is not None and self._given & set(LATER):
            self._node.until(lambda: outputs.world_wanted and self._subscribe_later())
        if 'verdict' in self._computes and self._given:
            self._node.until(
                lambda: (
                    (self._robot.estimates_loads or outputs.judgement_wanted)
                    and self._subscribe_also('joints')  # whose torques show the loads of feet
                )
            )
            self._node.until(  # the covariance depends on the rates of both
                lambda: (
                    outputs.uncertain_wanted and self._subscribe_also('joints', 'accelerometers')
                )
            )

    def _subscribe_later(self) -> bool:
        self.is_placed = True
        self._subscribe_to_given(later=True)
        return True

    def _subscribe_also(self, *kinds: str) -> bool:
        for signal in self._robot.signals():
            if signal.kind in kinds:
                self._subscribe(signal, optional=True)
        if self._node.evaluator is not None:
            self.follow(self._node.evaluator)
        return True

    def _subscribe_to_given(self, later: bool) -> None:
        takers: dict[str, Callable[[int, Any], None]] = {
            'joints': self._take_kinematics,
            'world': self._take_odometry,
        }
        for topic, part in GIVEN.items():
            if part in self._given and (part in LATER) == later:
                take = takers.get(part, partial(self._take, topic))
                required = part not in LATER or self._node.task.is_lazy
                kind, node = TOPICS[topic].msgtype, COMPUTED_BY[part]
                self._node.subscribe(topic, kind, take, node, required=required)

    def _take(self, signal: str, stamp: int, sample: Any) -> None:
        self._node.collect(signal, stamp, sample.values)

    def _take_joints(self, stamp: int, sample: JointSample) -> None:
        """Take positions (n,), and torques (n,) where they show the load of feet."""
        positions = self._reader.read(sample.names, sample.positions)
        if isinstance(positions, Fault):
            self._health.count('joints', *positions)
        elif positions is None:
            self._remark_on_names(sample.names)
        else:
            self._health.clear('joints')
            self._node.collect('joints', stamp, positions)
            if not (len(sample.efforts) and self._robot.estimates_loads):
                return
            efforts = self._reader.read(sample.names, sample.efforts)
            if isinstance(efforts, np.ndarray):
                self._node.collect('efforts', stamp, efforts)

    def _take_kinematics(self, stamp: int, point: Array | None) -> None:
        if point is not None:
            self._node.collect('joint_kinematics', stamp, point)
        elif 'ir_md' in self._computes:  # which is differenced over all instants
            nothing = np.full(3 * self._node.model.dof, np.nan)
            self._node.collect('joint_kinematics', stamp, nothing)

    def _take_odometry(self, stamp: int, sample: Sample) -> None:
        """Take the pose of this robot's root in its world; others may publish theirs."""
        if (sample.frame, sample.child) == (self._node.frame_names.world, self._node.root):
            self._node.collect('odom', stamp, sample.values)

    def _take_imu(self, signal: Signal, stamp: int, sample: Sample) -> None:
        robot = self._robot
        values, orientation = sample.values, sample.orientation
        if not self.watch.done:
            self.watch.see(stamp, values, orientation)
        evaluator = self._ready(signal, sample.frame)
        if evaluator is None:
            return
        if robot.imu.gravity_removed:
            if orientation is None:
                self._health.count('imu', Reason.NO_ORIENTATION)
                return
            world_R_imu, _ = rotations(orientation[None])
            values[3:] = with_gravity(values[None, 3:], world_R_imu, robot.gravity)[0]
        if 'verdict' in self._computes:
            self.forces.see('imu', stamp, values)
        self._collect('imu', stamp, values)
        if self.source == 'imu':
            oriented = orientation is not None and self.watch.oriented
            evaluator.world.orientation.available = oriented
            if orientation is not None and oriented:
                self._collect('orientation', stamp, orientation)

    def _take_mounted(self, signal: Signal, stamp: int, sample: Sample) -> None:
        """Take a sample of an accelerometer of the root, or of a sensor on another link."""
        kind = signal.kind
        if kind == 'feet':
            self.forces.see(signal.name, stamp, sample.values)
        if self._ready(signal, sample.frame) is None:
            return
        if kind == 'accelerometers':
            self._collect(signal.name, stamp, sample.values[3:])
        elif kind == 'segment_accelerometers':
            self._node.collect(signal.name, stamp, sample.values[3:])
        else:
            self._node.collect(signal.name, stamp, sample.values)

    def _take_position(self, stamp: int, sample: Sample) -> None:
        if sample.child is not None:
            self.learn_positioned(self._node.frame_names.link(sample.child))
        self._node.collect('position', stamp, sample.values[:3])
        if sample.orientation is not None and self.source == 'position':
            self._collect('orientation', stamp, sample.orientation)

    def _take_ground(self, stamp: int, sample: Sample) -> None:
        if self._robot.ground.topic is not None:
            self._learn(self._robot.ground.topic, sample.frame)
        if sample.orientation is not None:
            pose = np.concatenate([sample.values[:3], sample.orientation])
            self._node.collect('ground', stamp, pose)

    def _collect(self, signal: str, stamp: int, values: Array) -> None:
        """Keep a sample of the root; not that of an IMU that cannot be right."""
        if self.watch.usable:
            self._node.collect(signal, stamp, values)

    def _ready(self, signal: Signal, frame: str) -> Evaluator | None:
        """The evaluator, if there is one; it may need this frame of a message."""
        topic = signal.topic
        if self._frames_seen.get(topic) != frame:
            self._frames_seen[topic] = frame
            self._check_frame(topic, signal.frame, frame)
            self._learn(topic, frame)
        return self._node.evaluator

    def _check_frame(self, topic: str, expected: str | None, given: str) -> None:
        """Remark on a message whose frame is not the one that the robot file states."""
        frame = self._node.frame_names.link(given)
        sentence = ''
        if expected and frame and frame != expected:
            sentence = (
                f"The messages on {topic} name the frame '{frame}', but the robot file states "
                f"'{expected}', which is used. Correct the one that is wrong."
            )
        key = f'frame[{self._node.resolve_topic_name(topic)}]'
        if self._health.remark(key, 'warning', sentence):
            self._node.get_logger().warning(sentence)

    def choose_source(self, oriented: bool) -> None:
        """Take the orientation from the position's messages if they hold one, else the IMU's."""
        source = 'position' if oriented else 'imu'
        if source != self.source:
            self.source = source
            self._make_evaluator()

    def _learn(self, topic: str, frame: str) -> None:
        """Learn the frame of a sensor; a wrong one is stated until a message names another."""
        if topic not in self._unknown:
            return
        self._unknown.discard(topic)
        self._frames[topic] = self._node.frame_names.link(frame)
        try:
            self._make_evaluator()
        except IzmpError as error:
            self._unknown = set(self._asked)
            self._frames_seen.clear()
            if self._health.remark('frames', 'error', str(error)):
                self._node.get_logger().error(str(error))

    def learn_positioned(self, link: str) -> None:
        """Learn from Odometry whose pose it is.

        Raises:
            IzmpError: if nothing can be made with that link, which is forgotten.
        """
        position, model = self._configured.position, self._node.model
        if position is None or position.frame is not None or link not in model.frame_names:
            return
        before, self._frames[position.topic] = self._frames.get(position.topic, model.root), link
        try:
            if link != before:
                self._make_evaluator()
        except IzmpError:
            self._frames[position.topic] = before
            raise

    def inspect(self, evaluator: Evaluator | None) -> None:
        """State what has been learned about joints, accelerometers and force sensors."""
        if 'verdict' in self._computes:
            self.forces.inspect(None if evaluator is None else evaluator.rig)
        if evaluator is None:
            self._remark_on_unknown_frames()
            return
        groups = evaluator.joints.groups if 'joints' in self._computes else ()
        if groups and groups != self._groups:
            self._remark_on_joints(evaluator.joints)
        if 'root' in self._computes:
            self._remark_on_method(evaluator)

    def _remark_on_names(self, given: tuple[str, ...]) -> None:
        self._health.count('joints', Reason.NO_JOINT)
        self._health.remark(
            'joints',
            'error',
            f'The messages on {self._node.topics["joints"]} name no joint of the robot: they have '
            f'{", ".join(given[:5]) or "no names"} …, the URDF has '
            f'{", ".join(self._reader.names[:5])} …. Is it the URDF of this robot?',
        )

    def _remark_on_joints(self, stage: JointStage) -> None:
        groups = self._groups = stage.groups
        if self._joints is not None:
            self._joints.publishers = len(groups)
        rates = ', '.join(f'{len(g.columns)} at {1.0 / g.period:.0f} Hz' for g in groups)
        self._health.values['joints published'] = rates
        self._node.get_logger().info(f'Joints: {rates}.')
        rate, stated = 1.0 / groups[0].period, self._robot.rates.actuator
        wrong = ''
        if stated is not None and abs(rate / stated - 1.0) > 0.1:
            wrong = (
                f'Joint positions come at {rate:.0f} Hz, the robot file states {stated:.0f} Hz. '
                'Correct rates.actuator, or leave it out.'
            )
        self._health.remark('rate', 'warning', wrong)
        names = ', '.join(stage.absent)
        absent = names and f'Joints without a publisher are taken to be at zero: {names}.'
        self._health.remark('absent', 'warning', absent)

    def _remark_on_ground(self, rig: Rig) -> None:
        ground, sentence = rig.robot.ground, ''
        if ground.moves and rig.ground_reference is None and rig.robot.position is None:
            sentence = (
                f'The frame of {ground.topic} is not a link of the robot, and no position of the '
                'robot in that frame is known: there is no IZMP. State position in the robot '
                'file, or publish the ground in a link.'
            )
        self._health.remark('ground', 'error', sentence)

    def _remark_on_unknown_frames(self) -> None:
        if self._unknown:
            names = ', '.join(sorted(self._unknown))
            sentence = (
                f'Nothing is computed before a message on {names} names its frame. State the '
                'frame in the robot file, or leave a sensor out that is not there.'
            )
            self._health.remark('waiting for frames', self._health.absent, sentence)

    def _remark_on_method(self, evaluator: Evaluator) -> None:
        root = evaluator.root
        self._health.values['method'] = root.method
        for entry in self._accelerometers:
            entry.required = root.method == 'accelerometers'
        silent = root.without_messages if root.fell_back else ()
        names = ', '.join(self._accelerometers[k].topic for k in silent)
        self._health.remark(
            'fallen back',
            'warning',
            names
            and f'No message on {names} so far: the angular acceleration is the difference '
            'quotient of the gyroscope.',
        )
