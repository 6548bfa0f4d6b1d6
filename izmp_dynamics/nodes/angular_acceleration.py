"""Node angular_acceleration: imu, accelerometers → root_acceleration, root_twist (eqs. 23–29)."""

from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import AccelStamped, TwistStamped
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.faults import Faults, Reason
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.health import ERROR, WARN, Input
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.messages import NOTHING, moving
from izmp_dynamics.nodes.root_inputs import add_gravity, remark_on_method
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.shared_settings import SECTIONS
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.wire import ImuSample, TrajectorySample
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.standstill import compile_root
from izmp_dynamics.signals.readiness import InstantQueue
from izmp_dynamics.signals.repeats import Flags
from izmp_dynamics.signals.samples import Samples


class AngularAcceleration(StageNode):
    """Motion of the root at the instants of the joints, from the sensors on it."""

    def __init__(self, **options: Any) -> None:
        super().__init__('angular_acceleration', SECTIONS['angular_acceleration'], **options)

    def set_up(self) -> None:
        """Advertise and subscribe."""
        super().set_up()
        self._acceleration = self.advertise('root_acceleration', AccelStamped)
        self._twist = self.advertise('root_twist', TwistStamped)
        self.subscribe(
            self.robot.imu.topic,
            Imu,
            self._take_imu,
            "start the IMU's driver, or remap its topic.",
            signal='imu',
            sensor=True,
        )
        self._inputs: list[Input] = []
        for k, sensor in enumerate(self.robot.accelerometers):
            entry = self.subscribe(
                sensor.topic,
                Imu,
                partial(self._take_accelerometer, k),
                "start the accelerometer's driver, or set angular_acceleration.method to gyro.",
                signal=f'accelerometers[{k}]',
                sensor=True,
            )
            self._inputs.append(entry)
        self.subscribe(
            'joint_kinematics',
            JointTrajectory,
            self._take_instant,
            'start the node acd; its stamps are the instants.',
        )
        self.health.counters.append(self._faults)

    @property
    def stages(self) -> tuple[RootStage, ...]:
        """The stages whose samples wait for instants."""
        return () if self._stage is None else (self._stage,)

    def awaited(self) -> list[str] | None:
        """Topics whose next message may complete an instant; None: any may."""
        return None if self._instants.awaited is None else [self.instants]

    def configure(self, robot: RobotFile) -> None:
        """Make the stage, as soon as the frames of the sensors are known."""
        sensors = [robot.imu.topic, *(sensor.topic for sensor in robot.accelerometers)]
        self._frames = SensorRig(robot, self.model, sensors, self.frame_names)
        self._watch = ImuWatch(robot, self.health, self.get_logger())
        self._stage: RootStage | None = None
        self._instants: InstantQueue[Flags] = InstantQueue({})
        self._make_stage()

    def reset(self) -> None:
        """Forget all samples."""
        self._watch.reset()
        self._instants.reset()
        if self._stage is not None:
            self._stage.reset()

    def flush(self) -> None:
        """Hand out the last instants."""
        if self._stage is not None:
            self._stage.flush(final=False)
            self.evaluate()

    def inspect(self) -> None:
        """Report whether the accelerometers are in use, and remark if they should be."""
        if self._stage is not None:
            remark_on_method(self.health, self._stage, self._inputs)

    def _make_stage(self) -> None:
        rig = self._frames.make()
        if rig is None:
            return
        compile_root(rig)
        self._stage = RootStage(
            rig, self.filtering(rig.robot), patience=self.patience, fall_back=True
        )
        self._instants = InstantQueue({}, self.stages)
        self.health.values['method'] = self._stage.method
        if rig.robot.root_acceleration.source != 'imu':
            self.health.remark(
                'root_acceleration',
                WARN,
                f'root_acceleration.source: {rig.robot.root_acceleration.source} takes '
                'composed:=true; as processes of their own the nodes use the IMU alone.',
            )
        for k, warning in enumerate(self._stage.warnings):
            self.health.values[f'layout {k + 1}'] = warning

    def _ready(self, topic: str, frame: str) -> bool:
        """Whether there is a stage; it may need the frame of this message."""
        if self._stage is None and self._frames.unknown:
            self._frames.learn(topic, frame)
            try:
                self._make_stage()
                self.health.clear('frames')
            except IzmpError as error:
                self._frames.refuse_frames()
                if self.health.remark('frames', ERROR, str(error)):
                    self.get_logger().error(str(error))
        return self._stage is not None

    def _take_instant(self, stamp: int, sample: TrajectorySample) -> None:
        if sample.point is not None and self._stage is not None and self._watch.usable:
            self._instants.push(stamp, moving(sample.point))

    def _take_imu(self, stamp: int, sample: ImuSample) -> None:
        self.check_frame(self.robot.imu.topic, self.robot.imu.frame, sample.frame)
        values, orientation = sample.values, sample.orientation
        self._watch.see(stamp, values, orientation)
        if not self._ready(self.robot.imu.topic, sample.frame):
            return
        if self.robot.imu.gravity_removed:
            if orientation is None:
                self.health.count('imu', Reason.NO_ORIENTATION)
                return
            add_gravity(values, orientation, self.robot.gravity)
        if self._stage is not None:
            self._stage.push_imu(Samples.one(stamp, values))

    def _take_accelerometer(self, index: int, stamp: int, sample: ImuSample) -> None:
        sensor = self.robot.accelerometers[index]
        self.check_frame(sensor.topic, sensor.frame, sample.frame)
        if self._ready(sensor.topic, sample.frame) and self._stage is not None:
            values = sample.values[3:]
            self._stage.push_accelerometer(index, Samples.one(stamp, values))

    def evaluate(self) -> None:
        """Publish the instants that are decided."""
        stage, root = self._stage, self.root
        if stage is None:
            return
        for instant in self._instants.take():
            state = stage.evaluate(np.array([instant.stamp]))
            state = stage.without_hanging(state, instant.payload)
            self.forget(instant.stamp)
            if state.valid[0]:
                omega, alpha = state.angular_velocity[0], state.angular_acceleration[0]
                phi = state.proper_acceleration[0]
                self._twist.numbers(instant.stamp, root, NOTHING, omega)
                self._acceleration.numbers(instant.stamp, root, phi, alpha)

    def _faults(self) -> dict[str, Faults]:
        if self._stage is None:
            return {}
        accelerometers = {stream.signal: stream.faults for stream in self._stage.accelerometers}
        return {'imu': self._stage.imu_faults, **accelerometers}
