"""The robot file: everything about a robot that its URDF does not contain.

`config/robot_example.yaml` is a commented example.

`link_mistakes` lists its mistakes that show against the URDF: links that the robot does not have.
"""

import dataclasses
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import IzmpError, ModelError, RobotFileError, UnknownNameError
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.model.feet import SCALARS, Foot, Ground
from izmp_dynamics.model.method import (
    Acd,
    AngularAcceleration,
    FallAlarm,
    Filter,
    Fusion,
    IrMd,
    Pairing,
    Rates,
)  # fmt: skip
from izmp_dynamics.model.packages import PACKAGE, urdf_at
from izmp_dynamics.model.sensors import Accelerometer, Imu, Joints, Noise, Position, SegmentUnit
from izmp_dynamics.model.settings import NOT_IN_FILE, read_settings, setting, together
from izmp_dynamics.model.signals import IMU, JOINT_STATE, POSES, POSITIONS, WRENCH, Signal
from izmp_dynamics.model.urdf import SUFFIXES, Urdf, read_urdf


def link_mistakes(robot: 'RobotFile', urdf_given: bool) -> Iterator[RobotFileError]:
    """Compare the links that a robot file names with those of its URDF.

    Args:
        robot: the robot file.
        urdf_given: whether the URDF is not the one that the file names.

    Returns:
        The mistakes, each with its `key`.
    """
    try:
        urdf = read_urdf(robot.urdf_path).robot
    except (RobotFileError, ModelError) as error:
        if isinstance(error, RobotFileError):
            yield _mistake('urdf', error)
        elif not urdf_given and error.kind in ('file_absent', 'file_unreadable'):
            yield _mistake('urdf', error, ' A relative path starts at the robot file; --urdf FILE '
                           'takes another URDF.')  # fmt: skip
        return  # others are mistakes of the URDF, not of the robot file
    for key, link in robot.links():
        if link not in urdf.link_map:
            yield _mistake(key, unknown_link(link, urdf.link_map, urdf.name, key))


def unknown_link(
    link: str, links: Collection[str], robot: str, where: str, frame_id: str | None = None
) -> UnknownNameError:
    """Describe a name that is no link of the robot.

    Args:
        link: the name.
        links: of the robot.
        robot: its name.
        where: what names the link.
        frame_id: of the sensor's messages, which may be the right one.
    """
    hint = "'izmp model' with the URDF shows all links."
    if frame_id and frame_id.lstrip('/') in links:
        hint = f"The sensor's messages name '{frame_id.lstrip('/')}', which is one. {hint}"
    return UnknownNameError('link', link, links, f"in robot '{robot}' (named by {where})", hint)


def _mistake(key: str, error: IzmpError, hint: str = '') -> RobotFileError:
    data: dict[str, object] = {'key': key}
    if isinstance(error, UnknownNameError):
        data |= {'denotes': error.denotes, 'name': error.name, 'valid': error.valid}
    return RobotFileError(f'{error}{hint}', kind=error.kind, **data)


