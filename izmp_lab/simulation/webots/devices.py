"""The devices of a robot in Webots: found by name, switched on, read at every step.

A sensor's value before its first sample is not a measurement: nan, or, for the InertialUnit's
quaternion, uninitialised memory. So nothing counts before a whole sampling period has passed
and every value is finite.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, cross
from izmp_dynamics.base.errors import IzmpError, SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.feet import Foot
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.simulation.simulated_run import ImuSignals, SensorSignals
from izmp_lab.simulation.webots.options import DeviceNames

PATIENCE = 1.0
"""Time after which a sensor without a measurement is left out [s]."""

_FORCE_3D = 2
_UNIT = 1e-3


@dataclass(frozen=True)
class Reading:
    """The sensor values after one step; None for what is missing.

    Positions, velocities and orientation are those of the step's end. Accelerations and forces are
    those that acted during the step: Webots differences velocities and reads the solver's forces.

    Attributes:
        time: of the robot, at the step's end [s].
        q: (n,) of the joints that have a sensor [rad] or [m].
        angular_velocity: (3,) [rad/s].
        orientation_xyzw: (4,) world_R_imu.
        position: (3,) of the GPS in the world [m].
        specific_force: (3,) of the IMU [m/s²].
        accelerometers: (3,) each, in the order of `RobotFile.all_accelerometers` [m/s²].
        units: for each IMU on another link (2, 3) angular velocity and specific force.
        pads: for each foot (corners, 3) forces on the robot in the sole's axes [N].
    """

    time: float
    q: Array
    angular_velocity: Array | None
    orientation_xyzw: Array | None
    position: Array | None
    specific_force: Array | None
    accelerometers: tuple[Array | None, ...]
    units: tuple[Array | None, ...]
    pads: tuple[Array | None, ...]


class Devices:
    """The devices of one robot.

    Args:
        robot: controller.Robot or Supervisor.
        file: the robot file; it names topics.
        names: what the devices are called.
        joints: joints of the model.
        warn: takes a sentence that says what is missing.

    Attributes:
        period: time between two samples [s].
        joints: those that have a PositionSensor.
        motors: joint → Motor.
    """

    def __init__(
        self,
        robot: Any,
        file: RobotFile,
        names: DeviceNames,
        joints: tuple[str, ...],
        warn: Callable[[str], None],
    ) -> None:
        self.robot, self.warn = robot, warn
        self._milliseconds = int(robot.getBasicTimeStep())
        self.period = 1e-3 * self._milliseconds
        count = robot.getNumberOfDevices()
        self._known = {
            str(device.getName()): device
            for device in (robot.getDeviceByIndex(index) for index in range(count))
        }
        self._lost: dict[str, list[str]] = {}
        self._enabled_at: float = robot.getTime()
        self._settled = False
        self.motors = {
            name: motor
            for name in joints
            if (motor := self._find('Motor', name, 'its joint cannot be moved')) is not None
        }
        absent = f'{file.joints.topic} lacks the joint'
        sensors = {
            name: self._find('PositionSensor', name + names.sensor_suffix, absent)
            for name in joints
        }
        self._positions = {name: sensor for name, sensor in sensors.items() if sensor is not None}
        self._imu = self._group(
            (('Accelerometer', names.imu_accelerometer), ('Gyro', names.imu_gyro),
             ('InertialUnit', names.inertial_unit)), file.imu.topic,
        )  # fmt: skip
        self._accelerometers = [
            self._find('Accelerometer', name, f'{sensor.topic} is not published')
            for name, sensor in zip(names.accelerometers, file.all_accelerometers, strict=True)
        ]
        of_units = zip(file.segments, names.unit_gyros, names.unit_accelerometers, strict=True)
        self._units = [
            self._group((('Gyro', gyro), ('Accelerometer', accelerometer)), unit.topic)
            for unit, gyro, accelerometer in of_units
        ]
        self._gps = None
        if names.gps and file.position:
            self._gps = self._find('GPS', names.gps, f'{file.position.topic} is not published')
        self._pads = [
            self._group([('TouchSensor', name) for name in pads], foot.wrench.topic)
            if foot.wrench and pads
            else None
            for foot, pads in zip(file.feet, names.pads, strict=True)
        ]
        self._tell_lost()

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that have a PositionSensor."""
        return tuple(self._positions)

    def read(self) -> Reading | None:
        """Read all sensors; None until each of them has measured something."""
        waited = self.robot.getTime() - self._enabled_at
        if not self._settled:
            # A sensor's first measurement is there after its first whole period.
            if waited < 1.5 * self.period:
                return None
            missing = self._without_value()
            if missing and waited < PATIENCE:
                return None
            self._leave_out(missing)
            self._settled = True
        return self._reading()

    def _reading(self) -> Reading:
        force = gyro = orientation = None
        if self._imu:
            force, gyro = (np.array(device.getValues()[:3]) for device in self._imu[:2])
            orientation = np.array(self._imu[2].getQuaternion()[:4])
        return Reading(
            time=self.robot.getTime(),
            q=np.array([sensor.getValue() for sensor in self._positions.values()]),
            angular_velocity=gyro,
            orientation_xyzw=orientation,
            position=_vector(self._gps),
            specific_force=force,
            accelerometers=tuple(_vector(device) for device in self._accelerometers),
            units=tuple(_vectors(unit) for unit in self._units),
            pads=tuple(_vectors(pads) for pads in self._pads),
        )

    def _find(self, kind: str, name: str, consequence: str) -> Any:
        """Return a device, switched on; None if there is none of this kind."""
        device = self._known.get(name)
        if device is None or type(device).__name__ != kind:
            other = '' if device is None else f' (that is a {type(device).__name__})'
            self._lost.setdefault(consequence, []).append(f"{kind} '{name}'{other}")
            return None
        if kind == 'TouchSensor' and device.getType() != _FORCE_3D:
            lost = f"TouchSensor '{name}' of type force-3d (it is of another type)"
            self._lost.setdefault(consequence, []).append(lost)
            return None
        if kind != 'Motor':
            device.enable(self._milliseconds)
        return device

    def _group(self, wanted: Any, topic: str) -> list[Any] | None:
        """Return devices that make one signal together; None if one is missing."""
        found = [self._find(kind, name, f'{topic} is not published') for kind, name in wanted]
        return None if any(device is None for device in found) else found

    def _tell_lost(self) -> None:
        if not self._lost:
            return
        parts = [
            f'no {", no ".join(names)}, so {consequence}'
            for consequence, names in self._lost.items()
        ]
        self.warn(
            f"The robot '{self.robot.getName()}' in Webots has {'; '.join(parts)}. Its devices: "
            f'{", ".join(self._known) or "none"}.'
        )

    def _without_value(self) -> list[str]:
        values: list[tuple[Any, Any]] = [
            (sensor, sensor.getValue()) for sensor in self._positions.values()
        ]
        units = [device for unit in self._units for device in unit or ()]
        for device in (*(self._imu or ())[:2], *self._accelerometers, *units, self._gps):
            if device is not None:
                values.append((device, device.getValues()[:3]))
        for pads in self._pads:
            values.extend((pad, pad.getValues()[:3]) for pad in pads or ())
        missing = [device.getName() for device, value in values if not np.isfinite(value).all()]
        if self._imu:
            norm = np.linalg.norm(self._imu[2].getQuaternion()[:4])
            if not abs(norm - 1.0) < _UNIT:
                missing.append(self._imu[2].getName())
        return missing

    def _leave_out(self, missing: list[str]) -> None:
        """Go on without sensors that measure nothing."""
        if not missing:
            return
        self.warn(
            f'After {PATIENCE:g} s, these devices have measured nothing, and what needs them is '
            f'not published: {", ".join(missing)}. Has the solid that carries them a Physics node?'
        )
        left_out = set(missing)

        def works(device: Any) -> bool:
            return device is not None and device.getName() not in left_out

        self._positions = {name: item for name, item in self._positions.items() if works(item)}
        self._imu, *self._units = (
            group if all(map(works, group or [None])) else None
            for group in (self._imu, *self._units)
        )
        self._accelerometers = [item if works(item) else None for item in self._accelerometers]
        self._gps = self._gps if works(self._gps) else None
        self._pads = [pads if all(map(works, pads or [None])) else None for pads in self._pads]


