"""Node localizer: position and IMU → odom and TF from the world to the robot (sect. 4.5)."""

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.faults import Faults
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.messages import (
    WorldInstant,
    moving,
    odometry_numbers,
)
from izmp_dynamics.nodes.position_input import PositionInput
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import UNWANTED, StageNode
from izmp_dynamics.nodes.transforms import TransformBroadcaster
from izmp_dynamics.nodes.wire import ImuSample, TrajectorySample
from izmp_dynamics.pipeline.limits import LARGEST_MOTION
from izmp_dynamics.pipeline.standstill import compile_world
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.readiness import InstantQueue
from izmp_dynamics.signals.repeats import Flags
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Stage
from izmp_dynamics.signals.stream import SampleStream


class Localizer(StageNode):
    """Pose and velocity of the root in the world, at the instants of the joints.

    The orientation is that of the position's messages if they hold one, else that of the IMU.
    TF ends at the root of the URDF, as the frames below it have their parents there.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('localizer', SECTIONS['localizer'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        self._source: str | None = None
        super().set_up()
        self._publish_odometry = self.advertise('odom', Odometry, child_frame_id=self.root)
        self._broadcaster = TransformBroadcaster(self, self.frame_names)
        if self.robot.position is None:
            self.health.values['position'] = (
                'The robot file names no position; there is no odometry and no IR-MD.'
            )
            return
        self.subscribe(
            self.robot.imu.topic,
            Imu,
            self._take_imu,
            "start the IMU's driver, or remap its topic.",
            signal='imu',
            sensor=True,
        )
        self.subscribe(
            'joint_kinematics',
            JointTrajectory,
            self._take_instant,
            'start the node acd; its stamps are the instants.',
        )
        PositionInput(
            self,
            self.robot.position.topic,
            self._take_position,
            self._learn_frame,
            self._choose_source,
        )
        self.health.counters.append(self._faults)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages whose samples wait for instants."""
        return () if self._stage is None else (self._stage, self._imu)

    def awaited(self) -> list[str] | None:
        """Topics whose next message may complete an instant; None: any may."""
        if not self._wanted:
            return []
        awaited, position = self._instants.awaited, self.robot.position
        if awaited or self._stage is None or position is None:
            return [awaited or self.instants]
        signal = self._stage.awaited if self._source == 'imu' else 'position'
        return [self.robot.imu.topic if signal == 'orientation' else position.topic]

    @property
    def _wanted(self) -> bool:
        """Whether anybody subscribes to odometry or TF; the samples are taken in any case."""
        return self._publish_odometry.wanted or self._broadcaster.wanted

    def configure(self, robot: RobotFile) -> None:
        """Make the stage, as soon as the IMU's frame and the position's type are known."""
        self._frames = SensorRig(robot, self.model, [robot.imu.topic], self.frame_names)
        self._watch = ImuWatch(robot, self.health, self.get_logger())
        self._stage: WorldStage | None = None
        self._instants: InstantQueue[tuple[Array, Flags]] = InstantQueue({})
        self._make_stage()

    def reset(self) -> None:
        """Forget all samples."""
        self._watch.reset()
        self._instants.reset()
        for stage in self.stages:
            stage.reset()

    def inspect(self) -> None:
        """State whether anything is computed."""
        self.health.values['wanted'] = 'yes' if self._wanted else UNWANTED

    def flush(self) -> None:
        """Hand out the last instants."""
        for stage in self.stages:
            stage.flush(final=False)
        self.evaluate()

    def _make_stage(self) -> None:
        rig = self._frames.make()
        if rig is None or rig.position is None or self._source is None:
            return
        compile_world(rig)
        filtering = self.filtering(rig.robot)
        gyroscope = SampleStream(
            'imu',
            6,
            max_gap=rig.robot.pairing.max_gap,
            largest=LARGEST_MOTION,
            filtering=filtering,
            correction=rig.imu.correction,
            may_hang=True,
            clocked=rig.clocked,
        )
        self._gyroscope, self._root_R_imu = gyroscope, rig.imu.R
        self._imu = Stage((gyroscope,), self.patience)
        self._stage = WorldStage(
            rig, filtering, self._source, patience=self.patience, imu=gyroscope
        )
        self._instants = InstantQueue({}, self.stages)

    def _choose_source(self, oriented: bool) -> None:
        self._source = 'position' if oriented else 'imu'
        self._make_stage()

    def _learn_frame(self, link: str) -> None:
        self._frames.learn_positioned(link, self._make_stage)

    def _take_instant(self, stamp: int, sample: TrajectorySample) -> None:
        if sample.point is not None and self._stage is not None:
            self._instants.push(stamp, (sample.point[0].copy(), moving(sample.point)))

    def _take_imu(self, stamp: int, sample: ImuSample) -> None:
        values, orientation = sample.values, sample.orientation
        self._watch.see(stamp, values, orientation)
        if self._frames.unknown:
            self._frames.learn(self.robot.imu.topic, sample.frame)
            self._make_stage()
        if self._stage is None:
            return
        self._gyroscope.push(Samples.one(stamp, values))
        if self._source == 'imu':
            oriented = orientation is not None and self._watch.oriented
            self._stage.orientation.available = oriented
            if orientation is not None and oriented:
                self._stage.push_orientation(Samples.one(stamp, orientation))

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if self._stage is None:
            return
        if orientation is not None:
            self._stage.push_orientation(Samples.one(stamp, orientation))
        self._stage.push_position(Samples.one(stamp, position))

    def evaluate(self) -> None:
        """Publish the instants that are decided."""
        if self._stage is None:
            return
        if not self._wanted:
            self._instants.reset()
        for instant in self._instants.take():
            stamps = np.array([instant.stamp])
            q, moves = instant.payload
            world = self._stage.evaluate(stamps, moving=moves)
            omega = self._root_R_imu @ self._gyroscope.at(stamps).values[0, :3]
            if self._gyroscope.hangs(stamps, moves).any():
                omega[:] = np.nan
            self.forget(instant.stamp)
            root = WorldInstant(world.R[0], world.p[0], world.v[0], omega)
            if all(np.isfinite(part).all() for part in root):
                self._send(instant.stamp, root, q)

    def _send(self, stamp: int, instant: WorldInstant, q: Array) -> None:
        """Publish the root's pose, and that of the URDF's root, for joint positions (n,)."""
        if self._stage is None or self._stage.rig.position is None:
            return
        world, arm = self.frame_names.world, self._stage.rig.position.p
        noise = self._stage.noise(self._gyroscope.period)
        self._publish_odometry.computed(stamp, world, odometry_numbers, instant, arm, noise)
        self._broadcaster.send_root(self.model, stamp, instant, q)

    def _faults(self) -> dict[str, Faults]:
        if self._stage is None:
            return {}
        oriented = self._stage.orientation
        faults = {'imu': self._gyroscope.faults, 'position': self._stage.position_faults}
        faults[oriented.stream.signal] += oriented.faults
        return faults
