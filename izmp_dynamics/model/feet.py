"""Settings of feet, their sensors and the ground."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.sensors import delay_setting, frame_setting, rotation_setting
from izmp_dynamics.model.settings import METRES, setting
from izmp_dynamics.model.signals import FieldMap, clock_setting, field_map

Point = tuple[float, float]


def hull_area(points: Iterable[Point]) -> float:
    """Area of the convex hull of points in any order, by the monotone chain (Andrew, 1979).

    Shapely, which knows it as well, takes 0.04 s to load.
    """
    ordered = sorted(points)
    hull = _below(ordered) + _below(ordered[::-1])
    return 0.5 * sum(
        a[0] * b[1] - b[0] * a[1] for a, b in zip(hull, hull[1:] + hull[:1], strict=True)
    )


def _below(ordered: Sequence[Point]) -> list[Point]:
    """Corners of the hull below points that are sorted by x, without the last one."""
    corners: list[Point] = []
    for point in ordered:
        while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0.0:
            corners.pop()
        corners.append(point)
    return corners[:-1]


def _turn(a: Point, b: Point, c: Point) -> float:
    """Twice the area of the triangle abc, positive counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


LOADED_PART = 0.05
"""Part of the weight from which on a foot, or the ground, carries load, unless stated [-]."""

_LEAST_GAIN = 1e-6  # smallest singular value of a calibration matrix, as part of its largest

SCALARS = {'force': 'normal force of a foot', 'contact': 'whether a foot carries load'}
"""Sensors of a foot that measure a number, by their keys."""

_SMALLEST_SOLE = 1e-6  # [m²]
_BOOL = 0.5


