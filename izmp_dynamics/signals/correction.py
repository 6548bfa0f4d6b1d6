"""What the robot file states about a sensor's errors, taken out of its samples on their way in."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.feet import FootWrench
from izmp_dynamics.model.sensors import Imu
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stamps import nanoseconds


@dataclass(frozen=True)
class Correction:
    """A sample becomes matrix · (reading − offset), and its stamp that of the measured instant.

    Attributes:
        delay: the stamps are so much later than the instants that were measured [ns].
        offset: (m,) reading where there is nothing to measure; None: zero.
        matrix: (m, m); None: identity.
        gyroscope_delay: of an IMU's gyroscope, beyond `delay` [ns].
        time_constant: of a first-order low-pass that the values have passed [ns]. Both
            are left to `stream_filter.lag_compensation`, which has the samples before and after.
    """

    delay: int = 0
    offset: Array | None = None
    matrix: Array | None = None
    gyroscope_delay: int = 0
    time_constant: int = 0

    @classmethod
    def of_delay(cls, delay: float) -> 'Correction':
        """Correct the stamps alone, by a delay [s]."""
        return cls(nanoseconds(delay))

    @classmethod
    def of_imu(cls, imu: Imu) -> 'Correction':
        """Correct samples (6,) of an IMU, in its axes."""
        offset = np.array([*imu.gyroscope_bias, *imu.accelerometer_bias])
        return cls(
            nanoseconds(imu.delay or 0.0),
            frozen(offset) if offset.any() else None,
            gyroscope_delay=nanoseconds(imu.gyroscope_delay),
        )

    @classmethod
    def of_wrench(cls, wrench: FootWrench) -> 'Correction':
        """Correct samples (6,) of a force/torque sensor, into the axes of its frame."""
        matrix = np.eye(6) if wrench.matrix is None else np.array(wrench.matrix)
        if wrench.normal_only:
            matrix = matrix @ np.diag([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        matrix = np.kron(np.eye(2), wrench.sign * from_rpy(wrench.rotation)) @ matrix
        same = np.array_equal(matrix, np.eye(6))
        return cls(
            nanoseconds(wrench.delay or 0.0),
            frozen(wrench.offset) if any(wrench.offset) else None,
            None if same else frozen(matrix),
            time_constant=nanoseconds(wrench.time_constant or 0.0),
        )

    @property
    def slope_over(self) -> int:
        """Time before and after an instant over which a slope undoes the low-pass [ns].

        That is so up to five times its cut-off frequency, as noise grows by what it undoes: here
        by up to 3.7 times, if it is white.
        """
        return self.time_constant // 5

    @property
    def around(self) -> tuple[int, int]:
        """Time before and after an instant from which its values are taken [ns]."""
        delay, slope = self.gyroscope_delay, self.slope_over
        return max(-delay, slope), max(delay, slope)

    def timing(self) -> 'Correction':
        """Correct the stamps alone, for what the sensor also measures."""
        return Correction(self.delay)

    def apply(self, samples: Samples) -> Samples:
        """Correct samples (T, m); a stamp that was never set stays so."""
        stamps, values = samples.stamps, samples.values
        if self.delay:
            stamps = np.where(stamps > 0, stamps - self.delay, stamps)
        if self.offset is not None:
            values = values - self.offset
        if self.matrix is not None:
            values = values @ self.matrix.T
        return Samples(stamps, values)


def offset_without(wrench: FootWrench, excess: Array) -> Array:
    """The offset (6,) in the axes of the sensor that takes away what it reads in excess.

    Args:
        wrench: what the robot file states about the sensor.
        excess: (6,) reading without load, corrected by that, in the axes of its frame [N, N·m].
    """
    matrix = Correction.of_wrench(wrench).matrix
    reading = excess if matrix is None else np.linalg.pinv(matrix) @ excess
    return np.array(wrench.offset) + reading


NO_CORRECTION = Correction()
"""Of a sensor without known errors."""
