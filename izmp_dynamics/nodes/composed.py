"""Node composed: the sensors in, everything out that the single nodes publish, in one process.

It feeds the `Evaluator` of the replay message by message.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    TwistStamped,
    WrenchStamped,
)
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Faults, Reason
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import Accelerometer, FootImu, FootWrench, RobotFile
from izmp_dynamics.nodes.collected import MOST_COLLECTED, Collected, together
from izmp_dynamics.nodes.fall_outputs import FallOutputs
from izmp_dynamics.nodes.force_watch import ForceWatch
from izmp_dynamics.nodes.ground_input import GroundInput, check_ground
from izmp_dynamics.nodes.health import ERROR, STARTUP, Input
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.izmp_outputs import IzmpOutputs, Placed
from izmp_dynamics.nodes.joints_input import JointsInput
from izmp_dynamics.nodes.messages import (
    NOTHING,
    WorldInstant,
    odometry_numbers,
    pose_and_twist,
)
from izmp_dynamics.nodes.position_input import PositionInput
from izmp_dynamics.nodes.root_inputs import add_gravity, remark_on_method
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.shared_settings import OF_COMPOSED
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.tare import Tare
from izmp_dynamics.nodes.template import JointTemplate
from izmp_dynamics.nodes.wire import ImuSample, WrenchSample
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.standstill import compile_stages
from izmp_dynamics.pipeline.uncertainty import JointSpeeds, izmp_covariance, joint_speeds


class Composed(StageNode):
    """The whole method: ACD, root acceleration, MR-AD, localizer, IR-MD, IZMP, fall alarm."""

    needs_others = False

    def __init__(self, **options: Any) -> None:
        super().__init__('izmp_dynamics', OF_COMPOSED, **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._source = 'imu'
        self._tare = Tare(self)
        self._faults_before: dict[str, Faults] = {}
        self._collected = Collected()
        self._wanted_at = self._judged_at = time.monotonic()
        self._evaluator: Evaluator | None = None
        self._former: Evaluator | None = None
        self._unsure: frozenset[str] = frozenset()
        self._subscribed: set[str] = set()
        super().set_up()
        self._template = JointTemplate(self.model.joint_names)
        self._joints = self.advertise('joint_kinematics', JointTrajectory)
        self._acceleration = self.advertise('root_acceleration', AccelStamped)
        self._twist = self.advertise('root_twist', TwistStamped)
        self._wrench = self.advertise('mr_ad/contact_wrench', WrenchStamped)
        self._com = self.advertise('com', PointStamped)
        self._rate = self.advertise('mr_ad/momentum_rate', WrenchStamped)
        self._ir_md_wrench = self.advertise('ir_md/contact_wrench', WrenchStamped)
        self._ir_md_rate = self.advertise('ir_md/momentum_rate', WrenchStamped)
        self._odometry = self.advertise('odom', Odometry, child_frame_id=self.root)
        self._outputs = IzmpOutputs(self)
        self._fall_outputs = FallOutputs(self, self._outputs.events)
        self._input = JointsInput(self, self._take_joints)
        self._accelerometers = list(self._subscribe_to_root())
        self._subscribe_to_feet(self.robot)
        self._subscribe_to_position()
        self._subscribe_to_ground(self.robot)
        self.health.counters.append(self._faults)

    def configure(self, robot: RobotFile) -> None:
        """Make the evaluator, as soon as the frames of the sensors are known."""
        topics = [robot.imu.topic, *(sensor.topic for sensor in robot.accelerometers)]
        topics += [foot.wrench.topic for foot in robot.feet if foot.wrench]
        topics += [] if robot.ground.topic is None else [robot.ground.topic]
        by_imus = robot.ground.source == 'feet_imus'
        topics += [foot.imu.topic for foot in robot.feet if foot.imu and by_imus]
        self._frames = SensorRig(robot, self.model, topics, self.frame_names)
        self._frames_seen: dict[str, str] = {}
        self._watch = ImuWatch(robot, self.health, self.get_logger())
        self._forces = ForceWatch(robot, self.health)
        self._faults_before = self._faults()
        self._former, self._evaluator = self._evaluator or self._former, None
        self._make_evaluator()
        if hasattr(self, '_outputs'):
            self._subscribe_to_feet(robot)
            self._subscribe_to_ground(robot)

    def relearn(self, signals: Iterable[str]) -> None:
        """Learn the rates of some signals again."""
        self._unsure = frozenset(signals)
        self.configure(self.robot)
        self._unsure = frozenset()

    def reset(self) -> None:
        """Forget what belongs to the time before the clock was set back."""
        self._watch.reset()
        self._outputs.frame.reset()

    def flush(self) -> None:
        """Evaluate the last instants."""
        if self._evaluator is not None:
            for piece in self._evaluator.pause():
                self._put_world(piece)

    def inspect(self) -> None:
        """State what has been learned about joints, accelerometers and force sensors."""
        self._forces.inspect(None if self._evaluator is None else self._evaluator.rig)
        self._tare.inspect()
        if self._evaluator is None:
            self._remark_on_unknown_frames()
        else:
            self._evaluator.trim()
            self._input.inspect(self._evaluator.joints)
            remark_on_method(self.health, self._evaluator.root, self._accelerometers)

    def _remark_on_unknown_frames(self) -> None:
        """State what keeps the evaluator from being made."""
        if self._frames.unknown:
            names = ', '.join(sorted(self._frames.unknown))
            sentence = (
                f'Nothing is computed before a message on {names} names its frame. State the '
                'frame in the robot file, or leave a sensor out that is not there.'
            )
            self.health.remark('waiting for frames', self.health.absent, sentence)

    def look_after(self, report: bool) -> None:
        """Do so, and look who subscribes to pose, IR-MD and fall alarm."""
        super().look_after(report)
        with self._lock:
            if self.is_active and self._evaluator is not None:
                results = (self._odometry, self._rate, self._ir_md_wrench, self._ir_md_rate)
                if self._outputs.world_wanted or any(result.wanted for result in results):
                    self._wanted_at = time.monotonic()
                if self._fall_outputs.wanted:
                    self._judged_at = time.monotonic()
                self._evaluator.locates = time.monotonic() - self._wanted_at < STARTUP
                self._evaluator.judges = time.monotonic() - self._judged_at < STARTUP

    def hung(self) -> dict[str, list[tuple[int, int]]]:
        """Signal → first and last instant [ns] of the times in which it hung."""
        return {} if self._evaluator is None else self._evaluator.hung

    def periods(self) -> Iterator[tuple[str, float]]:
        """Signals whose low-pass can be set, with the time between their samples if known [s]."""
        return iter(()) if self._evaluator is None else self._evaluator.periods()

    def _make_evaluator(self) -> None:
        rig = self._frames.make()
        if rig is None:
            return
        check_ground(self.health, rig)
        compile_stages(rig)
        self._faults_before = self._faults()
        self._former = self._evaluator or self._former
        self._evaluator = Evaluator(
            rig,
            orientation=self._source,
            live=True,
            patience=self.patience,
            prompt=self._put_izmp,
        )
        self._evaluator.feet.unloaded = self._tare.watch(rig)
        if self._former is not None:
            self._evaluator.assume(self._former, self._unsure)
            self._former = None
        self._resets = 0
        self._speeds: JointSpeeds | None = None
        for key in ('frames', 'waiting for frames'):
            self.health.clear(key)
        for k, warning in enumerate(self._evaluator.root.warnings):
            self.health.values[f'layout {k + 1}'] = warning

    def _subscribe_to_root(self) -> Iterator[Input]:
        """Subscribe to IMU and accelerometers; yield the inputs of the latter."""
        imu, driver = self.robot.imu.topic, "start the IMU's driver, or remap its topic."
        self.subscribe(imu, Imu, self._take_imu, driver, signal='imu', sensor=True)
        for k, sensor in enumerate(self.robot.accelerometers):
            yield self.subscribe(
                sensor.topic,
                Imu,
                partial(self._take_accelerometer, k, sensor),
                "start the accelerometer's driver, or set angular_acceleration.method to gyro.",
                signal=f'accelerometers[{k}]',
                sensor=True,
            )

    def _subscribe_to_feet(self, robot: RobotFile) -> None:
        """Subscribe to the sensors of the feet that are needed, once."""
        for foot in robot.feet:
            if foot.wrench and self._is_new(foot.wrench.topic):
                self.subscribe(
                    foot.wrench.topic,
                    WrenchStamped,
                    partial(self._take_foot, foot.name, foot.wrench),
                    "start the foot sensor's driver, or delete wrench in the robot file.",
                    signal=f'feet[{foot.name}]',
                    sensor=True,
                    required=False,
                )
            by_imu = foot.imu if robot.ground.source == 'feet_imus' else None
            if by_imu and self._is_new(by_imu.topic):
                self.subscribe(
                    by_imu.topic,
                    Imu,
                    partial(self._take_foot_imu, foot.name, by_imu),
                    "start the driver of the foot's IMU; without it the ground is that of the "
                    'sole.',
                    signal=f'foot_imus[{foot.name}]',
                    sensor=True,
                    required=False,
                )

    def _subscribe_to_position(self) -> None:
        if self.robot.position is None:
            self.health.values['position'] = (
                'The robot file names no position; there is no odometry and no IR-MD.'
            )
            return
        topic = self.robot.position.topic
        take, learn = self._take_position, self._learn_frame
        PositionInput(self, topic, take, learn, self._choose_source)

    def _subscribe_to_ground(self, robot: RobotFile) -> None:
        topic = robot.ground.topic
        if topic is not None and self._is_new(topic):
            GroundInput(self, topic, self._take_ground, partial(self._learn_reference, topic))

    def _is_new(self, topic: str) -> bool:
        new = topic not in self._subscribed
        self._subscribed.add(topic)
        return new

    def admission(
        self, entry: Input, callback: Callable[[int, Any], None]
    ) -> Callable[[int, Any], None]:
        """The callback itself, as the evaluator follows the clocks."""
        return callback

    def _take_joints(self, stamp: int, positions: Array) -> None:
        self._collect('joints', stamp, positions)

    def _take_imu(self, stamp: int, sample: ImuSample) -> None:
        topic = self.robot.imu.topic
        values, orientation = sample.values, sample.orientation
        if not self._watch.done:
            self._watch.see(stamp, values, orientation)
        evaluator = self._ready(topic, self.robot.imu.frame, sample.frame)
        if evaluator is None:
            return
        if self.robot.imu.gravity_removed:
            if orientation is None:
                self.health.count('imu', Reason.NO_ORIENTATION)
                return
            add_gravity(values, orientation, self.robot.gravity)
        self._forces.steps.see('imu', stamp, values)
        self._collect('imu', stamp, values)
        if self._source == 'imu':
            oriented = orientation is not None and self._watch.oriented
            evaluator.world.orientation.available = oriented
            if orientation is not None and oriented:
                self._collect('orientation', stamp, orientation)

    def _take_accelerometer(
        self, index: int, sensor: Accelerometer, stamp: int, sample: ImuSample
    ) -> None:
        if self._ready(sensor.topic, sensor.frame, sample.frame):
            self._collect(f'accelerometers[{index}]', stamp, sample.values[3:])

    def _take_foot(self, name: str, sensor: FootWrench, stamp: int, sample: WrenchSample) -> None:
        self._forces.see(name, stamp, sample.values)
        if self._ready(sensor.topic, sensor.frame, sample.frame):
            self._collect(f'feet[{name}]', stamp, sample.values)

    def _take_foot_imu(self, name: str, sensor: FootImu, stamp: int, sample: ImuSample) -> None:
        if self._ready(sensor.topic, sensor.frame, sample.frame):
            self._collect(f'foot_imus[{name}]', stamp, sample.values)

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        self._collect('position', stamp, position)
        if orientation is not None and self._source == 'position':
            self._collect('orientation', stamp, orientation)

    def _take_ground(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None:
            self._collect('ground', stamp, np.concatenate([position, orientation]))

    def _ready(self, topic: str, expected: str | None, frame: str) -> Evaluator | None:
        """The evaluator, if there is one; it may need this frame of a message."""
        if self._frames_seen.get(topic) != frame:
            self.check_frame(topic, expected, frame)
            if topic in self._frames.unknown:
                self._learn_reference(topic, frame)
            else:
                self._frames_seen[topic] = frame
        return self._evaluator

    def _choose_source(self, oriented: bool) -> None:
        source = 'position' if oriented else 'imu'
        if source != self._source:
            self._source = source
            self._make_evaluator()

    def _learn_frame(self, link: str) -> None:
        self._frames.learn_positioned(link, self._make_evaluator)

    def _learn_reference(self, topic: str, frame: str) -> None:
        """Learn the frame of a sensor; a wrong one is stated until a message names another."""
        if not self._frames.learn(topic, frame):
            return
        try:
            self._make_evaluator()
        except IzmpError as error:
            self._frames.refuse_frames()
            self._frames_seen.clear()
            if self.health.remark('frames', ERROR, str(error)):
                self.get_logger().error(str(error))

    def _collect(self, signal: str, stamp: int, values: Array) -> None:
        """Keep a sample for `evaluate`; not that of an IMU that cannot be right."""
        if self._evaluator is not None and (self._watch.usable or not _on_root(signal)):
            self._collected.add(signal, stamp, values)

    def awaited(self) -> list[str] | None:
        """Topics whose next message may complete an instant; None: any may."""
        evaluator = self._evaluator
        if evaluator is None or evaluator.locates or evaluator.waits:
            return None
        return [self.robot.joints.topic]

    def advance(self) -> None:
        """Evaluate if an instant can be complete; rest until the next one can."""
        collected, evaluator = self._collected, self._evaluator
        if evaluator is not None and (
            collected.count >= MOST_COLLECTED or evaluator.awaits(collected.newest)
        ):
            now, stamp = time.monotonic(), collected.newest.get('joints', 0)
            self.evaluate()
            self.rest(now + evaluator.idle_after(stamp), stamp)

    def evaluate(self) -> None:
        """Let the evaluator take what was collected."""
        evaluator = self._evaluator
        if evaluator is None:
            return
        for signal, samples in self._collected.take():
            try:
                evaluator.take({signal: together(samples)})
            except Exception as error:
                self.fail(signal, error)
        with self._guarded('joints'):
            for piece in evaluator.advance():
                self._put_world(piece)
            if evaluator.resets != self._resets:
                self._follow_clock(evaluator)

    def _follow_clock(self, evaluator: Evaluator) -> None:
        """Forget what belongs to the time before, if a clock was set back."""
        self._resets = evaluator.resets
        for signal in evaluator.set_back:
            self.health.count(signal, Reason.CLOCK_SET_BACK)
        names = ', '.join(evaluator.set_back)
        self.get_logger().warning(f'The stamps of {names} went back: resetting.')
        self.reset()

    def _put_izmp(self, piece: Evaluated) -> None:
        """Publish instants whose IZMP is known."""
        for row in range(len(piece.stamps)):
            self._put_instant(
                piece.select(slice(row, row + 1)) if len(piece.stamps) > 1 else piece
            )

    def _put_instant(self, instant: Evaluated) -> None:
        """Publish an instant, its IZMP first."""
        stamp, link, wrench = int(instant.stamps[0]), self.root, instant.wrenches['mr_ad'][0]
        if instant.joints.valid[0]:
            self._forces.steps.see('joints', stamp, instant.joints.positions[0])
            known = all_finite(wrench)
            self._put_verdict(instant, known)
            if known:
                self._wrench.numbers(stamp, link, wrench)
                self._com.numbers(stamp, link, instant.com[0])
            self._put_root(instant)
        if instant.fall is not None:
            self._fall_outputs.put(stamp, instant.fall)
        self._joints(self._template.write, stamp, instant.joints, 0)

    def _put_verdict(self, instant: Evaluated, known: bool) -> None:
        """Publish IZMP and CoP, if the ground is known, and the contact wrench of MR-AD."""
        stamp, plane = int(instant.stamps[0]), instant.plane
        if not (all_finite(plane.normal) and all_finite(plane.point)):
            self.health.count('ground', Reason.NO_GROUND)
        elif known:
            points = {name: point[0] for name, point in instant.points.items()}
            wrench, margin = instant.wrenches['mr_ad'][0], instant.margins['mr_ad'][0]
            self._outputs.verdict(stamp, _placed(instant), wrench, points, margin, instant.fall)
            self._put_uncertain(instant)

    def _put_root(self, instant: Evaluated) -> None:
        """Publish the motion of the root."""
        stamp, link, root = int(instant.stamps[0]), self.root, instant.root
        if root.valid[0]:
            omega, alpha = root.angular_velocity[0], root.angular_acceleration[0]
            self._twist.numbers(stamp, link, NOTHING, omega)
            self._acceleration.numbers(stamp, link, root.proper_acceleration[0], alpha)

    def _put_uncertain(self, instant: Evaluated) -> None:
        """Publish the IZMP with its covariance, which costs more than the rest of an instant."""
        if self._evaluator is not None and self._outputs.uncertain.wanted:
            if self._speeds is None:
                half_width = self.robot.filter.half_width
                self._speeds = joint_speeds(self._evaluator.joints.groups, half_width)
            covariance = izmp_covariance(self._evaluator, instant, speeds=self._speeds)
            stamp, point = int(instant.stamps[0]), instant.points['mr_ad'][0]
            self._outputs.send_uncertain(stamp, _placed(instant), point, covariance[0])

    def _put_world(self, piece: Evaluated) -> None:
        """Publish what is known of instants later than the IZMP: pose and IR-MD."""
        if self.robot.position is None:
            return
        for row in range(len(piece.stamps)):
            instant = piece.select(slice(row, row + 1)) if len(piece.stamps) > 1 else piece
            world, omega = instant.world, instant.root.angular_velocity[0]
            root = WorldInstant(world.R[0], world.p[0], world.v[0], omega)
            if instant.joints.valid[0] and all(map(all_finite, root)):
                self._put_pose(instant, root)
                self._put_ir_md(instant, root)

    def _put_pose(self, instant: Evaluated, root: WorldInstant) -> None:
        stamp, link, world = int(instant.stamps[0]), self.root, self.frame_names.world
        if self._evaluator is not None and self._evaluator.rig.position is not None:
            noise = self._evaluator.world.noise(self._evaluator.root.imu.period)
            arm = self._evaluator.rig.position.p
            self._odometry.computed(stamp, world, odometry_numbers, root, arm, noise)
        q = instant.joints.positions[0]
        self._outputs.broadcaster.send_root(self.model, stamp, root, q)
        if self._outputs.frame.in_world:
            self._outputs.frame.take_odometry(stamp, pose_and_twist(root))
        if all_finite(instant.wrenches['mr_ad']):
            self._rate.computed(stamp, link, self._momentum_rate, instant, root)

    def _put_ir_md(self, instant: Evaluated, root: WorldInstant) -> None:
        stamp, wrench = int(instant.stamps[0]), instant.wrenches.get('ir_md')
        if wrench is None or not all_finite(wrench):
            return
        world = self.frame_names.world
        self._ir_md_wrench.computed(stamp, world, _in_world, wrench[0], root)
        self._ir_md_rate.computed(stamp, world, self._ir_md_momentum_rate, instant, root)
        if all_finite(instant.plane.normal) and all_finite(instant.plane.point):
            self._outputs.point('ir_md', stamp, _placed(instant), instant.points['ir_md'][0])

    def _momentum_rate(self, instant: Evaluated, root: WorldInstant) -> tuple[Array, Array]:
        """Rate of the momentum after MR-AD, about the root."""
        contact = ContactWrench.from_array(instant.wrenches['mr_ad'][0])
        down = -self.robot.gravity * root.R[2]
        rate = contact.momentum_rate(self.model.total_mass, down, instant.com[0])
        return rate.force, rate.moment

    def _ir_md_momentum_rate(self, instant: Evaluated, root: WorldInstant) -> tuple[Array, Array]:
        """Rate of the momentum after IR-MD, about the origin of the world."""
        contact = ContactWrench(*_in_world(instant.wrenches['ir_md'][0], root))
        down = np.array([0.0, 0.0, -self.robot.gravity])
        com = root.R @ instant.com[0] + root.p
        rate = contact.momentum_rate(self.model.total_mass, down, com)
        return rate.force, rate.moment

    def _faults(self) -> dict[str, Faults]:
        """What could not be used, also by the evaluators before this one."""
        now = {} if self._evaluator is None else self._evaluator.faults
        before = self._faults_before
        return {
            signal: before.get(signal, Faults()) + now.get(signal, Faults())
            for signal in before | now
        }


def _on_root(signal: str) -> bool:
    return signal in ('imu', 'orientation') or signal.startswith('accelerometers')


def _in_world(wrench: Array, root: WorldInstant) -> tuple[Array, Array]:
    """Bring a contact wrench (6,) from the root to the world."""
    contact = ContactWrench.from_array(wrench).transformed(root.R, root.p)
    return contact.force, contact.moment


def _placed(instant: Evaluated) -> Placed:
    return Placed(instant.ground, instant.joints.positions[0], instant.world.R[0, 2])
