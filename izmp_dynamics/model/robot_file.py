"""The robot file: everything about a robot that its URDF does not contain.

`config/robot_example.yaml` is a commented example.
"""

import dataclasses
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.hull_area import hull_area
from izmp_dynamics.model.robot_file_links import link_mistakes
from izmp_dynamics.model.settings import NOT_IN_FILE, read_settings, setting, together

LOADED_PART = 0.05
"""Part of the weight from which on a foot, or the ground, carries load, unless stated [-]."""

LONGEST_DELAY = 0.25
"""Delay of a sensor that can be corrected, in either direction [s]."""

LONGEST_GYROSCOPE_DELAY = 0.1
"""Delay of a gyroscope against its accelerometer that can be corrected [s]."""

LEAST_GAIN = 1e-6
"""Smallest singular value of a calibration matrix, as part of its largest."""

_METRES = 'metres, not millimetres'
_SMALLEST_SOLE = 1e-6  # [m²]


def _delay() -> Any:
    return setting(
        'how much later than the measured instant its stamps are, compared with those of the '
        'joints',
        default=0.0,
        unit='s',
        lower=-LONGEST_DELAY,
        upper=LONGEST_DELAY,
        hint='seconds, not milliseconds',
    )


def _rotation() -> Any:
    return setting(
        'how the sensor is turned against that frame: roll, pitch, yaw as in URDF, frame_R_sensor',
        default=(0.0, 0.0, 0.0),
        unit='rad',
        lower=-2.0 * math.pi,
        upper=2.0 * math.pi,
        hint='radians, not degrees',
    )


@dataclass(frozen=True)
class Joints:
    """Where the joint positions come from."""

    topic: str = setting('topic with sensor_msgs/JointState', default='joint_states')
    stamps: str = setting(
        'publisher_clock: stamps that came in a burst are put back onto the clock of their '
        'publisher, if it is periodic (those of the sensors as well); as_is: they are not, and '
        'samples that were stamped late are left out',
        default='publisher_clock',
        choices=('publisher_clock', 'as_is'),
    )


@dataclass(frozen=True)
class Imu:
    """The IMU on the root link."""

    topic: str = setting('topic with sensor_msgs/Imu', default='imu')
    frame: str | None = setting(
        'link whose frame the IMU measures in; the frame_id of the messages if not given',
        default=None,
    )
    from_position: bool = setting(
        'whether there is no IMU, so that its signals are derived from the pose that position '
        'gives (twice differentiated; topic and frame have no effect)',
        default=False,
    )
    gravity_removed: bool = setting(
        'whether the driver subtracts gravity (then the orientation is needed to add it back)',
        default=False,
    )
    rotation: tuple[float, float, float] = _rotation()
    gyroscope_bias: tuple[float, float, float] = setting(
        'what the gyroscope reads at rest, in the axes of the sensor; it is subtracted',
        default=(0.0, 0.0, 0.0),
        unit='rad/s',
        lower=-1.0,
        upper=1.0,
        hint='radians, not degrees, per second',
    )
    accelerometer_bias: tuple[float, float, float] = setting(
        'what the accelerometer reads in excess of the specific force, in the axes of the sensor; '
        'it is subtracted',
        default=(0.0, 0.0, 0.0),
        unit='m/s²',
        lower=-5.0,
        upper=5.0,
        hint='metres per second squared, not g; gravity is no bias',
    )
    delay: float = _delay()
    gyroscope_delay: float = setting(
        'how much later than the accelerometer in the same messages the gyroscope is, beyond '
        'delay',
        default=0.0,
        unit='s',
        lower=-LONGEST_GYROSCOPE_DELAY,
        upper=LONGEST_GYROSCOPE_DELAY,
        hint='seconds, not milliseconds',
    )


@dataclass(frozen=True)
class Accelerometer:
    """A further accelerometer on the root link, for the angular acceleration (eqs. 23–29)."""

    topic: str = setting('topic with sensor_msgs/Imu, of which linear_acceleration is used')
    frame: str | None = setting(
        'link whose frame it measures in; the frame_id of the messages if not given',
        default=None,
    )
    axes: str = setting(
        'its sensitive axes',
        default='xyz',
        choices=('xyz', 'xy', 'xz', 'yz', 'x', 'y', 'z'),
    )
    delay: float = _delay()


