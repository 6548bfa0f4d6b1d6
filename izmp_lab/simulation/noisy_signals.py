"""Copies of the ideal sensor signals with the white noise of real sensors (paper, sect. 4.6).

Noise is added to gyroscope, accelerometers and, with the density of the accelerometers as in the
paper, to the velocity of the root, which only IR-MD needs. That velocity is the difference
quotient of the GPS positions; so the noise of a position is the sum of those of all velocities
before it, and the quotient of successive positions has white noise. Orientation, joint positions
and foot sensors stay ideal, as in the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import SimulationError, UnknownNameError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.sensing.noise import (
    XSENS_ACCELEROMETER,
    XSENS_GYROSCOPE,
    WhiteNoise,
    standard_deviation,
)
from izmp_lab.simulation.simulated_run import ImuSignals, SimulatedRun


@dataclass(frozen=True)
class SensorNoise:
    """Noise densities of an inertial measurement unit.

    Attributes:
        name: of the unit.
        accelerometer: [m/s²/√Hz].
        gyroscope: [rad/s/√Hz].
    """

    name: str
    accelerometer: float
    gyroscope: float


SENSOR_NOISE: Mapping[str, SensorNoise] = {
    noise.name: noise
    for noise in (SensorNoise('xsens_mti20', XSENS_ACCELEROMETER, XSENS_GYROSCOPE),)
}
"""Name → densities as in the data sheet (see `sensing.noise`)."""


def sensor_noise(name: str) -> SensorNoise:
    """Return the noise of a unit by its name.

    Raises:
        UnknownNameError: if it is not in SENSOR_NOISE.
    """
    if name not in SENSOR_NOISE:
        raise UnknownNameError('sensor noise', name, SENSOR_NOISE)
    return SENSOR_NOISE[name]


@dataclass(frozen=True)
class NoisySignals:
    """Noisy copies of a run's signals.

    Attributes:
        noise: whose noise.
        seed: of the noise.
        sigma_acceleration: standard deviation of the accelerations [m/s²].
        sigma_angular_velocity: standard deviation of the angular velocities [rad/s].
        imu: with the ideal orientation.
        accelerometers: topic → (T, 3) specific force [m/s²].
        position: (T, 3) GPS position in the world [m]; None without GPS.
    """

    noise: SensorNoise
    seed: int
    sigma_acceleration: float
    sigma_angular_velocity: float
    imu: ImuSignals
    accelerometers: Mapping[str, Array]
    position: Array | None


def add_noise(run: SimulatedRun, file: RobotFile, noise: SensorNoise, seed: int) -> NoisySignals:
    """Copy the signals of a run and add noise.

    Args:
        run: with ideal signals.
        file: the robot file; it names the signals.
        noise: the densities.
        seed: the same seed gives the same noise.

    Raises:
        SimulationError: if the run has less than two samples, and so no rate.
        SensingError: if the seed is negative.
    """
    if len(run) < 2:
        raise SimulationError(
            'Noise depends on the sample rate; a run of one sample has none.',
            kind='no_sample_rate',
            samples=len(run),
        )
    period = float(run.stamps[1] - run.stamps[0]) / NANOSECONDS

    def white(signal: str, density: float) -> Array:
        return WhiteNoise(seed, signal, density, 1.0 / period).batch(len(run))

    imu, topic = run.imu, file.imu.topic
    position = run.position
    if position is not None and file.position is not None:
        velocity = white(f'{file.position.topic}/velocity', noise.accelerometer)
        position = position + period * np.cumsum(velocity, axis=0)
    return NoisySignals(
        noise=noise,
        seed=seed,
        sigma_acceleration=standard_deviation(noise.accelerometer, 1.0 / period),
        sigma_angular_velocity=standard_deviation(noise.gyroscope, 1.0 / period),
        imu=ImuSignals(
            imu.angular_velocity + white(f'{topic}/angular_velocity', noise.gyroscope),
            imu.specific_force + white(f'{topic}/linear_acceleration', noise.accelerometer),
            imu.orientation_xyzw.copy(),
        ),
        accelerometers={
            name: signal + white(f'{name}/linear_acceleration', noise.accelerometer)
            for name, signal in run.accelerometers.items()
        },
        position=position,
    )