def _vector(device: Any) -> Array | None:
    return None if device is None else np.array(device.getValues()[:3])


def _vectors(devices: list[Any] | None) -> Array | None:
    return np.array([device.getValues()[:3] for device in devices]) if devices else None


_MICROSECONDS = 1_000_000


class Sampler:
    """Makes samples of readings.

    Args:
        model: the robot.
        file: the robot file.
        joints: the joints that the readings hold.
        period: time between two readings [s].
        origin: what is added to the robot's time to make a stamp [ns].

    Raises:
        SimulationError: if a foot's wrench is to be in a frame that is not fixed to its sole.
        UnknownNameError: if a frame does not exist.
    """

    def __init__(
        self,
        model: RobotModel,
        file: RobotFile,
        joints: tuple[str, ...],
        period: float,
        origin: int = 0,
    ) -> None:
        self.file, self.joints, self.period, self.origin = file, joints, period, origin
        self._soles = [_Sole(model, foot) if foot.wrench else None for foot in file.feet]
        self._before: Reading | None = None

    def update(self, reading: Reading) -> SensorSignals | None:
        """Take the reading after a step; return the sample of the instant at which it began.

        None for the first reading, and after a gap or a reset of the simulation.
        """
        before, self._before = self._before, reading
        if before is None or abs(reading.time - before.time - self.period) > 0.5 * self.period:
            return None
        file = self.file
        imu = None
        if reading.specific_force is not None and before.angular_velocity is not None:
            imu = ImuSignals(
                before.angular_velocity[None],
                reading.specific_force[None],
                np.empty((1, 4)) if before.orientation_xyzw is None
                else before.orientation_xyzw[None],
            )  # fmt: skip
        return SensorSignals(
            joint_names=self.joints,
            stamps=np.array([self._stamp(before.time)]),
            q=before.q[None],
            effort=None,
            imu=imu,
            accelerometers={
                sensor.topic: force[None]
                for sensor, force in zip(
                    file.all_accelerometers, reading.accelerometers, strict=True
                )
                if force is not None
            },
            segments={
                unit.topic: np.hstack([earlier[0], now[1]])[None]
                for unit, earlier, now in zip(
                    file.segments, before.units, reading.units, strict=True
                )
                if earlier is not None and now is not None
            },
            position=None if before.position is None else before.position[None],
            wrenches={
                foot.wrench.topic: sole.wrench(forces)[None]
                for foot, sole, forces in zip(file.feet, self._soles, reading.pads, strict=True)
                if foot.wrench and sole is not None and forces is not None
            },
        )

    def _stamp(self, time: float) -> int:
        """A stamp [ns]; the robot's time [s] is a whole number of microseconds."""
        return self.origin + round(time * _MICROSECONDS) * (NANOSECONDS // _MICROSECONDS)


def with_possible_wrenches(
    file: RobotFile, model: RobotModel, warn: Callable[[str], None]
) -> RobotFile:
    """Return the robot file without wrenches that pads cannot measure; warn of each."""
    feet = []
    for foot in file.feet:
        possible = foot
        if foot.wrench:
            try:
                _Sole(model, foot)
            except IzmpError as error:
                warn(f'{foot.wrench.topic} is not published. {error}')
                possible = replace(foot, wrench=None)
        feet.append(possible)
    return replace(file, feet=tuple(feet))


class _Sole:
    """The corners of a sole, and the frame of its wrench."""

    def __init__(self, model: RobotModel, foot: Foot) -> None:
        assert foot.wrench is not None
        frame = foot.wrench.frame or foot.sole_frame
        sole, sensor = model.mount(foot.sole_frame), model.mount(frame)
        if sole.body != sensor.body:
            raise SimulationError(
                f"The wrench of '{foot.name}' is to be given in frame '{frame}', which is not "
                f"fixed to the sole '{foot.sole_frame}'; name a frame of the same foot.",
                kind='frame_of_other_link',
                foot=foot.name,
                frame=frame,
            )
        self.corners = np.array([[x, y, 0.0] for x, y in foot.polygon])
        self.R = sensor.body_R_frame.T @ sole.body_R_frame
        self.p = sensor.body_R_frame.T @ (sole.p_frame_in_body - sensor.p_frame_in_body)
        self.sign = foot.wrench.sign

    def wrench(self, forces: Array) -> Array:
        """Wrench (6,) [N], [N·m] of forces (corners, 3) [N] at the corners, in the sole's axes."""
        total = ContactWrench(forces.sum(axis=0), cross(self.corners, forces).sum(axis=0))
        return self.sign * total.transformed(self.R, self.p).as_array()
