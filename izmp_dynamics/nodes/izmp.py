"""Node izmp: contact wrenches and feet → points on the ground, margins, polygon, frame nif."""

from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, TwistStamped, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.live.feet import LiveFeet, Placed
from izmp_dynamics.live.ground import Ground
from izmp_dynamics.live.warm_up import warm_up_feet
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.exact_join import ExactJoin
from izmp_dynamics.nodes.ground_input import GroundInput
from izmp_dynamics.nodes.health import ERROR
from izmp_dynamics.nodes.izmp_outputs import IzmpOutputs
from izmp_dynamics.nodes.messages import (
    imu_orientation,
    imu_values,
    joint_arrays,
    odometry_instant,
    quaternion,
    vector,
    wrench_values,
)
from izmp_dynamics.nodes.position_input import PositionInput
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.root_state import RootState

_KEPT = 1500
"""Instants that are kept for wrenches that come late."""


class Izmp(StageNode):
    """The IZMP of every source of contact wrenches, the CoP of the feet, and the verdict."""

    def __init__(self, **options: Any) -> None:
        self._join = ExactJoin('joint_kinematics', 'root_acceleration', 'root_twist')
        self._in_world = ExactJoin('ir_md/contact_wrench', 'odom')
        self._grounds: OrderedDict[int, tuple[Ground, Array]] = OrderedDict()
        self._wrenches: OrderedDict[tuple[int, str], Array] = OrderedDict()
        self._oriented = False
        self._heard_imus: set[str] = set()
        self._heard_grounds: set[str] = set()
        super().__init__('izmp', ('gravity', 'ground', 'low_pass', 'pairing'), **options)
        self._outputs = IzmpOutputs(self)
        self._listen_to_sensors()
        self._listen_to_nodes()
        self.health.counters.append(('pairing', lambda: self._join.counts))

    def configure(self, robot: RobotFile) -> None:
        """Make the stage anew, as soon as the frames of the sensors are known."""
        self._sensors = {foot.name: foot.wrench for foot in robot.feet if foot.wrench}
        by_imus = robot.ground.source == 'feet_imus'
        self._imus = {foot.name: foot.imu for foot in robot.feet if foot.imu and by_imus}
        topics = [wrench.topic for wrench in self._sensors.values()]
        topics += [imu.topic for imu in self._imus.values()]
        topics += [robot.ground.topic] if robot.ground.topic is not None else []
        self._frames = SensorRig(robot, self.model, topics)
        self._located = robot.position is not None
        self._make_stage()
        self._listen_for_ground(robot)

    def reset(self) -> None:
        """Forget all messages."""
        if self._stage is not None:
            self._stage.reset()
        for kept in (self._join, self._in_world):
            kept.reset()
        self._grounds.clear()
        self._wrenches.clear()
        self._outputs.frame.reset()

    def flush(self) -> None:
        """Evaluate the last instants."""
        if self._stage is not None:
            self._put(self._stage.flush())
        self._outputs.frame.retry(final=True)

    def _make_stage(self) -> None:
        rig = self._frames.make()
        if rig is not None and rig.robot.ground.moves:
            self._check_ground(rig)
        self._stage = None if rig is None else warm_up_feet(LiveFeet(rig, self.patience))

    def _check_ground(self, rig: Rig) -> None:
        """Remark on a ground that is told where nobody tells where the robot is."""
        if rig.ground_told_in is None and not self._located:
            self.health.remark(
                'ground',
                ERROR,
                f'{rig.robot.ground.topic} tells the ground in a frame that is no link of the '
                'robot, and no position tells where the robot is there: there is no IZMP. State '
                'position in the robot file, or tell the ground in a link.',
            )

    def _listen_to_nodes(self) -> None:
        for topic, msgtype, who in (
            ('joint_kinematics', JointTrajectory, 'acd'),
            ('root_acceleration', AccelStamped, 'angular_acceleration'),
            ('root_twist', TwistStamped, 'angular_acceleration'),
        ):
            self.listen(topic, msgtype, partial(self._take, topic), f'start the node {who}.')
        self.listen(
            'mr_ad/contact_wrench', WrenchStamped, self._take_mr_ad, 'start the node mr_ad.'
        )
        if self.robot.position is None:
            return
        for topic, msgtype, who in (
            ('ir_md/contact_wrench', WrenchStamped, 'ir_md'),
            ('odom', Odometry, 'localizer'),
        ):
            take = partial(self._take_world, topic)
            self.listen(topic, msgtype, take, f'start the node {who}.', required=False)

    def _listen_to_sensors(self) -> None:
        for name, wrench in self._sensors.items():
            self.listen(
                wrench.topic,
                WrenchStamped,
                partial(self._take_foot, name),
                "start the foot sensor's driver, or delete wrench in the robot file.",
                sensor=True,
                required=False,
            )
            self.health.counters.append((f'feet[{name}]', partial(self._foot_counts, name)))

    def _listen_for_ground(self, robot: RobotFile) -> None:
        """Listen to the IMUs that the ground needs, as soon as it needs them."""
        blind = len(self._sensors) < len(robot.feet)
        if (blind or robot.ground.source in ('gravity', 'feet_imus')) and not self._oriented:
            self._oriented = True
            remedy = "start the IMU's driver."
            self.listen(robot.imu.topic, Imu, self._take_imu, remedy, sensor=True)
            if robot.position is not None:
                PositionInput(self, robot.position.topic, self._take_position, self._positioned)
        topic = robot.ground.topic
        if topic is not None and topic not in self._heard_grounds:
            self._heard_grounds.add(topic)
            GroundInput(self, topic, self._take_ground, partial(self._ground_told_in, topic))
        for name, imu in self._imus.items():
            if name in self._heard_imus:
                continue
            self._heard_imus.add(name)
            self.listen(
                imu.topic,
                Imu,
                partial(self._take_foot_imu, name),
                "start the driver of the foot's IMU; without it the sole tells the ground.",
                sensor=True,
                required=False,
            )
            self.health.counters.append((f'foot_imus[{name}]', partial(self._imu_counts, name)))

    def _take(self, topic: str, stamp: int, message: Any) -> None:
        if topic == 'joint_kinematics' and not message.points:
            return
        parts = self._join.add(topic, stamp, message)
        arrays = joint_arrays(parts[0]) if parts else None
        if parts is None or arrays is None or self._stage is None:
            return
        stamps, valid = np.array([stamp]), np.ones(1, dtype=np.bool_)
        q, qd, qdd = arrays
        joints = JointKinematics(stamps, q[None], qd[None], qdd[None], valid)
        root = RootState(
            stamps,
            vector(parts[2].twist.angular)[None],
            vector(parts[1].accel.angular)[None],
            vector(parts[1].accel.linear)[None],
            valid,
        )
        self._put(self._stage.add_instant(joints, root))

    def _take_foot(self, name: str, stamp: int, message: WrenchStamped) -> None:
        sensor = self._sensors[name]
        self.check_frame(sensor.topic, sensor.frame, message)
        if self._stage is None:
            self._frames.see(sensor.topic, message)
            self._make_stage()
        if self._stage is not None:
            self._put(self._stage.add_wrench(name, stamp, wrench_values(message)))

    def _take_foot_imu(self, name: str, stamp: int, message: Imu) -> None:
        sensor = self._imus.get(name)
        if sensor is None:  # the ground is no longer that of the feet's IMUs
            return
        self.check_frame(sensor.topic, sensor.frame, message)
        if self._stage is None:
            self._frames.see(sensor.topic, message)
            self._make_stage()
        if self._stage is not None:
            self._put(self._stage.add_imu(name, stamp, imu_values(message)))

    def _take_imu(self, stamp: int, message: Imu) -> None:
        orientation = imu_orientation(message)
        if orientation is not None and self._stage is not None:
            self._put(self._stage.add_orientation(stamp, orientation))

    def _positioned(self, link: str) -> None:
        if self._frames.see_positioned(link):
            self._make_stage()

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None and self._stage is not None:
            self._put(self._stage.add_orientation(stamp, orientation, of_position=True))

    def _ground_told_in(self, topic: str, frame: str) -> None:
        if self._frames.learn(topic, frame):
            self._make_stage()

    def _take_ground(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if orientation is not None and self._stage is not None:
            self._put(self._stage.add_ground(stamp, position, orientation))

    def _take_mr_ad(self, stamp: int, message: WrenchStamped) -> None:
        self._take_wrench('mr_ad', stamp, wrench_values(message))

    def _take_world(self, topic: str, stamp: int, message: Any) -> None:
        """Bring a wrench from the world to the root, with the pose of its instant."""
        if topic == 'odom':
            self._outputs.frame.take_odometry(message)
            if self._stage is not None:
                pose = message.pose.pose
                position, orientation = vector(pose.position), quaternion(pose.orientation)
                self._put(self._stage.add_root_pose(stamp, position, orientation))
        parts = self._in_world.add(topic, stamp, message)
        if parts is None:
            return
        pose = odometry_instant(parts[1])
        contact = ContactWrench.from_array(wrench_values(parts[0]))
        in_root = contact.transformed(pose.R.T, -pose.R.T @ pose.p)
        self._take_wrench('ir_md', stamp, in_root.as_array())

    def _take_wrench(self, name: str, stamp: int, wrench: Array) -> None:
        if not np.isfinite(wrench).all():
            self.health.counts[f'{name}: wrench is not finite'] += 1
        elif stamp in self._grounds:
            self._evaluate(name, stamp, wrench)
        else:
            self._wrenches[stamp, name] = wrench
            while len(self._wrenches) > 2 * _KEPT:
                self._wrenches.popitem(last=False)

    def _put(self, placed: list[Placed]) -> None:
        """Take the ground of some instants; evaluate the wrenches that wait for it."""
        for joints, ground in placed:
            stamp = int(joints.stamps[0])
            if ground is None:
                self.health.counts['ground not known at this instant'] += 1
                continue
            self._grounds[stamp] = (ground, joints.positions[0])
            while len(self._grounds) > _KEPT:
                self._grounds.popitem(last=False)
            for name in ('mr_ad', 'ir_md'):
                wrench = self._wrenches.pop((stamp, name), None)
                if wrench is not None:
                    self._evaluate(name, stamp, wrench)

    def _evaluate(self, name: str, stamp: int, wrench: Array) -> None:
        ground, q = self._grounds[stamp]
        izmp = self._outputs.point(name, stamp, ground, q, wrench)
        if name == 'mr_ad':
            self._outputs.verdict(stamp, ground, q, wrench, izmp)

    def _imu_counts(self, name: str) -> dict[str, int]:
        imu = self._stage.imus.get(name) if self._stage else None
        return dict(imu.queue.counts) if imu else {}

    def _foot_counts(self, name: str) -> dict[str, int]:
        return dict(self._stage.queues[name].counts) if self._stage else {}
