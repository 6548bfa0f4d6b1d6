"""Which samples of a trial a setup sees, and the quotients that the package takes of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.sensing.gyro_difference import GyroDifference
from izmp_dynamics.sensing.localizer import Localizer
from izmp_dynamics.sensing.root_state import RootState, root_state
from izmp_dynamics.signals.differences import central_quotient, paper_quotient
from izmp_lab.studies.paper.setups import Setup
from izmp_lab.studies.paper.trial import Trial

Rows = npt.NDArray[np.intp]

GAP = 1.5
"""Quotients reach across this many steps, that is never across a missing sample."""


@dataclass(frozen=True)
class Samples:
    """Which samples of a trial a setup sees.

    Attributes:
        actuator: (N,) rows of the trial at the actuator rate.
        bus: (K,) indices into `actuator`: the samples that reach the bus.
    """

    actuator: Rows
    bus: Rows

    @classmethod
    def of(cls, trial: Trial, setup: Setup, phase: int = 0) -> 'Samples':
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
    found, _ = acd.batch(stamps, q)
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
    found, _ = stage.batch(stamps, omega, force)
    alpha, phi = (
        _in_rows(stamps, found.stamps, values)
        for values in (found.angular_acceleration, found.proper_acceleration)
    )
    return root_state(stamps, omega, alpha, phi)


def root_velocity(setup: Setup, stamps: Stamps, position: Array, rotation: Array) -> Array:
    """(N, 3) linear velocity of the root as the Localizer takes it, at the actuator rate [m/s]."""
    period = 1.0 / setup.actuator
    stage = Localizer(np.zeros(3), period, method=setup.quotient, max_gap=GAP * period)
    found, _ = stage.batch(stamps, position, rotation)
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