@dataclass(frozen=True)
class Position:
    """The source of the position of the root in the world; only IR-MD and the views need it."""

    topic: str = setting(
        'topic with PointStamped (GPS), PoseStamped, PoseWithCovarianceStamped or Odometry'
    )
    frame: str | None = setting(
        'link whose position (and orientation) it is; the child frame of Odometry, else the root '
        'link, if not given',
        default=None,
    )
    delay: float = _delay()


@dataclass(frozen=True)
class FootWrench:
    """The force/torque sensor of a foot."""

    topic: str = setting('topic with geometry_msgs/WrenchStamped')
    frame: str | None = setting(
        'link whose frame it measures in; the frame_id of the messages if not given',
        default=None,
    )
    sign: int = setting(
        '1 if it reports what acts on the robot (z positive when loaded), -1 if the opposite',
        default=1,
        choices=(1, -1),
    )
    below: str | None = setting(
        'link below the sensor: it and all it carries press on the ground without being felt by '
        'the sensor, which is accounted for; nothing if not given',
        default=None,
    )
    normal_only: bool = setting(
        'whether it measures nothing but the force along its z axis', default=False
    )
    rotation: tuple[float, float, float] = _rotation()
    offset: tuple[float, float, float, float, float, float] = setting(
        'what it reads without load: force [N] and moment [N·m] in the axes of the sensor; it is '
        'subtracted',
        default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        unit='N, N·m',
        lower=-1e4,
        upper=1e4,
    )
    matrix: tuple[tuple[float, float, float, float, float, float], ...] | None = setting(
        'calibration matrix (6×6) that the reading less the offset is multiplied by; identity if '
        'not given',
        default=None,
        lower=-1e3,
        upper=1e3,
    )
    delay: float = _delay()

    def __post_init__(self) -> None:
        if self.matrix is None:
            return
        if len(self.matrix) != 6:
            raise RobotFileError(
                f'matrix needs 6 rows of 6 numbers, not {len(self.matrix)} rows.',
                kind='wrong_length', key='matrix', length=len(self.matrix),
            )  # fmt: skip
        gains = np.linalg.svd(np.array(self.matrix), compute_uv=False)
        if gains[-1] <= LEAST_GAIN * gains[0]:
            raise RobotFileError(
                'matrix is singular: some forces or moments would be lost. Rows and columns are '
                'Fx, Fy, Fz, Mx, My, Mz; without cross-talk it is diagonal.',
                kind='singular_matrix', key='matrix',
            )  # fmt: skip


@dataclass(frozen=True)
class FootImu:
    """The IMU in a foot; with it the inclination of the ground is measured."""

    topic: str = setting('topic with sensor_msgs/Imu')
    frame: str | None = setting(
        'link whose frame it measures in, fixed to the sole; the frame_id of the messages if not '
        'given',
        default=None,
    )
    delay: float = _delay()


@dataclass(frozen=True)
class Foot:
    """One foot: its sole and, if it has one, its sensor."""

    name: str = setting('name of the foot, as it appears in results')
    sole: str = setting('link in the plane of the sole, z up')
    polygon: tuple[tuple[float, float], ...] = setting(
        'corners of the sole (x, y) in the frame of the sole link',
        unit='m',
        lower=-2.0,
        upper=2.0,
        hint=_METRES,
    )
    wrench: FootWrench | None = setting('force/torque sensor', default=None)
    imu: FootImu | None = setting('IMU in the foot, for ground.source: feet_imus', default=None)

    def __post_init__(self) -> None:
        if len(self.polygon) < 3:
            raise RobotFileError(
                f'polygon needs at least 3 corners, not {len(self.polygon)}.',
                kind='too_few_corners', corners=len(self.polygon),
            )  # fmt: skip
        area = hull_area(self.polygon)
        if area < _SMALLEST_SOLE:
            raise RobotFileError(
                f'the corners of polygon span {area:.2g} m²: they lie on a line or are the same.',
                kind='polygon_without_area', area=area,
            )  # fmt: skip


