"""Errors of sensors that are known exactly, planted in a simulated run: what calibration finds."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.sensing.noise import WhiteNoise
from izmp_lab.simulation.noisy_signals import SensorNoise
from izmp_lab.simulation.simulated_run import SimulatedRun

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
        imu_noise: noise of the IMU; none if None.
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
    return dataclasses.replace(run, q=q, imu=imu, wrenches=wrenches)


def _delayed(run: SimulatedRun, values: Array, delay: float) -> Array:
    """What stamps that are late by a delay [s] show."""
    times = (run.stamps - run.stamps[0]) / NANOSECONDS
    return np.stack([np.interp(times - delay, times, column) for column in values.T], axis=1)
