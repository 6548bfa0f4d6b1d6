"""Copies of the ideal sensor signals with the white noise of real sensors (paper, sect. 4.6).

Noise is added to gyroscope, accelerometers and, with the density of the accelerometers as in the
paper, to the velocity of the root, which only IR-MD needs. That velocity is the difference
quotient of the GPS positions; so the noise of a position is the sum of those of all velocities
before it, and the quotient of successive positions has white noise. Orientation, joint positions
and foot sensors stay ideal, as in the paper.

Noise depends on the seed, the signal's name and the index of the sample, and on nothing else:
adding a signal, or processing a log in windows, does not change any other number.
"""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import SensingError, SimulationError, UnknownNameError
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER, degrees, standard_deviation
from izmp_lab.simulation.simulated_run import ImuSignals, SimulatedRun
from izmp_lab.walking.plan import interpolated

_BLOCK = 4096

XSENS_GYROSCOPE = degrees(0.01)
"""Gyroscope noise density of Xsens MTi units [rad/s/√Hz]: 0.01 °/s/√Hz.

Source: the same user manual and data sheet, for the MTi 100-series. Check the page of your own
unit: the manual lists the 10-series, to which the MTi-20 belongs, in a table of its own.
"""


class WhiteNoise:
    """Reproducible white noise of one signal.

    Args:
        seed: of the experiment; the same seed gives the same noise.
        name: of the signal, e.g. 'imu/angular_velocity'.
        density: noise density ν [unit/√Hz].
        rate: sample rate f [Hz].
        width: components of the signal; they are independent.

    Raises:
        SensingError: an impossible density, rate or seed.
    """

    def __init__(self, seed: int, name: str, density: float, rate: float, width: int = 3) -> None:
        if seed < 0:
            raise SensingError(
                f'The seed of noise must be zero or more, not {seed}.', kind='seed', seed=seed
            )
        self.sigma = standard_deviation(density, rate)
        self.width = width
        digest = hashlib.sha256(name.encode()).digest()
        self._key = [seed, *np.frombuffer(digest[:16], dtype='<u4').tolist()]
        self._next = 0
        self._cached: tuple[int, Array] | None = None

    def batch(self, count: int, first: int = 0) -> Array:
        """Noise of the samples `first` to `first + count - 1`.

        Returns:
            (count, width) [unit].
        """
        if count <= 0:
            return np.empty((0, self.width))
        blocks = range(first // _BLOCK, (first + count - 1) // _BLOCK + 1)
        noise = np.concatenate([self._block(block) for block in blocks])
        start = first - blocks[0] * _BLOCK
        return self.sigma * noise[start : start + count]

    def update(self) -> Array:
        """Noise (width,) of the next sample."""
        sample: Array = self.batch(1, self._next)[0]
        self._next += 1
        return sample

    def _block(self, block: int) -> Array:
        if self._cached is None or self._cached[0] != block:
            generator = np.random.default_rng([*self._key, block])
            self._cached = (block, generator.standard_normal((_BLOCK, self.width)))
        return self._cached[1]


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
        segments: topic → (T, 6) angular velocity [rad/s] and specific force [m/s²].
    """

    noise: SensorNoise
    seed: int
    sigma_acceleration: float
    sigma_angular_velocity: float
    imu: ImuSignals
    accelerometers: Mapping[str, Array]
    position: Array | None
    segments: Mapping[str, Array]


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
        segments=_noisy_units(run, noise, seed),
    )


def _noisy_units(run: SimulatedRun, noise: SensorNoise, seed: int) -> dict[str, Array]:
    """Signals of the units on other links with noise, by topic."""
    rate = NANOSECONDS / float(run.stamps[1] - run.stamps[0])
    densities = {'angular_velocity': noise.gyroscope, 'linear_acceleration': noise.accelerometer}
    return {
        topic: signal
        + np.hstack(
            [
                WhiteNoise(seed, f'{topic}/{name}', density, rate).batch(len(run))
                for name, density in densities.items()
            ]
        )
        for topic, signal in run.segments.items()
    }


Vector = tuple[float, float, float]


@dataclass(frozen=True)
class WrenchErrors:
    """Errors of a force/torque sensor; what it reads is rotationᵀ · scale · wrench + offset.

    Attributes:
        delay: of its stamps [s].
        offset: (6,) in its axes [N], [N·m].
        rotation: roll, pitch, yaw frame_R_sensor [rad].
        scale: of everything; −1 turns the sign.
        noise: standard deviation of force [N] and, a tenth of it in metres, of moment [N·m].
    """

    delay: float = 0.0
    offset: tuple[float, ...] = (0.0,) * 6
    rotation: Vector = (0.0, 0.0, 0.0)
    scale: float = 1.0
    noise: float = 0.0


@dataclass(frozen=True)
class SensorErrors:
    """Errors of the sensors of a robot.

    Attributes:
        imu_delay: of its stamps [s].
        gyroscope_delay: of the gyroscope, beyond that [s].
        imu_rotation: roll, pitch, yaw frame_R_sensor [rad].
        gyroscope_bias: in its axes [rad/s].
        accelerometer_bias: in its axes [m/s²].
        imu_noise: noise of the IMU and of the units on other links; none if None.
        encoder_bits: steps of the joint positions, 2π / 2^bits; exact if None.
        feet: foot → errors of its sensor.
    """

    imu_delay: float = 0.0
    gyroscope_delay: float = 0.0
    imu_rotation: Vector = (0.0, 0.0, 0.0)
    gyroscope_bias: Vector = (0.0, 0.0, 0.0)
    accelerometer_bias: Vector = (0.0, 0.0, 0.0)
    imu_noise: SensorNoise | None = None
    encoder_bits: int | None = None
    feet: Mapping[str, WrenchErrors] = field(default_factory=dict)


def with_errors(
    run: SimulatedRun, file: RobotFile, errors: SensorErrors, seed: int = 0
) -> SimulatedRun:
    """Return a run whose sensors have errors; its truth stays.

    Args:
        run: with ideal sensors.
        file: the robot file that it was simulated with.
        errors: what is wrong.
        seed: of the noise.
    """
    random = np.random.default_rng(seed)
    rate = NANOSECONDS / float(run.stamps[1] - run.stamps[0])
    turn = from_rpy(errors.imu_rotation)
    omega, force = (
        _delayed(run, values, delay) @ turn
        for values, delay in (
            (run.imu.angular_velocity, errors.imu_delay + errors.gyroscope_delay),
            (run.imu.specific_force, errors.imu_delay),
        )
    )
    omega, force = omega + errors.gyroscope_bias, force + errors.accelerometer_bias
    if errors.imu_noise is not None:
        noise = errors.imu_noise
        omega = omega + WhiteNoise(seed, 'gyroscope', noise.gyroscope, rate).batch(len(run))
        force = force + WhiteNoise(seed, 'force', noise.accelerometer, rate).batch(len(run))
    segments = run.segments
    if errors.imu_noise is not None:
        segments = _noisy_units(run, errors.imu_noise, seed)
    q = run.q
    if errors.encoder_bits is not None:
        step = 2.0 * np.pi / 2**errors.encoder_bits
        q = step * np.round(q / step)
    wrenches = dict(run.wrenches)
    for foot in file.feet:
        if foot.wrench and foot.name in errors.feet:
            wrong = errors.feet[foot.name]
            values = _delayed(run, wrenches[foot.wrench.topic], wrong.delay)
            turned = (values.reshape(-1, 2, 3) @ from_rpy(wrong.rotation)).reshape(-1, 6)
            white = random.normal(0.0, wrong.noise, turned.shape) * [1, 1, 1, 0.1, 0.1, 0.1]
            wrenches[foot.wrench.topic] = wrong.scale * turned + wrong.offset + white
    imu = dataclasses.replace(run.imu, angular_velocity=omega, specific_force=force)
    return dataclasses.replace(run, q=q, imu=imu, wrenches=wrenches, segments=segments)


def _delayed(run: SimulatedRun, values: Array, delay: float) -> Array:
    """What stamps that are late by a delay [s] show."""
    times = (run.stamps - run.stamps[0]) / NANOSECONDS
    return interpolated(times - delay, times, values)