@dataclass(frozen=True)
class Ground:
    """Which plane the points are computed on, and from which load on."""

    source: str = setting(
        'sole: the sole of the foot that carries most; gravity: level ground below that sole; '
        'feet_imus: as inclined as the IMU in that foot measures; frame: the x-y plane of a link, '
        'or of a frame that moves (a board, a ship) if topic gives its pose',
        default='sole',
        choices=('sole', 'gravity', 'feet_imus', 'frame'),
    )
    frame: str | None = setting(
        'link whose x-y plane is the ground, for source: frame; with topic the name of the frame '
        'that moves',
        default=None,
    )
    topic: str | None = setting(
        'topic with PoseStamped, PoseWithCovarianceStamped, Odometry or TransformStamped that '
        'publishes the pose of frame, either in a link of the robot or in the world in which '
        'position gives the place of the robot',
        default=None,
    )
    height: float = setting(
        'height of the ground above the origin of frame, along its z axis',
        default=0.0,
        unit='m',
        lower=-10.0,
        upper=10.0,
        hint=_METRES,
    )
    minimum_force: float | None = setting(
        'normal force below which there is no ZMP (flight); 5 % of the weight if not given',
        default=None,
        unit='N',
        lower=0.0,
        upper=1e5,
    )
    contact_force: float | None = setting(
        'normal force from which on a foot counts as loaded; 5 % of the weight if not given',
        default=None,
        unit='N',
        lower=0.0,
        upper=1e5,
    )

    def __post_init__(self) -> None:
        if self.source == 'frame' and self.frame is None:
            raise RobotFileError(
                "source: frame needs the key 'frame', the name of a link.",
                kind='missing_key', keys=('ground.frame',),
            )  # fmt: skip
        if self.source != 'frame' and self.frame is not None:
            raise RobotFileError(
                f'frame: {self.frame} has no effect with source: {self.source}; use source: frame '
                'or leave it out.',
                kind='key_without_effect', key='ground.frame', source=self.source,
            )  # fmt: skip
        if self.source != 'frame' and (self.topic is not None or self.height):
            key = 'topic' if self.topic is not None else 'height'
            raise RobotFileError(
                f'{key} has no effect with source: {self.source}; use source: frame or leave it '
                'out.',
                kind='key_without_effect', key=f'ground.{key}', source=self.source,
            )  # fmt: skip

    @property
    def moves(self) -> bool:
        """Whether a topic publishes the pose of the ground."""
        return self.topic is not None

    def forces(self, weight: float) -> tuple[float, float]:
        """Return minimum_force and contact_force [N], as stated or as part of the weight [N]."""
        minimum, contact = (
            LOADED_PART * weight if force is None else force
            for force in (self.minimum_force, self.contact_force)
        )
        return minimum, contact


@dataclass(frozen=True)
class Noise:
    """Noise densities of the sensors on the root.

    They determine the scatter of the IZMP (`pipeline.noise_propagation`) and of the odometry
    (`sensing.odometry_covariance`).
    """

    accelerometer: float = setting(
        'noise density of the accelerometers',
        default=60.0,
        unit='µg/√Hz',
        lower=0.01,
        upper=1e5,
        hint='micro-g per root hertz',
    )
    gyroscope: float = setting(
        'noise density of the gyroscope',
        default=0.01,
        unit='°/s/√Hz',
        lower=1e-6,
        upper=10.0,
        hint='degrees per second per root hertz',
    )
    encoder: float | None = setting(
        'step of the joint positions; they count as exact if not given',
        default=None,
        unit='rad or m',
        lower=1e-12,
        upper=1.0,
        hint='radians, not degrees or counts: 2π over the counts of a turn',
    )
    position: float | None = setting(
        'noise density of the position; its covariance is not known if not given',
        default=None,
        unit='m/√Hz',
        lower=1e-9,
        upper=100.0,
        hint='metres per root hertz: the standard deviation over the root of the rate',
    )
    orientation: float | None = setting(
        'noise density of the orientation; its covariance is not known if not given',
        default=None,
        unit='°/√Hz',
        lower=1e-6,
        upper=100.0,
        hint='degrees per root hertz',
    )


