"""What a setup sees of a walk: ideal readings, white noise, samples and their quotients."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.accelerometer_array import Accelerometer, AccelerometerArray
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.gyro_difference import GyroDifference
from izmp_dynamics.sensing.localizer import Localizer
from izmp_dynamics.sensing.noise import degrees, micro_g, standard_deviation
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.differences import Derivatives, backward_quotient, central_quotient
from izmp_lab.simulation.noisy_signals import WhiteNoise
from izmp_lab.studies.paper.trial import Setup, WalkTruth

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

    def used(self, setup: Setup) -> tuple[Accelerometer, ...]:
        """The accelerometers that a setup reads."""
        everything = setup.angular_acceleration == 'accelerometers'
        return self.accelerometers if everything else (self.imu,)

    def proper_acceleration(self, trial: WalkTruth) -> Array:
        """(T, 3) true φ of the root origin in root axes [m/s²]."""
        upward = np.array([0.0, 0.0, self.gravity])
        phi: Array = np.einsum('tji,tj->ti', trial.rotation, trial.acceleration + upward)
        return phi

    def readings(
        self, trial: WalkTruth, sensor: Accelerometer, rows: Rows, averaged: bool = False
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


def white_noise(
    noise: Densities | None, name: str, seed: int, rate: float, count: int, width: int = 3
) -> Array:
    """(count, width) noise of 'gyroscope', 'velocity' or an accelerometer; zero without noise.

    The linear velocity [m/s] has the accelerometer's number.
    """
    if noise is None:
        return np.zeros((1, width))
    density = degrees(noise.gyroscope) if name == 'gyroscope' else micro_g(noise.accelerometer)
    return WhiteNoise(seed, name, density, rate, width).batch(count)


GAP = 1.5
"""Quotients reach across this many steps, that is never across a missing sample."""


@dataclass(frozen=True)
class SampledRows:
    """Which samples of a trial a setup sees.

    Attributes:
        actuator: (N,) rows of the trial at the actuator rate.
        bus: (K,) indices into `actuator`: the samples that reach the bus.
    """

    actuator: Rows
    bus: Rows

    @classmethod
    def of(cls, trial: WalkTruth, setup: Setup, phase: int = 0) -> 'SampledRows':
        """Sample a trial.

        Args:
            trial: the trial.
            setup: its rates must divide the trial's.
            phase: index of a row that reaches the bus.
        """
        stride = trial.stride(setup.actuator)
        first = phase % stride
        actuator = np.arange(first, len(trial), stride)
        bus = np.arange((phase - first) // stride % setup.stride, len(actuator), setup.stride)
        return cls(actuator, bus)

    @property
    def rows(self) -> Rows:
        """(K,) rows of the trial that reach the bus."""
        return self.actuator[self.bus]

    def differenced(self, setup: Setup) -> Rows:
        """Indices into `actuator`: the samples that momentum or gyroscope are differenced at."""
        return self.bus if setup.step == 'bus' else np.arange(len(self.actuator))


@dataclass(frozen=True)
class JointState:
    """Joints at (N,) instants: (N, n) each; NaN where a quotient lacks a neighbour."""

    q: Array
    qd: Array
    qdd: Array

    def paired(self, setup: Setup, rows: Rows) -> 'JointState':
        """Pair q, q̇ and q̈ as they are evaluated together with the sensors of the root.

        The convention 'paper' takes q̈ with the stamp of the newest of its samples, one later
        than the instant that it belongs to. Its accelerometers lag as well: they report the mean
        over the interval before.
        """
        qdd = self.qdd[rows]
        if setup.convention == 'paper':
            qdd = np.where((rows > 0)[:, None], self.qdd[rows - 1], np.nan)
        return JointState(self.q[rows], self.qd[rows], qdd)


def joint_state(setup: Setup, stamps: Stamps, q: Array) -> JointState:
    """ACD of exact encoder values (N, n) at the actuator rate, each result at its instant."""
    period = 1.0 / setup.actuator
    acd = ActuatorDifferentiator(
        [f'joint {i}' for i in range(q.shape[1])],
        period,
        method=setup.quotient,
        max_gap=GAP * period,
        acceleration_limit=None,
    )
    found = acd.batch(stamps, q)
    first, second = (
        _in_rows(stamps, found.stamps, values)
        for values in (found.velocities, found.accelerations)
    )
    return JointState(q, first, second)


def gyro_state(
    setup: Setup, p_imu_in_root: Array, stamps: Stamps, omega: Array, force: Array
) -> RootState:
    """Root state (K,) from gyroscope and accelerometer of the IMU, both (K, 3) in root axes."""
    step = setup.sample_step
    stage = GyroDifference(p_imu_in_root, step, method=setup.quotient, max_gap=GAP * step)
    found = stage.batch(stamps, omega, force)
    alpha, phi = (
        _in_rows(stamps, found.stamps, values)
        for values in (found.angular_acceleration, found.proper_acceleration)
    )
    return RootState(stamps, omega, alpha, phi)


def root_velocity(setup: Setup, stamps: Stamps, position: Array, rotation: Array) -> Array:
    """(N, 3) linear velocity of the root as the Localizer takes it, at the actuator rate [m/s]."""
    period = 1.0 / setup.actuator
    stage = Localizer(np.zeros(3), period, method=setup.quotient, max_gap=GAP * period)
    found = stage.batch(stamps, position, rotation)
    return _in_rows(stamps, found.stamps, found.linear_velocity)


def gyro_weights(setup: Setup) -> tuple[float, float, float]:
    """Weights of the samples before, at and after an instant in ω̇ there [1/s]."""
    stamps = np.round(np.arange(3) * setup.sample_step * 1e9).astype(np.int64)
    quotient = central_quotient if setup.quotient == 'central' else paper_quotient
    before, at, after = quotient(stamps, np.eye(3)).first[1]
    return float(before), float(at), float(after)


def _in_rows(stamps: Stamps, found: Stamps, values: Array) -> Array:
    """(N, m) the values in the rows of their stamps; NaN in the other rows."""
    rows = np.full((len(stamps), values.shape[1]), np.nan)
    rows[np.searchsorted(stamps, found)] = values
    return rows


def paper_quotient(stamps: Stamps, values: Array) -> Derivatives:
    """First and second derivative as the paper takes them, in the row of their instant.

    The paper differences twice with the step of the samples (sect. 4.4.1 and 4.5): first
    q̇ = (q_k - q_(k-1)) / Δt, then the change of q̇ over Δt. Both come with the newest sample, but
    eqs. 9 and 11 want all quantities at one instant, and the second derivative is centred on the
    middle of its three samples. Row k therefore holds the backward quotient q̇_k and
    (q̇_(k+1) - q̇_k) / Δt. A simulator that steps the velocity before the position (semi-implicit
    Euler) has exactly these two at k. The paper's own messages pair q̈ with the sample after.

    Args:
        stamps: (T,) strictly increasing [ns].
        values: (T, m) the signal.
    """
    central = central_quotient(stamps, values)
    first, _ = backward_quotient(stamps, values)
    return central._replace(first=np.where(central.valid[:, None], first, np.nan))