@dataclass(frozen=True)
class FootWrench:
    """The force/torque sensor of a foot."""

    topic: str = setting('topic with geometry_msgs/WrenchStamped')
    frame: str | None = frame_setting()
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
    rotation: tuple[float, float, float] = rotation_setting()
    offset: tuple[float, float, float, float, float, float] = setting(
        'what it reads without load: force [N] and moment [N·m] in the axes of the sensor; it is '
        'subtracted',
        default=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), unit='N, N·m', lower=-1e4, upper=1e4,
    )  # fmt: skip
    matrix: tuple[tuple[float, float, float, float, float, float], ...] | None = setting(
        'calibration matrix (6×6) that the reading less the offset is multiplied by; identity if '
        'not given',
        default=None, lower=-1e3, upper=1e3,
    )  # fmt: skip
    delay: float | None = delay_setting(None)
    time_constant: float | None = setting(
        'of a first-order low-pass that its driver applies, 1/(2π) of its cut-off frequency: '
        '0.053 for 3 Hz; it is undone',
        default=None, unit='s', lower=0.0, upper=0.2, hint='seconds, not milliseconds',
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.matrix is None:
            return
        if len(self.matrix) != 6:
            raise RobotFileError(
                f'matrix needs 6 rows of 6 numbers, not {len(self.matrix)} rows.',
                kind='wrong_length', key='matrix', length=len(self.matrix),
            )  # fmt: skip
        gains = np.linalg.svd(np.array(self.matrix), compute_uv=False)
        if gains[-1] <= _LEAST_GAIN * gains[0]:
            raise RobotFileError(
                'matrix is singular: some forces or moments would be lost. Rows and columns are '
                'Fx, Fy, Fz, Mx, My, Mz; without cross-talk it is diagonal.',
                kind='singular_matrix', key='matrix',
            )  # fmt: skip


@dataclass(frozen=True)
class FootScalar:
    """A number in messages of any type that says what a foot carries."""

    topic: str = setting('topic of the messages')
    type: str = setting('type of the messages, as in ros2 topic info')
    field: str = setting(
        'field that is the force along the normal of the ground, N: of counts times the newtons '
        'of one, such as foot_force[0] * 0.4'
    )
    clock: str = clock_setting()

    def __post_init__(self) -> None:
        _ = self.mapping  # which refuses what does not go together

    @property
    def mapping(self) -> FieldMap | None:
        """Which field it is."""
        return field_map(self, {'field': 1})


@dataclass(frozen=True)
class FootForce(FootScalar):
    """Normal force on a foot as a number."""

    below: str | None = setting(
        'link below the sensor, as of a wrench, under a flat sole: its weight is not measured',
        default=None,
    )


@dataclass(frozen=True)
class FootContact(FootScalar):
    """A number in messages of any type that says whether a foot carries load, not how much."""

    field: str = setting('field that says it: a bool, one of several values, or counts')
    loaded: tuple[float, ...] = setting('values of a foot that carries load', default=())
    loaded_above: float | None = setting(
        'counts, of an unknown unit, above which a foot carries load; 0.5, as for a bool, if '
        'neither is given',
        default=None,
    )

    def __post_init__(self) -> None:
        if self.loaded and self.loaded_above is not None:
            raise RobotFileError(
                'loaded and loaded_above are both given; state the values of a foot that carries '
                'load, or the counts from which on it does.',
                kind='two_thresholds', key='loaded_above',
            )  # fmt: skip
        super().__post_init__()

    @property
    def mapping(self) -> FieldMap | None:
        """Which field it is, and which of its values are those of a loaded foot."""
        found = super().mapping
        flag = not self.loaded and self.loaded_above is None
        above = _BOOL if flag else self.loaded_above
        return found and dataclasses.replace(found, loaded=self.loaded, above=above, flag=flag)


@dataclass(frozen=True)
class FootImu:
    """The IMU in a foot; with it the inclination of the ground is measured."""

    topic: str = setting('topic with sensor_msgs/Imu')
    frame: str | None = frame_setting('link whose frame it measures in, fixed to the sole')
    delay: float = delay_setting()


@dataclass(frozen=True)
class SolePlace:
    """Where a sole is on a link, if none lies in its plane."""

    link: str = setting('link that the sole is fixed to')
    xyz: tuple[float, float, float] = setting(
        'origin of the frame of the sole in that link',
        default=(0.0, 0.0, 0.0), unit='m', lower=-2.0, upper=2.0, hint=METRES,
    )  # fmt: skip
    rpy: tuple[float, float, float] = rotation_setting(
        'how the frame of the sole is turned in that link: roll, pitch, yaw as in URDF'
    )


@dataclass(frozen=True)
class Foot:
    """One foot: its sole and, if it has one, its sensor."""

    name: str = setting('name of the foot, as it appears in results')
    sole: str | SolePlace = setting(
        'link in the plane of the sole, z up; or its place on a link; of a ball its centre'
    )
    polygon: tuple[tuple[float, float], ...] = setting(
        'corners of the sole (x, y) in the frame of the sole link',
        default=(), unit='m', lower=-2.0, upper=2.0, hint=METRES,
    )  # fmt: skip
    radius: float | None = setting(
        'of the ball with which the foot touches the ground, in place of polygon',
        default=None, unit='m', lower=1e-4, upper=0.5, hint=METRES,
    )  # fmt: skip
    wrench: FootWrench | None = setting('force/torque sensor', default=None)
    force: FootForce | None = setting(
        'its normal force as a number, in place of wrench', default=None
    )
    contact: FootContact | None = setting(
        'whether it carries load, where nothing measures how much', default=None
    )
    imu: FootImu | None = setting('IMU in the foot, for ground.source: feet_imus', default=None)

    @property
    def sole_frame(self) -> str:
        """Name of the frame of the sole: a link, which `RobotFile.read_urdf` adds for a place."""
        return self.sole if isinstance(self.sole, str) else f'{self.name}/sole'

    @property
    def sensors(self) -> tuple[str, ...]:
        """Which of its keys state a sensor of its load."""
        return tuple(key for key in ('wrench', *SCALARS) if getattr(self, key) is not None)

    @property
    def normal_only(self) -> bool:
        """Whether nothing but its normal force is measured."""
        return self.force is not None or bool(self.wrench and self.wrench.normal_only)

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        """Corners of the sole in its frame [m]; of a ball its centre."""
        return self.polygon if self.radius is None else ((0.0, 0.0),)

    def __post_init__(self) -> None:
        if len(self.sensors) > 1:
            raise RobotFileError(
                f'{" and ".join(self.sensors)} are given; leave out all but the best of them.',
                kind='two_foot_sensors', key=self.sensors[1],
            )  # fmt: skip
        if (self.radius is None) == (not self.polygon):
            both = 'are both given' if self.polygon else 'are both missing'
            raise RobotFileError(
                f'polygon and radius {both}; a flat sole has a polygon, a foot that touches the '
                'ground with a ball has the radius of the ball.',
                kind='polygon_or_radius', keys=('polygon', 'radius'),
            )  # fmt: skip
        if self.radius is not None:
            if self.force is not None and self.force.below is not None:
                raise RobotFileError(
                    'force.below needs a flat sole; leave it out with radius.',
                    kind='key_without_effect', key='force.below',
                )  # fmt: skip
            if self.imu is not None:
                raise RobotFileError(
                    'imu has no effect with radius, as a ball has no plane; leave it out.',
                    kind='key_without_effect', key='imu',
                )  # fmt: skip
            return
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
        default=0.0, unit='m', lower=-10.0, upper=10.0, hint=METRES,
    )  # fmt: skip
    minimum_force: float | None = setting(
        'normal force below which there is no ZMP (flight); 5 % of the weight if not given',
        default=None, unit='N', lower=0.0, upper=1e5,
    )  # fmt: skip
    contact_force: float | None = setting(
        'normal force from which on a foot counts as loaded; 5 % of the weight if not given',
        default=None, unit='N', lower=0.0, upper=1e5,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.source == 'frame' and self.frame is None:
            raise RobotFileError(
                "source: frame needs the key 'frame', the name of a link.",
                kind='missing_key', keys=('ground.frame',),
            )  # fmt: skip
        without = {'frame': self.frame, 'topic': self.topic, 'height': self.height or None}
        for key, value in without.items() if self.source != 'frame' else ():
            if value is not None:
                raise RobotFileError(
                    f'{key}: {value} has no effect with source: {self.source}; use source: frame '
                    'or leave it out.',
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
