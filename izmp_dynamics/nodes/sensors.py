"""What a node of the graph subscribes to: sensors, and results of other nodes."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import AccelStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.force_watch import ForceWatch
from izmp_dynamics.nodes.health import ERROR, WARN, Input
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.joints_input import JointsInput
from izmp_dynamics.nodes.outputs import Outputs
from izmp_dynamics.nodes.position_input import GroundInput, PositionInput
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.wire import ImuSample, TrajectorySample, WrenchSample
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.given import GivenRoot
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.signals.imu import rotations, with_gravity


class Given(NamedTuple):
    """A topic of results of another node.

    Attributes:
        part: of `stages.PARTS`.
        msgtype: class of its messages.
        node: which publishes it.
    """

    part: str
    msgtype: Any
    node: str


GIVEN = {
    'joint_kinematics': Given('joints', JointTrajectory, 'acd'),
    'root_acceleration': Given('root', AccelStamped, 'angular_acceleration'),
    'root_twist': Given('root', TwistStamped, 'angular_acceleration'),
    'mr_ad/contact_wrench': Given('mr_ad', WrenchStamped, 'mr_ad'),
    'odom': Given('world', Odometry, 'localizer'),
    'ir_md/contact_wrench': Given('ir_md', WrenchStamped, 'ir_md'),
}
"""Topic, which is also the signal of the evaluator → what it gives."""

LATER = ('world', 'ir_md')
"""What is subscribed to as soon as somebody asks for what follows from it."""


class Sensors:
    """Subscribes, and hands every sample to the node.

    Args:
        node: evaluates.

    Attributes:
        source: of the orientation, 'imu' or 'position'.
        watch: judges the first samples of the IMU.
        forces: judges the force sensors.
        frames: of the sensors.
        is_placed: whether the pose of the root is computed, or its messages are subscribed to.
    """

    def __init__(self, node: TopicNode) -> None:
        self._node, self._health = node, node.health
        self._computes, self._given = node.task.computes, node.task.given
        self._is_idle = node.task.is_lazy and node.robot.position is None
        self.source = 'imu'
        self.is_placed = 'world' in self._computes
        self._subscribed: set[str] = set()
        self._joints: JointsInput | None = None
        self._accelerometers: list[Input] = []
        self._frames_given: dict[str, tuple[str | None, str]] = {}

    @property
    def _robot(self) -> RobotFile:
        return self._node.robot

    def configure(self, robot: RobotFile) -> None:
        """Follow another robot file."""
        topics = [robot.imu.topic] if self._computes & {'root', 'world', 'verdict'} else []
        if 'root' in self._computes:
            topics += [sensor.topic for sensor in robot.accelerometers]
        if 'verdict' in self._computes:
            topics += [foot.wrench.topic for foot in robot.feet if foot.wrench]
            topics += [] if robot.ground.topic is None else [robot.ground.topic]
            by_imus = robot.ground.source == 'feet_imus'
            topics += [foot.imu.topic for foot in robot.feet if foot.imu and by_imus]
        self.frames = SensorRig(robot, self._node.model, topics, self._node.frame_names)
        self._frames_seen: dict[str, str] = {}
        states = self._node.task.has_root_sensors  # another node does it where this one does not
        self.watch = ImuWatch(robot, self._health if states else None, self._node.get_logger())
        self.forces = ForceWatch(robot, self._health)

    def rig(self) -> Rig | None:
        """The robot, prepared; None while a frame is unknown, or if there is nothing to do.

        Raises:
            IzmpError: if a frame is no link of the robot, or not where it has to be.
        """
        return None if self._is_idle else self.frames.make()

    def follow(self, evaluator: Evaluator) -> None:
        """Let a new evaluator learn what is subscribed to for that."""
        if isinstance(evaluator.root, GivenRoot):
            evaluator.root.learns = bool(self._accelerometers)

    def subscribe(self, outputs: Outputs) -> None:
        """Subscribe to all that is needed from the start, or as soon as somebody asks for it."""
        computes, robot = self._computes, self._robot
        if robot.position is None and computes & set(LATER):
            lost = 'odometry and no IR-MD' if 'world' in computes else 'IR-MD'
            sentence = f'The robot file names no position; there is no {lost}.'
            self._health.values['position'] = sentence
        if self._is_idle:
            return
        if 'joints' in computes:
            self._joints = JointsInput(self._node, partial(self._node.collect, 'joints'))
        if not self._given and 'root' not in computes:
            self._subscribe_to_witnesses()
        if computes & {'root', 'world', 'verdict'}:
            source = "start the IMU's driver, or remap its topic."
            self._subscribe(robot.imu.topic, Imu, self._take_imu, source, 'imu')
        if 'root' in computes:
            self._subscribe_to_accelerometers()
        self.subscribe_to_feet(robot)
        if robot.position is not None and computes & {'world', 'verdict'}:
            topic, take = robot.position.topic, self._take_position
            PositionInput(self._node, topic, take, self.learn_frame, self.choose_source)
        self._subscribe_to_results(outputs)

    def _subscribe_to_results(self, outputs: Outputs) -> None:
        for topic, given in GIVEN.items():
            if given.part in self._given and given.part not in LATER:
                self._subscribe_to_result(topic)
        if self._robot.position is not None and self._given & set(LATER):
            self._node.when_wanted(self._node.wants_pose, self._subscribe_later)
        if 'verdict' in self._computes and self._given:
            take = partial(self._node.collect, 'joints')
            self._node.when_wanted(
                lambda: outputs.judgement_wanted or outputs.uncertain_wanted,
                lambda: setattr(self, '_joints', JointsInput(self._node, take, required=False)),
            )
            self._node.when_wanted(lambda: outputs.uncertain_wanted, self._learn_rates)

    def _subscribe_later(self) -> None:
        """Subscribe to the pose, and to IR-MD."""
        self.is_placed = True
        for topic, given in GIVEN.items():
            if given.part in self._given and given.part in LATER:
                self._subscribe_to_result(topic)

    def _subscribe_to_result(self, topic: str) -> None:
        given = GIVEN[topic]
        take = self._take_kinematics if given.part == 'joints' else partial(self._take, topic)
        self._node.subscribe(
            topic,
            given.msgtype,
            take,
            f'start the node {given.node}.',
            required=given.part not in LATER or self._node.task.is_lazy,
        )

    def _learn_rates(self) -> None:
        """Learn the rates of the accelerometers, which the covariance depends on."""
        self._subscribe_to_accelerometers(required=False)
        if self._node.evaluator is not None:
            self.follow(self._node.evaluator)

    def _subscribe(
        self,
        topic: str,
        msgtype: Any,
        callback: Callable[[int, Any], None],
        source: str,
        signal: str,
        required: bool = True,
    ) -> Input:
        self._subscribed.add(topic)
        return self._node.subscribe(
            topic, msgtype, callback, source, signal=signal, sensor=True, required=required
        )

    def _subscribe_to_witnesses(self) -> None:
        """Subscribe to what shows whether the robot moves while joints repeat their positions."""
        robot, why = self._robot, 'without it, joints that hang may go unnoticed.'
        topics = {f'feet[{foot.name}]': foot.wrench.topic for foot in robot.feet if foot.wrench}
        for signal, topic in ({'imu': robot.imu.topic} | topics).items():
            msgtype = Imu if signal == 'imu' else WrenchStamped
            self._subscribe(topic, msgtype, partial(self._take, signal), why, signal, False)

    def _subscribe_to_accelerometers(self, required: bool = True) -> None:
        source = "start the accelerometer's driver, or set angular_acceleration.method to gyro."
        for k, sensor in enumerate(self._robot.accelerometers):
            take, signal = partial(self._take_accelerometer, k), f'accelerometers[{k}]'
            entry = self._subscribe(sensor.topic, Imu, take, source, signal, required)
            self._accelerometers.append(entry)

    def subscribe_to_feet(self, robot: RobotFile) -> None:
        """Subscribe to the sensors of feet and ground that are needed, each once."""
        if 'verdict' not in self._computes:
            return
        for foot in robot.feet:
            if foot.wrench and foot.wrench.topic not in self._subscribed:
                self._subscribe(
                    foot.wrench.topic,
                    WrenchStamped,
                    partial(self._take_foot, foot.name, foot.wrench.topic, foot.wrench.frame),
                    "start the foot sensor's driver, or delete wrench in the robot file.",
                    f'feet[{foot.name}]',
                    required=False,
                )
            by_imu = foot.imu if robot.ground.source == 'feet_imus' else None
            if by_imu and by_imu.topic not in self._subscribed:
                self._subscribe(
                    by_imu.topic,
                    Imu,
                    partial(self._take_foot_imu, foot.name, by_imu.topic, by_imu.frame),
                    "start the driver of the foot's IMU; without it the ground is that of the "
                    'sole.',
                    f'foot_imus[{foot.name}]',
                    required=False,
                )
        topic = robot.ground.topic
        if topic is not None and topic not in self._subscribed:
            self._subscribed.add(topic)
            GroundInput(self._node, topic, self._take_ground, partial(self._learn, topic))

    def _take(self, signal: str, stamp: int, sample: Any) -> None:
        self._node.collect(signal, stamp, sample.values)

    def _take_kinematics(self, stamp: int, sample: TrajectorySample) -> None:
        if sample.point is not None:
            self._node.collect('joint_kinematics', stamp, np.concatenate(sample.point))
        elif 'ir_md' in self._computes:  # which is differenced over all instants
            nothing = np.full(3 * self._node.model.dof, np.nan)
            self._node.collect('joint_kinematics', stamp, nothing)

    def _take_imu(self, stamp: int, sample: ImuSample) -> None:
        robot = self._robot
        values, orientation = sample.values, sample.orientation
        if not self.watch.done:
            self.watch.see(stamp, values, orientation)
        evaluator = self._ready(robot.imu.topic, robot.imu.frame, sample.frame)
        if evaluator is None:
            return
        if robot.imu.gravity_removed:
            if orientation is None:
                self._health.count('imu', Reason.NO_ORIENTATION)
                return
            world_R_imu, _ = rotations(orientation[None])
            values[3:] = with_gravity(values[None, 3:], world_R_imu, robot.gravity)[0]
        if 'verdict' in self._computes:
            self.forces.steps.see('imu', stamp, values)
        self._collect('imu', stamp, values)
        if self.source == 'imu':
            oriented = orientation is not None and self.watch.oriented
            evaluator.world.orientation.available = oriented
            if orientation is not None and oriented:
                self._collect('orientation', stamp, orientation)

    def _take_accelerometer(self, index: int, stamp: int, sample: ImuSample) -> None:
        sensor = self._robot.accelerometers[index]
        if self._ready(sensor.topic, sensor.frame, sample.frame):
            self._collect(f'accelerometers[{index}]', stamp, sample.values[3:])

    def _take_foot(
        self, name: str, topic: str, frame: str | None, stamp: int, sample: WrenchSample
    ) -> None:
        self.forces.see(name, stamp, sample.values)
        if self._ready(topic, frame, sample.frame):
            self._node.collect(f'feet[{name}]', stamp, sample.values)

    def _take_foot_imu(
        self, name: str, topic: str, frame: str | None, stamp: int, sample: ImuSample
    ) -> None:
        if self._ready(topic, frame, sample.frame):
            self._node.collect(f'foot_imus[{name}]', stamp, sample.values)

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        self._node.collect('position', stamp, position)
        if orientation is not None and self.source == 'position':
            self._collect('orientation', stamp, orientation)

    def _take_ground(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None:
            self._node.collect('ground', stamp, np.concatenate([position, orientation]))

    def _collect(self, signal: str, stamp: int, values: Array) -> None:
        """Keep a sample of the root; not that of an IMU that cannot be right."""
        if self.watch.usable:
            self._node.collect(signal, stamp, values)

    def _ready(self, topic: str, expected: str | None, frame: str) -> Evaluator | None:
        """The evaluator, if there is one; it may need this frame of a message."""
        if self._frames_seen.get(topic) != frame:
            self._check_frame(topic, expected, frame)
            if topic in self.frames.unknown:
                self._learn(topic, frame)
            else:
                self._frames_seen[topic] = frame
        return self._node.evaluator

    def _check_frame(self, topic: str, expected: str | None, given: str) -> None:
        """Remark on a message whose frame is not the one that the robot file states."""
        if self._frames_given.get(topic) == (expected, given):
            return
        self._frames_given[topic] = expected, given
        frame = self._node.frame_names.link(given)
        key = f'frame[{self._node.resolve_topic_name(topic)}]'
        if expected and frame and frame != expected:
            sentence = (
                f"The messages on {topic} name the frame '{frame}', but the robot file states "
                f"'{expected}', which is used. Correct the one that is wrong."
            )
            if self._health.remark(key, WARN, sentence):
                self._node.get_logger().warning(sentence)
        else:
            self._health.clear(key)

    def choose_source(self, oriented: bool) -> None:
        """Take the orientation from the position's messages if they hold one, else the IMU's."""
        source = 'position' if oriented else 'imu'
        if source != self.source:
            self.source = source
            self._node.make_evaluator()

    def learn_frame(self, link: str) -> None:
        """Learn from Odometry whose pose it is.

        Raises:
            IzmpError: if nothing can be made with that link.
        """
        self.frames.learn_positioned(link, self._node.make_evaluator)

    def _learn(self, topic: str, frame: str) -> None:
        """Learn the frame of a sensor; a wrong one is stated until a message names another."""
        if not self.frames.learn(topic, frame):
            return
        try:
            self._node.make_evaluator()
        except IzmpError as error:
            self.frames.refuse_frames()
            self._frames_seen.clear()
            if self._health.remark('frames', ERROR, str(error)):
                self._node.get_logger().error(str(error))

    def inspect(self, evaluator: Evaluator | None) -> None:
        """State what has been learned about joints, accelerometers and force sensors."""
        if 'verdict' in self._computes:
            self.forces.inspect(None if evaluator is None else evaluator.rig)
        if evaluator is None:
            self._remark_on_unknown_frames()
            return
        if self._joints is not None and 'joints' in self._computes:
            self._joints.inspect(evaluator.joints)
        if 'root' in self._computes:
            self._remark_on_method(evaluator)

    def _remark_on_unknown_frames(self) -> None:
        """State what keeps the evaluator from being made."""
        if self.frames.unknown:
            names = ', '.join(sorted(self.frames.unknown))
            sentence = (
                f'Nothing is computed before a message on {names} names its frame. State the '
                'frame in the robot file, or leave a sensor out that is not there.'
            )
            self._health.remark('waiting for frames', self._health.absent, sentence)

    def _remark_on_method(self, evaluator: Evaluator) -> None:
        """State the method, and remark where the gyroscope stands in for accelerometers."""
        root = evaluator.root
        self._health.values['method'] = root.method
        for entry in self._accelerometers:
            entry.required = root.method == 'accelerometers'
        if root.fell_back:
            names = ', '.join(self._accelerometers[k].topic for k in root.without_messages)
            self._health.remark(
                'fallen back',
                WARN,
                f'No message on {names} so far: the angular acceleration is the difference '
                'quotient of the gyroscope.',
            )
        else:
            self._health.clear('fallen back')