@dataclass(frozen=True)
class RobotFile:
    """A robot: its URDF, its signals, its feet, and how to evaluate them."""

    urdf: str = setting('URDF file, relative to this file, or package://PACKAGE/PATH')
    root: str | None = setting(
        "link that is the floating base and carries the IMU; the URDF's root if not given",
        default=None,
    )
    alternative: str | None = setting(
        'robot file, relative to this one, or shipped one, such as go2/lowstate, that says in '
        'which messages joints and IMU are where a recording lacks joints.topic',
        default=None,
    )
    gravity: float = setting(
        'gravity at the place',
        default=GRAVITY, unit='m/s²', lower=1.0, upper=30.0,
        hint='its magnitude in metres, not centimetres, per second squared',
    )  # fmt: skip
    joints: Joints = setting('joint positions', factory=Joints)
    imu: Imu = setting('IMU on the root link', factory=Imu)
    accelerometers: tuple[Accelerometer, ...] = setting(
        'further accelerometers on the root link', default=()
    )
    segments: tuple[SegmentUnit, ...] = setting(
        'gyroscopes and accelerometers on other links', default=(), keyed_by='link'
    )
    angular_acceleration: AngularAcceleration = setting(
        'angular acceleration of the root', factory=AngularAcceleration
    )
    position: Position | None = setting('position of the root in the world', default=None)
    feet: tuple[Foot, ...] = setting('the feet', default=())
    ground: Ground = setting('ground plane', factory=Ground)
    noise: Noise = setting('noise densities', factory=Noise)
    rates: Rates = setting('rates', factory=Rates)
    acd: Acd = setting('differentiation of the joint positions', factory=Acd)
    ir_md: IrMd = setting('baseline IR-MD', factory=IrMd)
    filter: Filter = setting('filter matched to the equations of motion', factory=Filter)
    pairing: Pairing = setting('pairing of stamps', factory=Pairing)
    fall_alarm: FallAlarm = setting('fall alarm', factory=FallAlarm)
    fusion: Fusion = setting('what motion and feet say together', factory=Fusion)
    path: Path | None = dataclasses.field(default=None, metadata=NOT_IN_FILE)

    def __post_init__(self) -> None:
        mistakes = list(self._mistakes())
        if mistakes:
            raise together(mistakes)

    def _mistakes(self) -> Iterator[RobotFileError]:
        """What does not go together."""
        if '://' in self.urdf and not self.urdf.startswith(PACKAGE):
            yield RobotFileError(
                f"urdf is '{self.urdf}', an address; give the path of the file, relative to this "
                'file or absolute, or package://PACKAGE/PATH.',
                kind='urdf_is_address', urdf=self.urdf,
            )  # fmt: skip
        if self.angular_acceleration.method == 'accelerometers' and not self.accelerometers:
            yield RobotFileError(
                'angular_acceleration.method is accelerometers, but there are none; list them '
                'under accelerometers, or use gyro or auto.',
                kind='no_accelerometers',
            )
        balls = [foot.name for foot in self.feet if foot.radius is not None]
        if (
            not balls
            and self.ground.source == 'feet_imus'
            and not any(foot.imu for foot in self.feet)
        ):
            yield RobotFileError(
                'ground.source is feet_imus, but no foot has one; state imu under feet, or use '
                'another source.',
                kind='no_foot_imu',
            )
        if self.ground.source == 'feet_imus' and balls:
            yield RobotFileError(
                f'ground.source: feet_imus needs flat soles, but {list_names(balls)} touch the '
                'ground with balls (radius); use another source.',
                kind='needs_flat_soles', feet=tuple(balls),
            )  # fmt: skip
        yield from self._repeated_names()
        if self.imu.from_position and self.position is None:
            yield RobotFileError(
                'imu.from_position is true, but the robot file states no position; state the '
                'topic of the pose as position.topic.',
                kind='no_position', key='imu.from_position',
            )  # fmt: skip

    def _repeated_names(self) -> Iterator[RobotFileError]:
        """Names of feet, soles and topics that are used more than once.

        A message whose type is stated may give several signals.
        """
        feet = list(enumerate(self.feet))
        signals = [signal for signal in self.signals() if signal.mapping is None]
        scalars = [
            (f'feet[{k}].{kind}.field', scalar)
            for k, foot in feet
            for kind in SCALARS
            if (scalar := getattr(foot, kind)) is not None
        ]
        names = {
            'foot name': {f'feet[{k}].name': foot.name for k, foot in feet},
            'sole': {f'feet[{k}].sole': foot.sole_frame for k, foot in feet},
            'segment': {f'segments[{k}].link': unit.link for k, unit in enumerate(self.segments)},
            'topic': {f'{signal.key}.topic': signal.topic.strip('/') for signal in signals},
            'field': {
                key: f'{scalar.field.partition("*")[0].strip()} of {scalar.topic.strip("/")}'
                for key, scalar in scalars
            },
        }
        for what, stated in names.items():
            seen: dict[str, str] = {}
            for key, name in stated.items():
                if name in seen:
                    yield RobotFileError(
                        f"the {what} '{name}' is used more than once: as {seen[name]} and as "
                        f'{key}.',
                        kind='repeated_name', denotes=what, name=name, keys=(seen[name], key),
                    )  # fmt: skip
                seen[name] = key

    def links(self) -> Iterator[tuple[str, str]]:
        """List the links that the file names, each after its key."""
        if self.root is not None:
            yield 'root', self.root
        for signal in self.signals():
            if signal.frame is not None:
                yield f'{signal.key}.frame', signal.frame.lstrip('/')
        for k, unit in enumerate(self.segments):
            yield f'segments[{k}].link', unit.link
        for k, foot in enumerate(self.feet):
            if isinstance(foot.sole, str):
                yield f'feet[{k}].sole', foot.sole
            else:
                yield f'feet[{k}].sole.link', foot.sole.link
            for kind, load in (('wrench', foot.wrench), ('force', foot.force)):
                if load is not None and load.below is not None:
                    yield f'feet[{k}].{kind}.below', load.below
        if self.ground.frame is not None and not self.ground.moves:
            yield 'ground.frame', self.ground.frame
        if self.fusion.link is not None:
            yield 'fusion.link', self.fusion.link

    def with_wrenches(self, **settings: Any) -> 'RobotFile':
        """This robot with something else stated of all its force sensors, such as a delay [s]."""
        feet = (
            dataclasses.replace(foot, wrench=dataclasses.replace(foot.wrench, **settings))
            if foot.wrench
            else foot
            for foot in self.feet
        )
        return dataclasses.replace(self, feet=tuple(feet))

    def signals(self) -> Iterator[Signal]:
        """List the signals that the robot publishes; an IMU derived from the pose is none."""
        yield Signal(
            'joints', 'joints', self.joints.topic, (self.joints.type or JOINT_STATE,),
            'joint positions', required=True, mapping=self.joints.mapping,
        )  # fmt: skip
        if not self.imu.from_position:
            yield Signal(
                'imu', 'imu', self.imu.topic, (self.imu.type or IMU,),
                'angular velocity and specific force of the root',
                required=True, mounted=True, frame=self.imu.frame, mapping=self.imu.mapping,
            )  # fmt: skip
        if self.position is not None:
            yield Signal(
                'position', 'position', self.position.topic, POSITIONS,
                'position of the root in the world', frame=self.position.frame,
            )  # fmt: skip
        if self.ground.topic is not None:
            yield Signal('ground', 'ground', self.ground.topic, POSES, 'pose of the ground')
        for k, sensor in enumerate(self.accelerometers):
            name = f'accelerometers[{k}]'
            yield Signal(
                name, name, sensor.topic, (IMU,), 'angular acceleration of the root',
                mounted=True, frame=sensor.frame,
            )  # fmt: skip
        for k, unit in enumerate(self.segments):
            yield Signal(
                f'segments[{unit.link}]', f'segments[{k}]', unit.topic, (IMU,),
                'motion of the link', mounted=True, frame=unit.frame, link=unit.link,
            )  # fmt: skip
            for j, sensor in enumerate(unit.accelerometers):
                yield Signal(
                    f'segment_accelerometers[{unit.link}][{j}]',
                    f'segments[{k}].accelerometers[{j}]', sensor.topic, (IMU,),
                    'angular acceleration of the link',
                    mounted=True, frame=sensor.frame, link=unit.link,
                )  # fmt: skip
        for k, foot in enumerate(self.feet):
            if foot.wrench is not None:
                yield Signal(
                    f'feet[{foot.name}]', f'feet[{k}].wrench', foot.wrench.topic, (WRENCH,),
                    'measured contact wrench', mounted=True, frame=foot.wrench.frame,
                )  # fmt: skip
            for key, what in SCALARS.items():
                if (scalar := getattr(foot, key)) is not None:
                    yield Signal(
                        f'feet[{foot.name}]', f'feet[{k}].{key}', scalar.topic, (scalar.type,),
                        what, mapping=scalar.mapping,
                    )  # fmt: skip
            if foot.imu is not None:
                yield Signal(
                    f'foot_imus[{foot.name}]', f'feet[{k}].imu', foot.imu.topic, (IMU,),
                    'inclination of the ground',
                    mounted=True, frame=foot.imu.frame, link=foot.sole_frame,
                )  # fmt: skip

    @property
    def estimates_loads(self) -> bool:
        """Whether the load of some foot is not measured, so that torques of its leg help."""
        return any(foot.wrench is None and foot.force is None for foot in self.feet)

    @property
    def all_accelerometers(self) -> tuple[Accelerometer, ...]:
        """The further accelerometers on the root and on other links."""
        return (*self.accelerometers, *(a for unit in self.segments for a in unit.accelerometers))

    def topics(self) -> list[str]:
        """Every topic that the robot publishes, each once."""
        return list(dict.fromkeys(signal.topic for signal in self.signals()))

    @property
    def urdf_path(self) -> Path:
        """Path of the URDF; a relative one starts at the robot file, ~ is the home.

        Raises:
            RobotFileError: it is one of a package that is not installed.
        """
        return urdf_at(self.urdf, self.path.parent if self.path else Path())

    def read_urdf(self, urdf: Urdf | None = None) -> Urdf:
        """Read the URDF, and add the frames of soles that the file places on links.

        Args:
            urdf: is taken instead of the one that the file names.

        Raises:
            ModelError: if it cannot be read.
            UnknownNameError: if a sole is placed on a link that is not in it.
        """
        urdf = urdf or read_urdf(self.urdf_path)
        for foot in self.feet:
            if not isinstance(foot.sole, str):
                links, key = urdf.robot.link_map, f'feet[{foot.name}].sole.link'
                if foot.sole.link not in links:
                    raise unknown_link(foot.sole.link, links, urdf.robot.name, key)
                urdf = urdf.with_frame(
                    foot.sole_frame, foot.sole.link, foot.sole.xyz, foot.sole.rpy
                )
        return urdf


