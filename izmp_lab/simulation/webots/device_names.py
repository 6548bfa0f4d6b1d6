"""What the devices of a robot are called in Webots; worlds are made and robots driven by it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import RobotFile

IMU_ACCELEROMETER, IMU_GYRO, INERTIAL_UNIT = 'imu_accelerometer', 'imu_gyro', 'inertial_unit'
ACCELEROMETERS, GPS, SENSOR_SUFFIX = 'accelerometers', 'gps', 'sensor_suffix'
PADS = '_pads'
"""Properties of the plugin that give devices other names; PADS follows the name of a foot."""


@dataclass(frozen=True)
class DeviceNames:
    """Names of devices.

    A motor is called like its joint.

    Attributes:
        sensor_suffix: what follows a joint in the name of its PositionSensor.
        imu_accelerometer: Accelerometer of the IMU.
        imu_gyro: Gyro of the IMU.
        inertial_unit: InertialUnit of the IMU, which measures its orientation.
        accelerometers: the further Accelerometers, in the order of the robot file.
        gps: GPS; None if the robot file has no position.
        pads: for each foot the TouchSensors at the corners of its sole, in their order; none for
            a foot without a wrench.
    """

    sensor_suffix: str
    imu_accelerometer: str
    imu_gyro: str
    inertial_unit: str
    accelerometers: tuple[str, ...]
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
                f'{sensor.frame or sensor.topic}_accelerometer' for sensor in file.accelerometers
            ),
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
        given = dict(names)
        pads = list(self.pads)
        for index, foot in enumerate(file.feet):
            if foot.name + PADS in given:
                listed = _split(given.pop(foot.name + PADS))
                _check_count(foot.name + PADS, listed, len(foot.polygon), 'corners of the sole')
                pads[index] = listed
        accelerometers = self.accelerometers
        if ACCELEROMETERS in given:
            accelerometers = _split(given.pop(ACCELEROMETERS))
            count = len(file.accelerometers)
            _check_count(ACCELEROMETERS, accelerometers, count, 'accelerometers in the robot file')
        return replace(self, pads=tuple(pads), accelerometers=accelerometers, **given)


def name_properties(file: RobotFile) -> tuple[str, ...]:
    """Return the properties that `DeviceNames.renamed` takes."""
    single = (SENSOR_SUFFIX, IMU_ACCELEROMETER, IMU_GYRO, INERTIAL_UNIT, GPS)
    return (*single, ACCELEROMETERS, *(foot.name + PADS for foot in file.feet))


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
