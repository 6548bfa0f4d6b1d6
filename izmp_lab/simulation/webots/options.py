"""The options of the plugin, and the names of the devices: what stands in the URDF for it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_lab.simulation.physics import Shove
from izmp_lab.walking.walk import GAITS

PADS = '_pads'
"""What follows a foot in the name of the property that names its pads."""


@dataclass(frozen=True)
class DeviceNames:
    """Names of devices.

    A motor is called like its joint.

    Attributes:
        sensor_suffix: what follows a joint in the name of its PositionSensor.
        imu_accelerometer: Accelerometer of the IMU.
        imu_gyro: Gyro of the IMU.
        inertial_unit: InertialUnit of the IMU, which measures its orientation.
        accelerometers: the further Accelerometers, on root and other links, in the order of
            `RobotFile.all_accelerometers`.
        unit_accelerometers: Accelerometers of the IMUs on other links, in the order of the robot
            file.
        unit_gyros: their Gyros.
        gps: GPS; None if the robot file has no position.
        pads: for each foot the TouchSensors at the corners of its sole, in their order; none for
            a foot without a wrench.
    """

    sensor_suffix: str
    imu_accelerometer: str
    imu_gyro: str
    inertial_unit: str
    accelerometers: tuple[str, ...]
    unit_accelerometers: tuple[str, ...]
    unit_gyros: tuple[str, ...]
    gps: str | None
    pads: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, file: RobotFile) -> 'DeviceNames':
        """Name the devices as `make_world` does: by the frames of the robot file."""
        return cls(
            sensor_suffix='_sensor',
            imu_accelerometer=f'{file.imu.frame}_accelerometer',
            imu_gyro=f'{file.imu.frame}_gyro',
            inertial_unit=f'{file.imu.frame}_inertial_unit',
            accelerometers=tuple(
                f'{sensor.frame or sensor.topic}_accelerometer'
                for sensor in file.all_accelerometers
            ),
            unit_accelerometers=tuple(f'{unit.frame}_accelerometer' for unit in file.segments),
            unit_gyros=tuple(f'{unit.frame}_gyro' for unit in file.segments),
            gps=f'{file.position.frame or "root"}_gps' if file.position else None,
            pads=tuple(
                tuple(f'{foot.name}_pad_{corner}' for corner in range(len(foot.polygon)))
                if foot.wrench
                else ()
                for foot in file.feet
            ),
        )

    def renamed(self, names: Mapping[str, str], file: RobotFile) -> 'DeviceNames':
        """Return these names with some replaced.

        Args:
            names: property → name, or names with commas between them.
            file: the robot file; it names the feet.

        Raises:
            SimulationError: if a property names more or fewer devices than there are.
        """
        given: dict[str, Any] = dict(names)
        pads = list(self.pads)
        for index, foot in enumerate(file.feet):
            if foot.name + PADS in given:
                listed = _split(given.pop(foot.name + PADS))
                _check_count(foot.name + PADS, listed, len(foot.polygon), 'corners of the sole')
                pads[index] = listed
        counts = {
            'accelerometers': (len(file.all_accelerometers), 'accelerometers in the robot file'),
            **dict.fromkeys(
                ('unit_accelerometers', 'unit_gyros'),
                (len(file.segments), 'segments in the robot file'),
            ),
        }
        for name in counts.keys() & given.keys():
            given[name] = _split(given[name])
            _check_count(name, given[name], *counts[name])
        return replace(self, pads=tuple(pads), **given)


def name_properties(file: RobotFile) -> tuple[str, ...]:
    """Return the properties that `DeviceNames.renamed` takes."""
    names = (item.name for item in fields(DeviceNames) if item.name != 'pads')
    return (*names, *(foot.name + PADS for foot in file.feet))


def _split(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(','))


def _check_count(name: str, listed: tuple[str, ...], count: int, what: str) -> None:
    if len(listed) != count:
        raise SimulationError(
            f"The property '{name}' names {len(listed)} devices ({', '.join(listed)}), but there "
            f'are {count} {what}; name one for each, with commas between them.',
            kind='device_count',
            property=name,
            given=len(listed),
            needed=count,
        )


NO_GAIT = 'none'


@dataclass(frozen=True)
class Options:
    """What the plugin is asked for; the names are those of the properties.

    Attributes:
        file: the robot file; the property is `robot`, its path.
        devices: what the devices are called; for the properties see `DeviceNames.renamed`.
        gait: the motion: walk, sway or none; with none, the robot waits for a trajectory.
        speed: of the walk [m/s].
        steps: of the walk.
        slope_deg: of the ramp that the walk goes up [°].
        approach: time in which the robot goes to the first posture of a motion [s].
        settle: time for which it holds that posture before it moves on [s].
        push: pushes, as of `izmp simulate walk --push`, with spaces between them.
        push_on: link that is pushed.
        trajectory: topic of JointTrajectory messages.
        namespace: of the node and all topics.
        use_sim_time: stamps are the robot's time; else they begin at the time of day.
        wait_for_listener: begin the motion when the joints' topic has a subscriber.
        quit: end the simulation after the motion, or if it cannot be.
    """

    file: RobotFile
    devices: DeviceNames
    gait: str = 'walk'
    speed: float = 0.3
    steps: int = 20
    slope_deg: float = 0.0
    approach: float = 1.0
    settle: float = 1.0
    push: tuple[Shove, ...] = ()
    push_on: str = 'trunk'
    trajectory: str = 'joint_trajectory'
    namespace: str = ''
    use_sim_time: bool = True
    wait_for_listener: bool = False
    quit: bool = False

    @classmethod
    def read(cls, properties: Mapping[str, str]) -> 'Options':
        """Understand the properties.

        Raises:
            SimulationError: if `robot` is missing or a value is none that the property can have.
            UnknownNameError: if a property or gait does not exist.
            RobotFileError: if the robot file cannot be read.
        """
        if 'robot' not in properties:
            raise SimulationError(
                'The plugin needs the robot file: <plugin …><robot>/path/to/robot.yaml</robot>'
                '</plugin>.',
                kind='no_robot_file',
            )
        path = Path(properties['robot'].strip()).expanduser()
        return cls.of(load_robot_file(path), properties)

    @classmethod
    def of(cls, file: RobotFile, properties: Mapping[str, str]) -> 'Options':
        """Understand the properties for a robot file; `robot` is left out. Raises as `read`."""
        given = {name: text.strip() for name, text in properties.items() if name != 'robot'}
        devices = {name: given.pop(name) for name in name_properties(file) if name in given}
        valid = [item.name for item in fields(cls) if item.name not in ('file', 'devices')]
        for name in given:
            if name not in valid:
                names = ('robot', *valid, *name_properties(file))
                raise UnknownNameError('property', name, names, 'of the plugin')
        link = given.get('push_on', cls.push_on)
        readers: dict[str, Callable[[str], Any]] = {
            'steps': int,
            'push': lambda text: tuple(Shove.parse(push, link) for push in text.split()),
            **dict.fromkeys(('speed', 'slope_deg', 'approach', 'settle'), _number),
            **dict.fromkeys(('use_sim_time', 'wait_for_listener', 'quit'), _boolean),
        }  # fmt: skip
        values = {name: _read(name, text, readers.get(name, str)) for name, text in given.items()}
        if values.get('gait', cls.gait) not in (*GAITS, NO_GAIT):
            raise UnknownNameError('gait', values['gait'], (*GAITS, NO_GAIT))
        return cls(file, DeviceNames.of(file).renamed(devices, file), **values)


def _read(name: str, text: str, reader: Callable[[str], Any]) -> Any:
    try:
        return reader(text)
    except ValueError:
        raise SimulationError(
            f"The property '{name}' of the plugin is '{text}'; {_EXPECTED[reader]} is needed.",
            kind='property_value',
            property=name,
            value=text,
            expected=_EXPECTED[reader],
        ) from None


def _number(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0.0):
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in ('true', 'false'):
        raise ValueError(text)
    return text.lower() == 'true'


_EXPECTED: dict[Any, str] = {
    int: 'a whole number', _boolean: 'true or false', _number: 'a number of 0 or more',
}  # fmt: skip
