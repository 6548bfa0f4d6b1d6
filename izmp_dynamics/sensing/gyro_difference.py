"""Angular acceleration by the difference quotient of the gyroscope (sect. 4.4.1, setup E).

The alternative to the accelerometer array for a robot with an IMU only. The quotient amplifies
the noise of the gyroscope with 1 / Δt; φ at the root origin follows from the accelerometer of the
IMU at the point p by eq. 23: φ_root = f - ω̇ × p - ω × (ω × p).
"""

from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array, Stamps, frozen
from izmp_dynamics.sensing.difference_stage import DifferenceStage
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.signals.differences import Mask


class GyroDifference(DifferenceStage[RootState]):
    """Motion of the root from the gyroscope and the accelerometer of one IMU.

    The angular velocity is the sample itself; only its derivative is computed (paper, sect. 4.4.1,
    setup E). Samples consist of the angular velocity (T, 3) in root axes [rad/s] and the specific
    force (T, 3) in root axes, at the IMU [m/s²].

    Args:
        p_imu_in_root: (3,) position of the IMU in the root frame [m].
        period: nominal time between samples [s].
        options: of the difference quotient, as of `DifferenceStage`.

    Raises:
        SensingError: a parameter that makes no sense.
    """

    def __init__(self, p_imu_in_root: Array, period: float, **options: Any) -> None:
        inputs = {'angular_velocity': (3,), 'specific_force': (3,)}
        super().__init__(inputs, period, **options)
        self.p_imu_in_root = frozen(p_imu_in_root)

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
    return RootState(stamps, omega, alpha, phi)