@dataclass(frozen=True)
class Rates:
    """Two rates: joints are differentiated at the first, the dynamics evaluated at the second."""

    actuator: float | None = setting(
        'rate of the joint positions; measured from the stamps if not given',
        default=None,
        unit='Hz',
        lower=1.0,
        upper=50_000.0,
        hint='hertz, not kilohertz',
    )
    bus: float = setting(
        'rate at which the dynamics are evaluated', default=125.0, unit='Hz', lower=1.0,
        upper=10_000.0, hint='hertz, not kilohertz',
    )  # fmt: skip


@dataclass(frozen=True)
class Acd:
    """Actuator coordinate differentiation (sect. 4.4.1)."""

    method: str = setting(
        'difference quotient',
        default='central',
        choices=('central', 'paper', 'savitzky_golay'),
    )
    window: int = setting('samples of the Savitzky–Golay fit (odd)', default=7, lower=3, upper=101)
    degree: int = setting('degree of the Savitzky–Golay fit', default=3, lower=2, upper=4)
    max_gap: float = setting(
        'longest time between samples that is differentiated across',
        default=0.05,
        unit='s',
        lower=1e-4,
        upper=10.0,
        hint='seconds, not milliseconds',
    )
    acceleration_limit: float = setting(
        'joint acceleration beyond which a single sample counts as an outlier',
        default=1000.0,
        unit='rad/s² or m/s²',
        lower=1.0,
        upper=1e7,
    )

    def __post_init__(self) -> None:
        if self.window % 2 == 0 or self.window <= self.degree:
            raise RobotFileError(
                'window must be odd and larger than degree.',
                kind='unsuitable_window', window=self.window, degree=self.degree,
            )  # fmt: skip


@dataclass(frozen=True)
class AngularAcceleration:
    """How the angular acceleration of the root is found (sect. 4.4.1)."""

    method: str = setting(
        'accelerometers: from the array; gyro: difference quotient of the gyroscope; auto: the '
        'array if the robot has one',
        default='auto',
        choices=('auto', 'accelerometers', 'gyro'),
    )


@dataclass(frozen=True)
class RootAcceleration:
    """Where the specific force of the root comes from."""

    source: str = setting(
        'imu: its accelerometer; kinematic: the legs that stand, on level ground; blended: those '
        'below the cross-over frequency, the accelerometer above it',
        default='imu',
        choices=('imu', 'kinematic', 'blended'),
    )
    crossover: float = setting(
        'frequency below which the legs count, for source: blended',
        default=2.0,
        unit='Hz',
        lower=0.01,
        upper=100.0,
        hint='hertz, not rad/s',
    )


@dataclass(frozen=True)
class IrMd:
    """The baseline IR-MD (sect. 4.4.2)."""

    difference: str = setting(
        'difference quotient of the momenta', default='central', choices=('central', 'paper')
    )
    step: str = setting(
        'step of the difference quotient', default='bus', choices=('bus', 'actuator')
    )


@dataclass(frozen=True)
class Filter:
    """Filter that all signals pass, so that the equations of motion still hold between them.

    The alternative to `LowPass`. See `sensing.matched_filter`.
    """

    method: str = setting(
        'matched: the mean over a triangle of half_width; none: unfiltered; auto: matched if '
        'half_width is given, else izmp replay chooses it from the measured noise and nodes do '
        'not filter',
        default='auto',
        choices=('auto', 'matched', 'none'),
    )
    half_width: float | None = setting(
        'half-width of the triangle',
        default=None,
        unit='s',
        lower=1e-4,
        upper=1.0,
        hint='seconds, not milliseconds',
    )
    scatter: float = setting(
        'scatter of the IZMP below which auto and izmp check want it',
        default=0.005,
        unit='m',
        lower=1e-6,
        upper=1.0,
        hint=_METRES,
    )

    def __post_init__(self) -> None:
        if self.method == 'matched' and self.half_width is None:
            raise RobotFileError(
                "method: matched needs the key 'half_width' in seconds; izmp check proposes one.",
                kind='missing_key', keys=('filter.half_width',),
            )  # fmt: skip
        if self.method == 'none' and self.half_width is not None:
            raise RobotFileError(
                'half_width has no effect with method: none; leave one of them out.',
                kind='key_without_effect', key='filter.half_width', method=self.method,
            )  # fmt: skip


