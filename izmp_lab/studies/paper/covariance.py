"""First-order covariances of the paper's other setups: gyroscope difference, and IR-MD."""

import numpy as np

from izmp_dynamics.base.conventions import Array, skew
from izmp_dynamics.pipeline.noise_propagation import imu_covariance


def gyro_covariance(
    p_imu_in_root: Array,
    angular_velocity: Array,
    weights: tuple[float, float, float],
    accelerometer_sigma: float,
    gyroscope_sigma: float,
) -> Array:
    """Covariance of φ, ω and ω̇ when ω̇ is a difference quotient of the gyroscope.

    Args:
        p_imu_in_root: (3,) where the IMU sits [m].
        angular_velocity: (K, 3) ω in root axes [rad/s].
        weights: of the samples before, at and after the instant in the quotient [1/s].
        accelerometer_sigma: σ of every axis of the IMU's accelerometer [m/s²].
        gyroscope_sigma: σ of every axis [rad/s].

    Returns:
        (K, 9, 9), in the order φ, ω, ω̇.
    """
    force, gyro = accelerometer_sigma**2 * np.eye(3), gyroscope_sigma**2 * np.eye(3)
    squares = np.array([[1.0, weights[1]], [weights[1], float(np.square(weights).sum())]])
    return imu_covariance(p_imu_in_root, angular_velocity, force, gyro, squares)


def ir_md_covariance(
    mass: float,
    com_in_world: tuple[Array, Array],
    world_R_root: Array,
    p_root_in_world: Array,
    duration: float,
    velocity_sigma: float,
) -> Array:
    """Covariance (K, 6, 6) of IR-MD's contact wrench about the root origin, in root axes.

    Noise δv of the root's velocity moves P by m δv and L by r_COM × m δv (eq. 8).

    Args:
        mass: of the robot [kg].
        com_in_world: (K, 3) centre of mass at the two samples that are differenced [m].
        world_R_root: (K, 3, 3) orientation of the root at the instant of the result.
        p_root_in_world: (K, 3) root origin at that instant [m].
        duration: time between the two samples [s].
        velocity_sigma: σ of every axis of the linear velocity [m/s].
    """
    root_R_world = np.swapaxes(world_R_root, 1, 2)
    covariance = np.zeros((len(world_R_root), 6, 6))
    for com in com_in_world:
        by_velocity = np.empty((len(com), 6, 3))
        by_velocity[:, :3] = root_R_world
        by_velocity[:, 3:] = root_R_world @ skew(com - p_root_in_world)
        squared = by_velocity @ np.swapaxes(by_velocity, 1, 2)
        covariance += (mass * velocity_sigma / duration) ** 2 * squared
    return covariance
