"""The signals of a robot: the one list of what its file names as topics."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from izmp_dynamics.model.robot_file import RobotFile

JOINT_STATE = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
POINT = 'geometry_msgs/msg/PointStamped'
POSITIONS = (
    POINT,
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'nav_msgs/msg/Odometry',
)
POSES = (*POSITIONS[1:], 'geometry_msgs/msg/TransformStamped')


@dataclass(frozen=True)
class Signal:
    """What one topic of the robot gives.

    Attributes:
        name: 'joints', 'imu', 'position', 'ground', 'accelerometers[0]', 'feet[NAME]' or
            'foot_imus[NAME]'.
        key: of its settings in the robot file, e.g. 'feet[0].wrench'.
        topic: as the robot file names it.
        types: of messages that it may have.
        used_as: the quantity that is taken from it.
        required: whether nothing can be evaluated without it.
        mounted: whether it is a sensor that measures in the frame of a link.
        frame: link that the robot file states for it; None: the frame_id of its messages.
        link: whose frame counts where neither states one: None is the root.
    """

    name: str
    key: str
    topic: str
    types: tuple[str, ...]
    used_as: str
    required: bool = False
    mounted: bool = False
    frame: str | None = None
    link: str | None = None


def signals_of(robot: 'RobotFile') -> Iterator[Signal]:
    """List the signals of a robot; an IMU that is derived from the pose has none."""
    yield Signal(
        'joints', 'joints', robot.joints.topic, (JOINT_STATE,), 'joint positions', required=True
    )
    if not robot.imu.from_position:
        yield Signal(
            'imu', 'imu', robot.imu.topic, (IMU,),
            'angular velocity and specific force of the root',
            required=True, mounted=True, frame=robot.imu.frame,
        )  # fmt: skip
    if robot.position is not None:
        yield Signal(
            'position', 'position', robot.position.topic, POSITIONS,
            'position of the root in the world', frame=robot.position.frame,
        )  # fmt: skip
    if robot.ground.topic is not None:
        yield Signal('ground', 'ground', robot.ground.topic, POSES, 'pose of the ground')
    for k, sensor in enumerate(robot.accelerometers):
        name = f'accelerometers[{k}]'
        yield Signal(
            name, name, sensor.topic, (IMU,), 'angular acceleration of the root',
            mounted=True, frame=sensor.frame,
        )  # fmt: skip
    for k, foot in enumerate(robot.feet):
        if foot.wrench is not None:
            yield Signal(
                f'feet[{foot.name}]', f'feet[{k}].wrench', foot.wrench.topic, (WRENCH,),
                'measured contact wrench', mounted=True, frame=foot.wrench.frame,
            )  # fmt: skip
        if foot.imu is not None:
            yield Signal(
                f'foot_imus[{foot.name}]', f'feet[{k}].imu', foot.imu.topic, (IMU,),
                'inclination of the ground', mounted=True, frame=foot.imu.frame, link=foot.sole,
            )  # fmt: skip