@dataclass(frozen=True)
class LowPass:
    """Optional low-pass on all signals, off by default; the alternative to the matched filter."""

    cutoff: float | None = setting(
        'cut-off frequency; off if not given',
        default=None,
        unit='Hz',
        lower=0.01,
        upper=10_000.0,
        hint='hertz, not rad/s or kilohertz',
    )
    order: int = setting('order of the Butterworth filter', default=2, lower=1, upper=8)


@dataclass(frozen=True)
class FallAlarm:
    """When the fall alarm is raised."""

    missed_fall: float = setting(
        'what a missed fall costs, in false alarms: there is reason for the alarm from the '
        'probability of a fall 1 / (1 + 0.1 missed_fall) on',
        default=1.0,
        lower=1e-3,
        upper=1e6,
    )


@dataclass(frozen=True)
class Pairing:
    """How samples of different topics are brought to one instant."""

    max_gap: float = setting(
        'longest time between two samples that is interpolated across',
        default=0.05,
        unit='s',
        lower=0.0,
        upper=10.0,
        hint='seconds, not milliseconds',
    )


@dataclass(frozen=True)
class RobotFile:
    """A robot: its URDF, its signals, its feet, and how to evaluate them."""

    urdf: str = setting('URDF file, relative to this file')
    root: str | None = setting(
        "link that is the floating base and carries the IMU; the URDF's root if not given",
        default=None,
    )
    gravity: float = setting(
        'gravity at the place',
        default=GRAVITY,
        unit='m/s²',
        lower=1.0,
        upper=30.0,
        hint='its magnitude in metres, not centimetres, per second squared',
    )
    joints: Joints = setting('joint positions', factory=Joints)
    imu: Imu = setting('IMU on the root link', factory=Imu)
    accelerometers: tuple[Accelerometer, ...] = setting(
        'further accelerometers on the root link', default=()
    )
    angular_acceleration: AngularAcceleration = setting(
        'angular acceleration of the root', factory=AngularAcceleration
    )
    root_acceleration: RootAcceleration = setting(
        'specific force of the root', factory=RootAcceleration
    )
    position: Position | None = setting('position of the root in the world', default=None)
    feet: tuple[Foot, ...] = setting('the feet', default=())
    ground: Ground = setting('ground plane', factory=Ground)
    noise: Noise = setting('noise densities', factory=Noise)
    rates: Rates = setting('rates', factory=Rates)
    acd: Acd = setting('differentiation of the joint positions', factory=Acd)
    ir_md: IrMd = setting('baseline IR-MD', factory=IrMd)
    filter: Filter = setting('filter matched to the equations of motion', factory=Filter)
    low_pass: LowPass = setting('low-pass filter', factory=LowPass)
    pairing: Pairing = setting('pairing of stamps', factory=Pairing)
    fall_alarm: FallAlarm = setting('fall alarm', factory=FallAlarm)
    path: Path | None = dataclasses.field(default=None, metadata=NOT_IN_FILE)

    def __post_init__(self) -> None:
        mistakes = list(self._mistakes())
        if mistakes:
            raise together(mistakes)

    def _mistakes(self) -> Iterator[RobotFileError]:
        """What does not go together."""
        if '://' in self.urdf:
            yield RobotFileError(
                f"urdf is '{self.urdf}', an address; give the path of the file, relative to this "
                'file or absolute.',
                kind='urdf_is_address', urdf=self.urdf,
            )  # fmt: skip
        if self.low_pass.cutoff is not None and self.filter.half_width is not None:
            yield RobotFileError(
                f'low_pass.cutoff ({self.low_pass.cutoff:g} Hz) and filter.half_width '
                f'({self.filter.half_width:g} s) are both given; leave one of them out.',
                kind='two_filters', keys=('low_pass.cutoff', 'filter.half_width'),
            )  # fmt: skip
        if self.angular_acceleration.method == 'accelerometers' and not self.accelerometers:
            yield RobotFileError(
                'angular_acceleration.method is accelerometers, but there are none; list them '
                'under accelerometers, or use gyro or auto.',
                kind='no_accelerometers',
            )
        if self.root_acceleration.source != 'imu' and not self.feet:
            yield RobotFileError(
                f'root_acceleration.source is {self.root_acceleration.source}, but there are no '
                'feet to stand on; list them under feet, or use imu.',
                kind='no_feet',
            )
        if self.ground.source == 'feet_imus' and not any(foot.imu for foot in self.feet):
            yield RobotFileError(
                'ground.source is feet_imus, but no foot has one; state imu under feet, or use '
                'another source.',
                kind='no_foot_imu',
            )
        feet = [(f'feet[{k}]', foot) for k, foot in enumerate(self.feet)]
        names = {f'{key}.name': foot.name for key, foot in feet}
        soles = {f'{key}.sole': foot.sole for key, foot in feet}
        yield from repeated_names(names | soles | dict(self._topics()))
        if self.imu.from_position and self.position is None:
            yield RobotFileError(
                'imu.from_position is true, but the robot file states no position; state the '
                'topic of the pose as position.topic.',
                kind='no_position', key='imu.from_position',
            )  # fmt: skip

    def topics(self) -> Iterable[str]:
        """Every topic that the robot publishes."""
        return (topic for _, topic in self._topics())

    def _topics(self) -> Iterable[tuple[str, str]]:
        """Every key of a topic, and the topic."""
        yield 'joints.topic', self.joints.topic
        if not self.imu.from_position:
            yield 'imu.topic', self.imu.topic
        for k, sensor in enumerate(self.accelerometers):
            yield f'accelerometers[{k}].topic', sensor.topic
        if self.position is not None:
            yield 'position.topic', self.position.topic
        if self.ground.topic is not None:
            yield 'ground.topic', self.ground.topic
        for k, foot in enumerate(self.feet):
            if foot.wrench is not None:
                yield f'feet[{k}].wrench.topic', foot.wrench.topic
            if foot.imu is not None:
                yield f'feet[{k}].imu.topic', foot.imu.topic

    @property
    def urdf_path(self) -> Path:
        """Path of the URDF; a relative one starts at the robot file, ~ is the home."""
        return (self.path.parent if self.path else Path()) / os.path.expanduser(self.urdf)


