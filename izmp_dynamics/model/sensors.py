"""Settings of a robot's sensors but those in its feet: joints, IMUs, accelerometers, position."""

import math
from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.settings import METRES, setting
from izmp_dynamics.model.signals import (
    ORDERS,
    FieldMap,
    clock_setting,
    field_map,
    field_setting,
    type_setting,
)

JOINT_MESSAGES = ('topic', 'type', 'names', 'positions', 'must_be_zero', 'efforts', 'clock')
"""Settings that say in which messages the joint positions are."""

IMU_MESSAGES = (
    'topic', 'type', 'angular_velocity', 'linear_acceleration', 'orientation', 'quaternion',
    'clock', 'frame',
)  # fmt: skip
"""And the IMU."""

LONGEST_DELAY = 0.25
"""Delay of a sensor that can be corrected, in either direction [s]."""

LONGEST_GYROSCOPE_DELAY = 0.1
"""Delay of a gyroscope against its accelerometer that can be corrected [s]."""


def delay_setting(default: float | None = 0.0) -> Any:
    """Declare the delay of a sensor; None: 0, unless the recording shows another."""
    return setting(
        'how much later than the measured instant its stamps are, compared with those of the '
        'joints',
        default=default, unit='s', lower=-LONGEST_DELAY, upper=LONGEST_DELAY,
        hint='seconds, not milliseconds',
    )  # fmt: skip


def frame_setting(link: str = 'link whose frame it measures in') -> Any:
    """Declare the link in whose frame a sensor measures."""
    return setting(f'{link}; the frame_id of the messages if not given', default=None)


def rotation_setting(
    description: str = (
        'how the sensor is turned against that frame: roll, pitch, yaw as in URDF, frame_R_sensor'
    ),
) -> Any:
    """Declare how a sensor, or a frame, is turned."""
    return setting(
        description,
        default=(0.0, 0.0, 0.0), unit='rad', lower=-2.0 * math.pi, upper=2.0 * math.pi,
        hint='radians, not degrees',
    )  # fmt: skip


@dataclass(frozen=True)
class Joints:
    """Where the joint positions come from."""

    topic: str = setting('topic with sensor_msgs/JointState', default='joint_states')
    type: str | None = type_setting()
    names: tuple[str, ...] | None = setting(
        'joints whose positions the fields of another type are, in their order', default=None
    )
    positions: str | None = field_setting('joint positions, rad or m')
    must_be_zero: str | None = field_setting(
        'mode, 0 while these positions are those of joints, not of motors of a parallel linkage; '
        'may be left out'
    )
    efforts: str | None = field_setting(
        'joint torques, N·m or N, in the order of names, which decide what feet without sensors '
        'carry; may be left out'
    )
    clock: str = clock_setting()
    stamps: str = setting(
        'publisher_clock: stamps that came in a burst are put back onto the clock of their '
        'publisher, if it is periodic (those of the sensors as well); as_is: they are not, and '
        'samples that were stamped late are left out',
        default='publisher_clock',
        choices=('publisher_clock', 'as_is'),
    )

    def __post_init__(self) -> None:
        if self.mapping is not None and not self.names:
            raise RobotFileError(
                f'names lists no joints; state those of positions of {self.type}, in their order.',
                kind='field_missing', key='type', missing='names',
            )  # fmt: skip
        names = self.names or ()
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise RobotFileError(
                f"names has '{twice[0]}' twice.", kind='repeated_name', key='names', name=twice[0]
            )

    @property
    def mapping(self) -> FieldMap | None:
        """Which fields of another type are the positions."""
        count = len(self.names or ())
        widths = {'positions': count, 'must_be_zero': 1, 'efforts': count}
        return field_map(self, widths, optional=('must_be_zero', 'efforts'))


