"""Node izmp: contact wrenches and feet → points on the ground, margins, polygon, frame nif."""

from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array, all_finite
from izmp_dynamics.base.faults import Faults, Reason
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.fall_outputs import FallOutputs
from izmp_dynamics.nodes.force_watch import ForceWatch
from izmp_dynamics.nodes.ground_input import GroundInput, check_ground
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.izmp_outputs import IzmpOutputs, Placed
from izmp_dynamics.nodes.joint_noise import JointNoise
from izmp_dynamics.nodes.messages import (
    ODOMETRY,
    joint_kinematics,
    world_instant,
)
from izmp_dynamics.nodes.position_input import PositionInput
from izmp_dynamics.nodes.root_inputs import add_gravity
from izmp_dynamics.nodes.root_noise import RootNoise
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.tare import Tare
from izmp_dynamics.nodes.wire import (
    ImuSample,
    MotionSample,
    OdometrySample,
    TrajectorySample,
    WrenchSample,
)
from izmp_dynamics.pipeline.falling import FallStage
from izmp_dynamics.pipeline.feet import FeetStage
from izmp_dynamics.pipeline.ground import GroundStage
from izmp_dynamics.pipeline.standstill import compile_stages
from izmp_dynamics.pipeline.uncertainty import propagated
from izmp_dynamics.pipeline.world import OrientationStage, WorldState
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState, root_state
from izmp_dynamics.signals.readiness import InstantQueue, Ready
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage
from izmp_dynamics.stability.fall_alarm import FallRisk

_RESULTS = {'root_acceleration': 6, 'root_twist': 3, 'mr_ad/contact_wrench': 6}


