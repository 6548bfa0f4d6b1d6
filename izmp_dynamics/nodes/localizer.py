"""Node localizer: position and IMU → odom and TF world→root (sect. 4.5)."""

from functools import partial
from typing import Any

from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.conventions import Array
from izmp_dynamics.live.warm_up import warm_up_world
from izmp_dynamics.live.world import LiveWorld, WorldInstant
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.imu_watch import ImuWatch
from izmp_dynamics.nodes.messages import (
    imu_orientation,
    imu_values,
    odometry,
    stamp_of,
    transform_stamped,
)
from izmp_dynamics.nodes.position_input import PositionInput
from izmp_dynamics.nodes.sensor_rig import SensorRig
from izmp_dynamics.nodes.stage_node import StageNode
from izmp_dynamics.nodes.transforms import WORLD, TransformBroadcaster


class Localizer(StageNode):
    """Pose and velocity of the root in the world, at the instants of the joints."""

    urgent = False

    def __init__(self, **options: Any) -> None:
        super().__init__('localizer', ('gravity', 'ir_md', 'low_pass', 'pairing'), **options)
        self._publish_odometry = self.speak('odom', Odometry)
        self._broadcaster = TransformBroadcaster(self)
        if self.robot.position is None:
            self.health.values['position'] = (
                'The robot file names no position; there is no odometry and no IR-MD.'
            )
            return
        self.listen(
            self.robot.imu.topic,
            Imu,
            self._take_imu,
            "start the IMU's driver, or remap its topic.",
            sensor=True,
        )
        self.listen(
            'joint_kinematics',
            JointTrajectory,
            self._take_instant,
            'start the node acd; it tells the instants.',
        )
        PositionInput(self, self.robot.position.topic, self._take_position, self._positioned)
        for name, index in (('imu', 0), ('position', 1), ('orientation', 2)):
            self.health.counters.append((name, partial(self._counts, index)))

    def configure(self, robot: RobotFile) -> None:
        """Make the stage anew, as soon as the frame of the IMU is known."""
        self._frames = SensorRig(robot, self.model, [robot.imu.topic])
        self._watch = ImuWatch(robot, self.health, self.get_logger())
        self._stage: LiveWorld | None = None
        self._make_stage()

    def reset(self) -> None:
        """Forget all samples."""
        if self._stage is not None:
            self._stage.reset()

    def flush(self) -> None:
        """Hand out the last instants."""
        if self._stage is not None:
            self._put(self._stage.flush())

    def _make_stage(self) -> None:
        rig = self._frames.make()
        if rig is not None and rig.position is not None:
            self._stage = warm_up_world(LiveWorld(rig, self.patience))

    def _take_instant(self, stamp: int, message: JointTrajectory) -> None:
        if message.points and self._stage is not None:
            self._put(self._stage.add_instant(stamp))

    def _take_imu(self, stamp: int, message: Imu) -> None:
        values, orientation = imu_values(message), imu_orientation(message)
        self._watch.see(stamp, values, orientation)
        if self._stage is None:
            self._frames.see(self.robot.imu.topic, message)
            self._make_stage()
        if self._stage is not None:
            usable = orientation if self._watch.oriented else None
            self._put(self._stage.add_imu(stamp, values, usable))

    def _positioned(self, link: str) -> None:
        if self._frames.see_positioned(link):
            self._make_stage()

    def _take_position(self, stamp: int, position: Array, orientation: Array | None) -> None:
        if self._stage is not None:
            self._put(self._stage.add_position(stamp, position, orientation))

    def _put(self, instants: list[WorldInstant]) -> None:
        root = self.model.root
        for instant in instants:
            message = odometry(instant, WORLD, root)
            self._publish_odometry(message)
            self._broadcaster.send(
                transform_stamped(stamp_of(message), WORLD, root, instant.R, instant.p)
            )

    def _counts(self, index: int) -> dict[str, int]:
        return dict(self._stage.queues[index].counts) if self._stage else {}