def repeated_names(texts: Mapping[str, str]) -> Iterator[RobotFileError]:
    """Find names of feet, soles and topics that are used more than once.

    Args:
        texts: key of the robot file, e.g. 'feet[0].name' → what it states.
    """
    for what, pattern in _UNIQUE.items():
        names = {key: text.strip('/') for key, text in texts.items() if pattern.fullmatch(key)}
        yield from _repeated(what, names)


_UNIQUE = {
    'foot name': re.compile(r'feet\[\d+\]\.name'),
    'sole': re.compile(r'feet\[\d+\]\.sole'),
    'topic': re.compile(r'.+\.topic'),
}


def _repeated(what: str, names: Mapping[str, str]) -> Iterator[RobotFileError]:
    """Find names that stand under two keys; an error points at the second one."""
    seen: dict[str, str] = {}
    for key, name in names.items():
        if name in seen:
            yield RobotFileError(
                f"the {what} '{name}' is used more than once: as {seen[name]} and as {key}.",
                kind='repeated_name', denotes=what, name=name, keys=(seen[name], key),
            )  # fmt: skip
        seen[name] = key


def load_robot_file(
    path: str | Path, urdf: str | Path | None = None, *, with_urdf: bool = False
) -> RobotFile:
    """Read a robot file.

    Args:
        path: the file.
        urdf: URDF to use instead of the one that the file names, relative to the working folder.
        with_urdf: whether links that it names must be in the URDF, which must be there then.

    Raises:
        RobotFileError: if it cannot be read or does not fit; the message names the line.
    """
    path = Path(path)

    def check(texts: Mapping[str, str]) -> Iterator[RobotFileError]:
        unused = 'imu.topic' if 'imu.from_position' in texts else ''
        yield from repeated_names({k: text for k, text in texts.items() if k != unused})
        if with_urdf:
            yield from link_mistakes(texts, path.parent, urdf)

    robot = dataclasses.replace(read_settings(RobotFile, path, check), path=path)
    return dataclasses.replace(robot, urdf=str(Path(urdf).absolute())) if urdf else robot
