"""Angular acceleration by the difference quotient of the gyroscope (sect. 4.4.1, setup E).

The alternative to the accelerometer array for a robot with an IMU only. The quotient amplifies
the noise of the gyroscope with 1 / Δt; φ at the root origin follows from the accelerometer of the
IMU at the point p by eq. 23: φ_root = f - ω̇ × p - ω × (ω × p).
"""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps, frozen
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.sensing.difference_stage import DifferenceStage
from izmp_dynamics.sensing.root_state import RootState, root_state
from izmp_dynamics.signals.differences import Mask
from izmp_dynamics.signals.imu import finite_or_nan
from izmp_dynamics.signals.stamps import Verdicts


class GyroDifference(DifferenceStage[RootState]):
    """Motion of the root from the gyroscope and the accelerometer of one IMU.

    The angular velocity is the sample itself; only its derivative is computed (paper, sect. 4.4.1,
    setup E).

    Args:
        p_imu_in_root: (3,) position of the IMU in the root frame [m].
        period: nominal time between samples [s].
        options: method ('central'), window (5), degree (2), max_gap (0.05 s) and min_spacing (0.5)
            as of `ActuatorDifferentiator`; with 'paper', the backward quotient counts as the value
            of the later sample.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(self, p_imu_in_root: Array, period: float, **options: Any) -> None:
        super().__init__(6, period, **options)
        self.p_imu_in_root = frozen(p_imu_in_root)

    def batch(
        self, stamps: Stamps, angular_velocity: Array, specific_force: Array
    ) -> tuple[RootState, Verdicts]:
        """Differentiate a log or a window of it.

        Args:
            stamps: (T,) as recorded [ns].
            angular_velocity: (T, 3) gyroscope in root axes [rad/s].
            specific_force: (T, 3) accelerometer in root axes, at the IMU [m/s²].

        Returns:
            The instants that have a quotient; the `StampVerdict` (T,) of each sample (0 if used).

        Raises:
            ShapeError: if an argument has another shape.
        """
        return self._batch(stamps, _samples(angular_velocity, specific_force, len(stamps)))

    def update(self, stamp: int, angular_velocity: Array, specific_force: Array) -> RootState:
        """Take one sample; return the instants that it completes.

        Args:
            stamp: [ns].
            angular_velocity: (3,) gyroscope in root axes [rad/s].
            specific_force: (3,) accelerometer in root axes, at the IMU [m/s²].
        """
        omega, force = np.reshape(angular_velocity, (1, -1)), np.reshape(specific_force, (1, -1))
        return self.extend(np.array([stamp]), omega, force)

    def extend(self, stamps: Stamps, angular_velocity: Array, specific_force: Array) -> RootState:
        """Take the next samples of a stream; return the instants that they complete.

        Args:
            stamps: (T,) in the order of arrival [ns].
            angular_velocity: (T, 3) gyroscope in root axes [rad/s].
            specific_force: (T, 3) accelerometer in root axes, at the IMU [m/s²].
        """
        samples = _samples(angular_velocity, specific_force, len(stamps))
        return self._extend(stamps, samples)

    def _evaluate(self, stamps: Stamps, samples: Array) -> tuple[RootState, Mask]:
        omega, force = samples[:, :3], samples[:, 3:]
        alpha, exists = self._quotient(stamps, omega)
        return motion_from_imu(stamps, omega, alpha, force, self.p_imu_in_root), exists


def motion_from_imu(
    stamps: Stamps,
    angular_velocity: Array,
    angular_acceleration: Array,
    specific_force: Array,
    p_imu_in_root: Array,
) -> RootState:
    """Motion of the root origin from that of its IMU (eq. 23).

    Args:
        stamps: (T,) [ns].
        angular_velocity: (T, 3) ω in root axes [rad/s].
        angular_acceleration: (T, 3) ω̇ in root axes [rad/s²].
        specific_force: (T, 3) in root axes, at the IMU [m/s²].
        p_imu_in_root: (3,) position of the IMU [m].
    """
    omega, alpha, arm = angular_velocity, angular_acceleration, p_imu_in_root
    with np.errstate(over='ignore', invalid='ignore'):
        phi = specific_force - np.cross(alpha, arm) - np.cross(omega, np.cross(omega, arm))
    return root_state(stamps, omega, alpha, phi)


def _samples(angular_velocity: Array, specific_force: Array, rows: int) -> Array:
    for name, value in (
        ('angular_velocity', angular_velocity),
        ('specific_force', specific_force),
    ):
        if np.shape(value) != (rows, 3):
            raise ShapeError(name, f'({rows}, 3)', np.shape(value))
    return finite_or_nan(np.hstack([angular_velocity, specific_force]))