@dataclass(frozen=True)
class Imu:
    """The IMU on the root link."""

    topic: str = setting('topic with sensor_msgs/Imu', default='imu')
    type: str | None = type_setting()
    angular_velocity: str | None = field_setting('angular velocity, rad/s')
    linear_acceleration: str | None = field_setting('specific force, m/s²')
    orientation: str | None = field_setting('orientation, world_q_sensor; may be left out')
    quaternion: str = setting(
        'order of the orientation of another type', default=ORDERS[0], choices=ORDERS
    )
    clock: str = clock_setting()
    frame: str | None = frame_setting('link whose frame the IMU measures in')
    from_position: bool = setting(
        'whether there is no IMU, so that its signals are derived from the pose that position '
        'gives (twice differentiated; topic and frame have no effect)',
        default=False,
    )
    gravity_removed: bool = setting(
        'whether the driver subtracts gravity (then the orientation is needed to add it back)',
        default=False,
    )
    rotation: tuple[float, float, float] = rotation_setting()
    gyroscope_bias: tuple[float, float, float] = setting(
        'what the gyroscope reads at rest, in the axes of the sensor; it is subtracted',
        default=(0.0, 0.0, 0.0), unit='rad/s', lower=-1.0, upper=1.0,
        hint='radians, not degrees, per second',
    )  # fmt: skip
    accelerometer_bias: tuple[float, float, float] = setting(
        'what the accelerometer reads in excess of the specific force, in the axes of the sensor; '
        'it is subtracted',
        default=(0.0, 0.0, 0.0), unit='m/s²', lower=-5.0, upper=5.0,
        hint='metres per second squared, not g; gravity is not a bias',
    )  # fmt: skip
    delay: float | None = delay_setting(None)
    gyroscope_delay: float = setting(
        'how much later than the accelerometer in the same messages the gyroscope is, beyond '
        'delay',
        default=0.0, unit='s', lower=-LONGEST_GYROSCOPE_DELAY, upper=LONGEST_GYROSCOPE_DELAY,
        hint='seconds, not milliseconds',
    )  # fmt: skip

    def __post_init__(self) -> None:
        _ = self.mapping  # which refuses what does not go together

    @property
    def mapping(self) -> FieldMap | None:
        """Which fields of another type are what."""
        widths = {'angular_velocity': 3, 'linear_acceleration': 3, 'orientation': 4}
        return field_map(self, widths, optional=('orientation',))


@dataclass(frozen=True)
class Accelerometer:
    """A further accelerometer on a link, for its angular acceleration (eqs. 23–29)."""

    topic: str = setting('topic with sensor_msgs/Imu, of which linear_acceleration is used')
    frame: str | None = frame_setting()
    axes: str = setting(
        'its sensitive axes',
        default='xyz',
        choices=('xyz', 'xy', 'xz', 'yz', 'x', 'y', 'z'),
    )
    delay: float = delay_setting()


@dataclass(frozen=True)
class SegmentUnit:
    """Gyroscope and accelerometer on a link other than the root (paper, sect. 6)."""

    link: str = setting('link that carries the unit')
    topic: str = setting('topic with sensor_msgs/Imu')
    frame: str | None = frame_setting('link, fixed to that one, whose frame it measures in')
    accelerometers: tuple[Accelerometer, ...] = setting(
        'further accelerometers on the link, which measure its angular acceleration', default=()
    )
    xyz: tuple[float, float, float] = setting(
        'where it is in that frame',
        default=(0.0, 0.0, 0.0), unit='m', lower=-2.0, upper=2.0, hint=METRES,
    )  # fmt: skip
    rotation: tuple[float, float, float] = rotation_setting()
    delay: float = delay_setting()


@dataclass(frozen=True)
class Position:
    """The source of the position of the root in the world; only IR-MD and the views need it."""

    topic: str = setting(
        'topic with PointStamped (GPS), PoseStamped, PoseWithCovarianceStamped, Odometry or '
        'TransformStamped'
    )
    frame: str | None = setting(
        'link whose position (and orientation) it is; the child frame that the '
        'messages name, else the root link, if not given',
        default=None,
    )
    delay: float = delay_setting()


@dataclass(frozen=True)
class Noise:
    """Noise densities of the sensors on the root.

    They determine the scatter of the IZMP (`pipeline.noise_propagation`) and of the odometry
    (`sensing.odometry_covariance`).
    """

    accelerometer: float = setting(
        'noise density of the accelerometers',
        default=60.0, unit='µg/√Hz', lower=0.01, upper=1e5, hint='micro-g per root hertz',
    )  # fmt: skip
    gyroscope: float = setting(
        'noise density of the gyroscope',
        default=0.01, unit='°/s/√Hz', lower=1e-6, upper=10.0,
        hint='degrees per second per root hertz',
    )  # fmt: skip
    encoder: float | None = setting(
        'step of the joint positions; they count as exact if not given',
        default=None, unit='rad or m', lower=1e-12, upper=1.0,
        hint='radians, not degrees or counts: 2π over the counts of a turn',
    )  # fmt: skip
    position: float | None = setting(
        'noise density of the position; its covariance is not known if not given',
        default=None, unit='m/√Hz', lower=1e-9, upper=100.0,
        hint='metres per root hertz: the standard deviation over the root of the rate',
    )  # fmt: skip
    orientation: float | None = setting(
        'noise density of the orientation; its covariance is not known if not given',
        default=None, unit='°/√Hz', lower=1e-6, upper=100.0, hint='degrees per root hertz',
    )  # fmt: skip