def robot_file_path(robot: str | Path) -> Path:
    """Return the path of a robot file.

    Args:
        robot: the path, or the name of a robot that is shipped: 'go2' for
            robots/go2/robot.yaml, 'go2/lowstate' for robots/go2/lowstate.yaml.

    Raises:
        UnknownNameError: a name that no shipped robot has.
    """
    path = Path(robot)
    if path.suffix or path.is_absolute() or len(path.parts) > 2 or path.exists():
        return path
    try:
        return find_resource(f'robots/{path if len(path.parts) == 2 else path / "robot"}.yaml')
    except UnknownNameError as error:
        names = [name.split('/')[1] for name in error.valid if name.endswith('/robot.yaml')]
        raise UnknownNameError('robot file or shipped robot', str(path), names) from error


def load_robot_file(
    path: str | Path, urdf: str | Path | None = None, *, with_urdf: bool = False
) -> RobotFile:
    """Read a robot file.

    Args:
        path: the file, or the name of a shipped robot (`robot_file_path`).
        urdf: URDF to use instead of the one that the file names, relative to the working folder.
        with_urdf: whether links that it names must be in the URDF, which must be there then.

    Raises:
        RobotFileError: if it cannot be read or does not fit; the message names the line.
        UnknownNameError: a name that no shipped robot has.
    """
    path = robot_file_path(path)
    if path.suffix.lower() in SUFFIXES:
        raise RobotFileError(
            f"'{path}' is a URDF, not a robot file; 'izmp draft BAG --urdf {path} -o ROBOT.yaml' "
            'makes one.',
            kind='urdf_given', path=path,
        )  # fmt: skip

    def placed(robot: RobotFile) -> RobotFile:
        robot = dataclasses.replace(robot, path=path)
        return dataclasses.replace(robot, urdf=str(Path(urdf).absolute())) if urdf else robot

    def check(robot: RobotFile) -> Iterator[RobotFileError]:
        return link_mistakes(placed(robot), urdf is not None)

    return placed(read_settings(RobotFile, path, check if with_urdf else None))
