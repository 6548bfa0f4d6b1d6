"""The sensors on the root as the experiments see them: ideal readings and white noise."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.accelerometer import Accelerometer
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray
from izmp_dynamics.sensing.noise import WhiteNoise, degrees, micro_g, standard_deviation
from izmp_lab.studies.paper.setups import Setup
from izmp_lab.studies.paper.trial import Trial

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Densities:
    """Noise densities of the sensors (sect. 4.6).

    Attributes:
        accelerometer: [µg/√Hz]; its σ is also that of the linear velocity, in m/s.
        gyroscope: [°/s/√Hz].
    """

    accelerometer: float = 60.0
    gyroscope: float = 0.01

    def accelerometer_sigma(self, rate: float) -> float:
        """σ of an accelerometer [m/s²], and of the linear velocity [m/s], at a rate [Hz]."""
        return standard_deviation(micro_g(self.accelerometer), rate)

    def gyroscope_sigma(self, rate: float) -> float:
        """σ of the gyroscope [rad/s] at a rate [Hz]."""
        return standard_deviation(degrees(self.gyroscope), rate)


@dataclass(frozen=True)
class RootSensors:
    """IMU and accelerometers of a robot.

    Attributes:
        accelerometers: that of the IMU first.
        array: solves for φ and ω̇.
        gravity: magnitude [m/s²].
    """

    accelerometers: tuple[Accelerometer, ...]
    array: AccelerometerArray
    gravity: float

    @classmethod
    def of(cls, rig: Rig) -> 'RootSensors':
        """Take the sensors of a robot.

        Raises:
            SensingError: if its accelerometers do not observe the angular acceleration.
        """
        if not rig.accelerometers:
            raise SensingError(
                'The experiments compare the angular acceleration from accelerometers with that '
                "from the gyroscope, but the robot file lists no 'accelerometers'; list three.",
                kind='no_accelerometers',
            )
        sensors = tuple(
            Accelerometer(mount.name, mount.R, mount.p, np.eye(3)[list(mount.axes)])
            for mount in (rig.imu, *rig.accelerometers)
        )
        return cls(sensors, AccelerometerArray(sensors), rig.robot.gravity)

    @property
    def imu(self) -> Accelerometer:
        """The accelerometer of the IMU."""
        return self.accelerometers[0]

    def at_distance(self, distance: float) -> 'RootSensors':
        """Return the same sensors, the further ones at `distance` [m] from the IMU."""
        centre = self.imu.p_sensor_in_root
        moved = []
        for sensor in self.accelerometers[1:]:
            arm = sensor.p_sensor_in_root - centre
            place = centre + distance * arm / np.linalg.norm(arm)
            moved.append(dataclasses.replace(sensor, p_sensor_in_root=place))
        sensors = (self.imu, *moved)
        return RootSensors(sensors, AccelerometerArray(sensors), self.gravity)

    def used(self, setup: Setup) -> tuple[Accelerometer, ...]:
        """The accelerometers that a setup reads."""
        everything = setup.angular_acceleration == 'accelerometers'
        return self.accelerometers if everything else (self.imu,)

    def proper_acceleration(self, trial: Trial) -> Array:
        """(T, 3) true φ of the root origin in root axes [m/s²]."""
        upward = np.array([0.0, 0.0, self.gravity])
        phi: Array = np.einsum('tji,tj->ti', trial.rotation, trial.acceleration + upward)
        return phi

    def readings(
        self, trial: Trial, sensor: Accelerometer, rows: Rows, averaged: bool = False
    ) -> Array:
        """Ideal readings of an accelerometer.

        Args:
            trial: the trial.
            sensor: where it sits.
            rows: (N,) its samples, rows of the trial.
            averaged: whether it reports, as Webots does, the change of its velocity since its
                sample before divided by the time between, and not the instant.

        Returns:
            (N, k) along its sensitive axes [m/s²]; NaN for the first sample if averaged.
        """
        p, w = sensor.p_sensor_in_root, trial.angular_velocity[rows]
        if averaged:
            world_R_root = trial.rotation[rows]
            turning = np.einsum('tij,tj->ti', world_R_root, np.cross(w, p))
            velocity = trial.velocity[rows] + turning
            change = np.full_like(velocity, np.nan)
            change[1:] = np.diff(velocity, axis=0) / np.diff(trial.times[rows])[:, None]
            change[:, 2] += self.gravity
            force = np.einsum('tji,tj->ti', world_R_root, change)
        else:
            alpha = trial.angular_acceleration[rows]
            force = self.proper_acceleration(trial)[rows] + np.cross(alpha, p)
            force = force + np.cross(w, np.cross(w, p))
        return sensor.readings(force @ sensor.root_R_sensor)

    def accelerometer_noise(
        self, sensor: Accelerometer, noise: Densities | None, seed: int, rate: float, count: int
    ) -> Array:
        """(count, k) noise of an accelerometer [m/s²]; zero without noise."""
        width = len(sensor.axes)
        if noise is None:
            return np.zeros((1, width))
        return WhiteNoise(seed, sensor.name, micro_g(noise.accelerometer), rate, width).batch(
            count
        )

    def gyro_noise(self, noise: Densities | None, seed: int, rate: float, count: int) -> Array:
        """(count, 3) noise of the gyroscope [rad/s]; zero without noise."""
        if noise is None:
            return np.zeros((1, 3))
        return WhiteNoise(seed, 'gyroscope', degrees(noise.gyroscope), rate).batch(count)

    def velocity_noise(self, noise: Densities | None, seed: int, rate: float, count: int) -> Array:
        """(count, 3) noise of the linear velocity [m/s], with the accelerometer's number."""
        if noise is None:
            return np.zeros((1, 3))
        return WhiteNoise(seed, 'velocity', micro_g(noise.accelerometer), rate).batch(count)
