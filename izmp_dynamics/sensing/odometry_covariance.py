"""How uncertain pose and velocity of the root are, from the noise of their sensors (first order).

White noise of known standard deviation enters the fixes of the position, the orientation and the
gyroscope. The position of the root origin is that of the fix less the rotated arm between them;
its velocity is a difference quotient of such positions (sect. 4.5). Between two fixes the noise is
less than this, which is not taken into account.
"""

from typing import NamedTuple

import numpy as np

from izmp_dynamics.base.conventions import Array, frozen, skew
from izmp_dynamics.model.sensors import Noise
from izmp_dynamics.sensing.noise import degrees, standard_deviation

QUOTIENTS = {'central': (-0.5, 0.0, 0.5), 'paper': (-1.0, 1.0, 0.0)}
"""Weights of the samples before, at and after an instant in its quotient, by name [1/period]."""


_IDENTITY = frozen(np.eye(3))


class OdometryNoise(NamedTuple):
    """Standard deviations of every axis; 0 where they are not known.

    Attributes:
        position: of a fix [m].
        orientation: about every axis [rad].
        gyroscope: [rad/s].
        weights: of the fixes before, at and after an instant in the velocity [1/s].
    """

    position: float
    orientation: float
    gyroscope: float
    weights: tuple[float, ...]

    @classmethod
    def of(
        cls,
        noise: Noise,
        difference: str,
        fixes: float | None,
        orientations: float | None,
        imu: float | None,
    ) -> 'OdometryNoise':
        """Scatter of the samples of a robot.

        Args:
            noise: densities of its sensors.
            difference: quotient of the velocity, a key of `QUOTIENTS`.
            fixes: time between the positions [s]; None: not known yet.
            orientations: likewise.
            imu: likewise.
        """
        return cls(
            _sigma(noise.position, fixes),
            degrees(_sigma(noise.orientation, orientations)),
            degrees(_sigma(noise.gyroscope, imu)),
            tuple(weight / fixes if fixes else 0.0 for weight in QUOTIENTS[difference]),
        )


def odometry_covariance(
    world_R_root: Array, velocity: Array, arm: Array, noise: OdometryNoise
) -> tuple[Array, Array]:
    """Covariances of pose and twist as nav_msgs/Odometry has them.

    Args:
        world_R_root: (3, 3).
        velocity: (3,) of the root origin in world axes [m/s].
        arm: (3,) from the root origin to the sensor of the position, in root axes [m].
        noise: of the samples.

    Returns:
        (6, 6) of position [m] and rotation about the axes of the world [rad]; (6, 6) of the linear
        [m/s] and the angular velocity [rad/s] in root axes. What is not known is zero.
    """
    pose, twist = np.zeros((2, 6, 6))
    turning = noise.orientation**2
    pose[3:, 3:] = turning * _IDENTITY
    twist[3:, 3:] = noise.gyroscope**2 * _IDENTITY
    if noise.position:
        fix, lever = noise.position**2 * _IDENTITY, world_R_root @ arm
        pose[:3, :3] = fix + turning * _of_turning(lever)  # p = fix − R arm, δ(R arm) = δθ × R arm
        pose[:3, 3:] = turning * skew(lever)
        pose[3:, :3] = pose[:3, 3:].T
        before, at, after = noise.weights
        own = at * arm + velocity @ world_R_root  # the same orientation turns the velocity
        two = before**2 + after**2
        twist[:3, :3] = (two + at**2) * fix
        twist[:3, :3] += turning * (two * _of_turning(arm) + _of_turning(own))
    return pose, twist


def _sigma(density: float | None, period: float | None) -> float:
    """Standard deviation of samples; 0 if density or period is not known."""
    return standard_deviation(density, 1.0 / period) if density and period else 0.0


def _of_turning(lever: Array) -> Array:
    """(3, 3) covariance of δθ × lever (3,), where every component of δθ has the variance 1."""
    return float(lever @ lever) * _IDENTITY - np.multiply.outer(lever, lever)
