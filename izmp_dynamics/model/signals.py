"""What a topic of a robot gives; `RobotFile.signals` is the one list of them."""

from dataclasses import dataclass

from izmp_dynamics.model.field_map import FieldMap

JOINT_STATE = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
POINT = 'geometry_msgs/msg/PointStamped'
POSITIONS = (
    POINT,
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'nav_msgs/msg/Odometry',
    'geometry_msgs/msg/TransformStamped',
)
POSES = POSITIONS[1:]


@dataclass(frozen=True)
class Signal:
    """What one topic of the robot gives.

    Attributes:
        name: 'joints', 'imu', 'position', 'ground', 'accelerometers[0]', 'segments[LINK]',
            'segment_accelerometers[LINK][0]', 'feet[NAME]' or 'foot_imus[NAME]'.
        key: of its settings in the robot file, e.g. 'feet[0].wrench'.
        topic: as the robot file names it.
        types: of messages that it may have.
        used_as: the quantity that is taken from it.
        required: whether nothing can be evaluated without it.
        mounted: whether it is a sensor that measures in the frame of a link.
        frame: link that the robot file states for it; None: the frame_id of its messages.
        mapping: which fields of its messages are what; None of a standard type.
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
    mapping: FieldMap | None = None

    @property
    def kind(self) -> str:
        """The name without the brackets, e.g. 'feet'."""
        return self.name.partition('[')[0]