class Izmp(StageNode):
    """The IZMP of every source of contact wrenches, the CoP, the verdict and the fall alarm."""

    def __init__(self, **options: Any) -> None:
        super().__init__('izmp', SECTIONS['izmp'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._source = 'imu'
        self._tare = Tare(self)
        self._subscribed: set[str] = set()
        self._located = False
        self._ir_md: InstantQueue[Placed] = InstantQueue(
            {'ir_md/contact_wrench': 6, 'odom': ODOMETRY}
        )
        super().set_up()
        self._root_noise, self._joint_noise = RootNoise(self), JointNoise(self)
        self._outputs = IzmpOutputs(self)
        self._fall_outputs = FallOutputs(self, self._outputs.events)
        self._subscribe_to_sensors()
        self.when_wanted(lambda: self._fall_outputs.wanted, self._joint_noise.learn)
        self._subscribe_to_nodes()
        self._subscribe_for_ground(self.robot)
        self.health.counters.append(self._faults)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages whose samples wait for instants."""
        return () if self._feet is None else (self._feet, self._ground, self._orientation)

    def awaited(self) -> list[str] | None:
        """Topics whose next message may complete an instant; None: any may."""
        awaited = self._instants.awaited
        if self._feet is None or awaited is None:
            return None
        wanted = self._located and self._wants_pose()
        later = ['odom', 'ir_md/contact_wrench'] if wanted else []
        return [awaited or self.instants, *later]

    def configure(self, robot: RobotFile) -> None:
        """Make the stages, as soon as the frames of the sensors are known."""
        self._sensors = {foot.name: foot.wrench for foot in robot.feet if foot.wrench}
        by_imus = robot.ground.source == 'feet_imus'
        self._imus = {foot.name: foot.imu for foot in robot.feet if foot.imu and by_imus}
        topics = [robot.imu.topic, *(wrench.topic for wrench in self._sensors.values())]
        topics += [imu.topic for imu in self._imus.values()]
        topics += [robot.ground.topic] if robot.ground.topic is not None else []
        self._frames = SensorRig(robot, self.model, topics, self.frame_names)
        self._watch = ImuWatch(robot)  # angular_acceleration, which is needed, states its findings
        self._forces = ForceWatch(robot, self.health)
        self._feet: FeetStage | None = None
        self._instants: InstantQueue[JointKinematics] = InstantQueue(_RESULTS)
        self._make_stages()
        if hasattr(self, '_outputs'):
            self._subscribe_for_ground(robot)

    def reset(self) -> None:
        """Forget all messages."""
        self._watch.reset()
        for stage in self.stages:
            stage.reset()
        self._instants.reset()
        self._ir_md.reset()
        self._outputs.frame.reset()
        self._joint_noise.reset()
        if self._feet is not None and self._falling is not None:
            self._falling.reset()

    def flush(self) -> None:
        """Evaluate the last instants."""
        for stage in self.stages:
            stage.flush(final=False)
        self.evaluate()

    def inspect(self) -> None:
        """State what has been learned about the force sensors, and how they drift."""
        self._forces.inspect(None if self._feet is None else self._rig)
        self._tare.inspect()

    def _make_stages(self) -> None:
        rig = self._frames.make()
        if rig is None:
            return
        check_ground(self.health, rig)
        compile_stages(rig)
        filtering = self.filtering(rig.robot)
        self._ground = GroundStage(rig, filtering, patience=self.patience)
        self._orientation = OrientationStage(rig, filtering, self._source, patience=self.patience)
        self._feet = FeetStage(rig, filtering, patience=self.patience)
        self._feet.unloaded = self._tare.watch(rig)
        self._falling = FallStage(rig) if rig.feet else None
        self._mr_ad, self._rig = MrAd(self.model), rig
        self._needs_world = rig.robot.ground.moves and rig.ground_reference is None
        odometry = {'odom': ODOMETRY} if self._needs_world else {}
        self._instants = InstantQueue(_RESULTS | odometry, self.stages)

    def _subscribe_to_nodes(self) -> None:
        acd, root = 'start the node acd.', 'start the node angular_acceleration.'
        self.subscribe('joint_kinematics', JointTrajectory, self._take_joints, acd)
        self.subscribe('root_acceleration', AccelStamped, self._take_acceleration, root)
        self.subscribe('root_twist', TwistStamped, self._take_twist, root)
        take = partial(self._take_wrench, 'mr_ad/contact_wrench')
        self.subscribe('mr_ad/contact_wrench', WrenchStamped, take, 'start the node mr_ad.')
        if self.robot.position is not None:
            self.when_wanted(self._wants_pose, self._subscribe_to_pose)

    def _wants_pose(self) -> bool:
        """Whether anybody asks for what needs the pose of the root in the world."""
        needed = self._feet is not None and self._needs_world
        return needed or self._outputs.frame.in_world or self._outputs.ir_md_wanted

    def _subscribe_to_pose(self) -> None:
        self._located = True
        source = 'start the node localizer.'
        self.subscribe('odom', Odometry, self._take_odometry, source, required=False)
        topic, source = 'ir_md/contact_wrench', 'start the node ir_md.'
        self.subscribe(topic, WrenchStamped, self._take_ir_md, source, required=False)

    def _subscribe_to_sensors(self) -> None:
        for name, wrench in self._sensors.items():
            self.subscribe(
                wrench.topic,
                WrenchStamped,
                partial(self._take_foot, name),
                "start the foot sensor's driver, or delete wrench in the robot file.",
                signal=f'feet[{name}]',
                sensor=True,
                required=False,
            )
        imu = self.robot.imu.topic
        self.subscribe(
            imu, Imu, self._take_imu, "start the IMU's driver.", signal='imu', sensor=True
        )
        if self.robot.position is not None:
            PositionInput(
                self,
                self.robot.position.topic,
                self._take_position,
                self._learn_frame,
                self._choose_source,
            )

    def _subscribe_for_ground(self, robot: RobotFile) -> None:
        """Subscribe to what the ground needs, as soon as it needs it."""
        topic = robot.ground.topic
        if topic is not None and topic not in self._subscribed:
            self._subscribed.add(topic)
            GroundInput(self, topic, self._take_ground, partial(self._learn_reference, topic))
        for name, imu in self._imus.items():
            if imu.topic in self._subscribed:
                continue
            self._subscribed.add(imu.topic)
            self.subscribe(
                imu.topic,
                Imu,
                partial(self._take_foot_imu, name),
                "start the driver of the foot's IMU; without it the ground is that of the sole.",
                signal=f'foot_imus[{name}]',
                sensor=True,
                required=False,
            )

    def _take_joints(self, stamp: int, sample: TrajectorySample) -> None:
        if sample.point is not None:
            joints = joint_kinematics(stamp, sample, self.model.dof)
            self._forces.steps.see('joints', stamp, joints.positions[0])
            self._instants.push(stamp, joints)

    def _take_acceleration(self, stamp: int, sample: MotionSample) -> None:
        self._instants.add('root_acceleration', stamp, sample.values)

    def _take_twist(self, stamp: int, sample: MotionSample) -> None:
        self._instants.add('root_twist', stamp, sample.values[3:])

    def _take_wrench(self, topic: str, stamp: int, sample: WrenchSample) -> None:
        self._instants.add(topic, stamp, sample.values)

    def _take_ir_md(self, stamp: int, sample: WrenchSample) -> None:
        self._ir_md.add('ir_md/contact_wrench', stamp, sample.values)

    def _take_odometry(self, stamp: int, sample: OdometrySample) -> None:
        values = sample.values
        self._outputs.frame.take_odometry(stamp, values)
        if self._feet is not None and self._needs_world:
            self._instants.add('odom', stamp, values)
        self._ir_md.add('odom', stamp, values)

    def _take_foot(self, name: str, stamp: int, sample: WrenchSample) -> None:
        sensor = self._sensors[name]
        self.check_frame(sensor.topic, sensor.frame, sample.frame)
        self._forces.see(name, stamp, sample.values)
        if self._is_ready(sensor.topic, sample.frame) and self._feet is not None:
            self._feet.sensors[name].push(Samples.one(stamp, sample.values))

    def _take_foot_imu(self, name: str, stamp: int, sample: ImuSample) -> None:
        sensor = self._imus.get(name)
        if sensor is None:  # the ground is no longer that of the feet's IMUs
            return
        self.check_frame(sensor.topic, sensor.frame, sample.frame)
        if self._is_ready(sensor.topic, sample.frame):
            self._ground.imus[name].push(Samples.one(stamp, sample.values))

    def _take_imu(self, stamp: int, sample: ImuSample) -> None:
        orientation = sample.orientation
        self._root_noise.see_imu(stamp, sample.values)
        self._watch.see(stamp, sample.values, orientation)
        if orientation is not None or not self.robot.imu.gravity_removed:
            values = sample.values.copy()
            if orientation is not None and self.robot.imu.gravity_removed:
                add_gravity(values, orientation, self.robot.gravity)
            self._forces.steps.see('imu', stamp, values)
        if not self._is_ready(self.robot.imu.topic, sample.frame) or self._source != 'imu':
            return
        oriented = orientation is not None and self._watch.oriented
        self._orientation.available = oriented
        if orientation is not None and oriented:
            self._orientation.stream.push(Samples.one(stamp, orientation))

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None and self._feet is not None and self._source == 'position':
            self._orientation.stream.push(Samples.one(stamp, orientation))

    def _take_ground(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None and self._feet is not None:
            pose = np.concatenate([position, orientation])
            self._ground.push_pose(Samples.one(stamp, pose))

    def _is_ready(self, topic: str, frame: str) -> bool:
        """Whether there are stages; they may need the frame of this message."""
        if self._feet is None:
            self._frames.learn(topic, frame)
            self._make_stages()
        return self._feet is not None

    def _choose_source(self, oriented: bool) -> None:
        self._source = 'position' if oriented else 'imu'
        if oriented:
            self._make_stages()

    def _learn_frame(self, link: str) -> None:
        self._frames.learn_positioned(link, self._make_stages)

    def _learn_reference(self, topic: str, frame: str) -> None:
        if self._frames.learn(topic, frame):
            self._make_stages()

    def evaluate(self) -> None:
        """Evaluate the instants that are decided."""
        for instant in self._instants.take():
            wrench = instant.results[2]
            known = all_finite(wrench)
            if not (known or self._located or self._fall_outputs.wanted):
                self.forget(instant.stamp)  # under overload, most are such, and many at once
                continue
            placed = self._place(instant)
            self.forget(instant.stamp)
            fall = self._put_fall(instant, placed)
            if placed is None:
                self.health.count('ground', Reason.NO_GROUND)
                continue
            if self._located:
                self._ir_md.push(instant.stamp, placed)
            if known:
                point = self._judge(instant.stamp, placed, wrench, fall)
                if self._outputs.uncertain.wanted and np.isfinite(point).all():
                    self._put_uncertain(instant, placed, point)
        self._evaluate_ir_md()

    def _judge(self, stamp: int, placed: Placed, wrench: Array, fall: FallRisk | None) -> Array:
        """Publish what follows from the contact wrench (6,) of MR-AD; return its IZMP (3,)."""
        ground = placed.ground
        wrenches = {'mr_ad': wrench[None]}
        if ground.feet_wrench is not None:
            wrenches['cop'] = ground.feet_wrench.as_array()
        points, margins = ground.judge(wrenches)
        found = {name: point[0] for name, point in points.items()}
        margin = float(margins['mr_ad'][0])
        self._outputs.verdict(stamp, placed, wrench, found, margin, fall)
        izmp: Array = found['mr_ad']
        return izmp

    def _put_fall(self, instant: Ready[JointKinematics], placed: Placed | None) -> FallRisk | None:
        """Publish the fall alarm, if anybody subscribes to it or to the events.

        While the ground is not known, an alarm that was raised comes to its end.
        """
        if self._falling is None:
            return None
        if not self._fall_outputs.wanted:
            self._falling.reset()
            return None
        if placed is None:
            risk = self._falling.pass_over(instant.payload.stamps)
        else:
            up, root = placed.up[None], _root_of(instant)
            groups = self._joint_noise.groups
            risk = self._falling.evaluate(instant.payload, root, up, placed.ground, groups)
        self._fall_outputs.put(instant.stamp, risk)
        return risk

    def _put_uncertain(
        self, instant: Ready[JointKinematics], placed: Placed, point: Array
    ) -> None:
        """Publish the IZMP (3,) with its covariance, which costs more than all the rest."""
        root = _root_of(instant)
        joints = instant.payload
        spread = self._root_noise.covariance(self._rig, instant.stamp, root.angular_velocity)
        variance = self._joint_noise.variance(joints.stamps, joints.velocities)
        if spread is not None and variance is not None:
            wrench, plane, there = instant.results[2][None], placed.ground.plane, np.array([True])
            covariance = propagated(
                self._mr_ad, root, joints, spread, variance, wrench, plane, there
            )
            self._outputs.send_uncertain(instant.stamp, placed, point, covariance[0])

    def _place(self, instant: Ready[JointKinematics]) -> Placed | None:
        """Find the ground at an instant; None if it is not known."""
        if self._feet is None:
            return None
        joints, odometry, root = instant.payload, instant.results[3:], _root_of(instant)
        R = self._orientation.at(joints.stamps, joints.moving)
        nowhere = np.full((1, 3), np.nan)
        world = WorldState(R, nowhere, nowhere)
        if odometry:
            pose = world_instant(odometry[0])
            world = WorldState(pose.R[None], pose.p[None], nowhere)
        feet = self._feet.evaluate(joints, root, R)
        ground = self._ground.evaluate(joints, root, world, feet)
        known = np.isfinite(ground.plane.normal).all() and np.isfinite(ground.plane.point).all()
        return Placed(ground, joints.positions[0], R[0, 2]) if known else None

    def _evaluate_ir_md(self) -> None:
        """Evaluate the wrenches of IR-MD, which come later, with the pose of their instants."""
        for stamp, placed, (wrench, odometry) in self._ir_md.take():
            pose = world_instant(odometry)
            contact = ContactWrench.from_array(wrench)
            in_root = contact.seen_from(pose.R, pose.p).as_array()
            if np.isfinite(in_root).all():
                (point,) = placed.ground.zmp(in_root[None])
                self._outputs.point('ir_md', stamp, placed, point)

    def _faults(self) -> dict[str, Faults]:
        if self._feet is None:
            return self._instants.faults
        feet = {stream.signal: stream.faults for stream in self._feet.streams}
        oriented = {self._orientation.stream.signal: self._orientation.faults}
        return feet | self._ground.faults | oriented | self._instants.faults


def _root_of(instant: Ready[JointKinematics]) -> RootState:
    """The motion of the root at an instant, as the node angular_acceleration gives it."""
    acceleration, omega = instant.results[:2]
    stamps = instant.payload.stamps
    return root_state(stamps, omega[None], acceleration[None, 3:], acceleration[None, :3])
