"""How uncertain the IZMP is, from the noise densities of the sensors alone (first order).

White noise of known standard deviation enters φ, ω and ω̇ of the root and q̈ (MR-AD) or the
root's linear velocity (IR-MD). Both kernels are linear or quadratic in these, so their derivatives
come exactly from one step of a central difference; the ZMP's derivative is written out. What
results is a covariance of the IZMP at every instant, without a single repetition:

    state → `mr_ad_covariance` or `ir_md_covariance` → `zmp_covariance`

The paper counts the joints as exact (sect. 6); their quantisation adds to the covariance of the
wrench by `joint_covariance`, through q̈ alone, beside which its parts in q and q̇ vanish.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, skew
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray


def array_covariance(
    array: AccelerometerArray,
    angular_velocity: Array,
    accelerometer_sigma: npt.ArrayLike,
    gyroscope_sigma: float,
) -> Array:
    """Covariance of φ, ω and ω̇ that an accelerometer array and a gyroscope give.

    Args:
        array: the array.
        angular_velocity: (K, 3) ω in root axes [rad/s].
        accelerometer_sigma: σ of every reading, one or (M,) [m/s²].
        gyroscope_sigma: σ of every axis [rad/s].

    Returns:
        (K, 9, 9), in the order φ (3) [m/s²], ω (3) [rad/s], ω̇ (3) [rad/s²].
    """
    gain = np.vstack([array.gain[:3], np.zeros((3, array.gain.shape[1])), array.gain[3:]])
    spread = gain * np.broadcast_to(accelerometer_sigma, array.gain.shape[1:])
    by_gyro = np.zeros((len(angular_velocity), 9, 3))
    by_gyro[:, 3:6] = np.eye(3)
    by_gyro[:, [0, 1, 2, 6, 7, 8]] = _solution_by_gyro(array, angular_velocity)
    covariance: Array = spread @ spread.T + gyroscope_sigma**2 * _squared(by_gyro)
    return covariance


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


def imu_covariance(
    p_imu_in_root: Array,
    angular_velocity: Array,
    force_covariance: Array,
    gyroscope_covariance: Array,
    squares: Array,
) -> Array:
    """Covariance of φ, ω and ω̇ of the root from one IMU, whose samples pass a kernel.

    Args:
        p_imu_in_root: (3,) where the IMU sits [m].
        angular_velocity: (K, 3) ω in root axes [rad/s].
        force_covariance: (3, 3) of the specific force after the kernel, in root axes [m²/s⁴].
        gyroscope_covariance: (3, 3) of a sample of the gyroscope, in root axes [rad²/s²].
        squares: (2, 2) sums over the samples of the products of their weights in ω and ω̇.

    Returns:
        (K, 9, 9), in the order φ, ω, ω̇.
    """
    count = len(angular_velocity)
    by_omega, by_alpha = np.zeros((2, count, 9, 3))
    by_omega[:, :3] = -_centripetal_by_omega(angular_velocity, p_imu_in_root)
    by_omega[:, 3:6] = np.eye(3)
    by_alpha[:, :3] = skew(p_imu_in_root)  # φ = f − ω̇ × p − ω × (ω × p), and −ω̇ × p = p × ω̇
    by_alpha[:, 6:] = np.eye(3)
    covariance = np.zeros((count, 9, 9))
    covariance[:, :3, :3] = force_covariance
    for i, left in enumerate((by_omega, by_alpha)):
        for j, right in enumerate((by_omega, by_alpha)):
            covariance += squares[i, j] * (left @ gyroscope_covariance @ np.swapaxes(right, 1, 2))
    return covariance


def mr_ad_covariance(
    mr_ad: MrAd,
    proper_acceleration: Array,
    angular_velocity: Array,
    angular_acceleration: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    root_covariance: Array,
) -> Array:
    """Covariance (K, 6, 6) of MR-AD's contact wrench [N], [N·m].

    Args:
        mr_ad: the kernel.
        proper_acceleration: (K, 3) φ [m/s²]; with the further ones the state, as for `MrAd`.
        angular_velocity: (K, 3) ω [rad/s].
        angular_acceleration: (K, 3) ω̇ [rad/s²].
        q: (K, n).
        qd: (K, n).
        qdd: (K, n).
        root_covariance: (K, 9, 9) of φ, ω, ω̇.
    """
    jacobian = wrench_by_root(
        mr_ad, proper_acceleration, angular_velocity, angular_acceleration, q, qd, qdd
    )
    covariance: Array = jacobian @ root_covariance @ np.swapaxes(jacobian, 1, 2)
    return covariance


def wrench_by_root(
    mr_ad: MrAd,
    proper_acceleration: Array,
    angular_velocity: Array,
    angular_acceleration: Array,
    q: Array,
    qd: Array,
    qdd: Array,
) -> Array:
    """(K, 6, 9) derivative of MR-AD's contact wrench by φ, ω, ω̇; arguments as for `MrAd`."""
    root = np.hstack([proper_acceleration, angular_velocity, angular_acceleration])
    jacobian = np.empty((len(root), 6, 9))
    for column in range(9):
        both = []
        for sign in (1.0, -1.0):
            moved = root.copy()
            moved[:, column] += sign
            wrench, _ = mr_ad.batch(moved[:, :3], moved[:, 3:6], moved[:, 6:], q, qd, qdd)
            both.append(wrench.as_array())
        jacobian[:, :, column] = 0.5 * (both[0] - both[1])
    return jacobian


def wrench_by_joints(mr_ad: MrAd, q: Array) -> Array:
    """(K, 6, n) derivative of MR-AD's contact wrench by q̈, at positions (K, n).

    The wrench is linear in q̈; where the root is free of motion it is this derivative times q̈.
    """
    count, joints = q.shape
    at = np.repeat(q, joints, axis=0)
    still, none = np.zeros((len(at), 3)), np.zeros_like(at)
    unit = np.tile(np.eye(joints), (count, 1))
    wrench, _ = mr_ad.batch(still, still, still, at, none, unit)
    derivative: Array = wrench.as_array().reshape(count, joints, 6).swapaxes(1, 2)
    return derivative


def joint_covariance(mr_ad: MrAd, q: Array, acceleration_sigma: Array) -> Array:
    """Covariance (K, 6, 6) that errors of q̈ add to MR-AD's contact wrench [N], [N·m].

    Args:
        mr_ad: the kernel.
        q: (K, n).
        acceleration_sigma: (K, n) standard deviation of q̈ [rad/s²] or [m/s²].
    """
    return _squared(wrench_by_joints(mr_ad, q) * acceleration_sigma[:, None, :])


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
        covariance += (mass * velocity_sigma / duration) ** 2 * _squared(by_velocity)
    return covariance


def zmp_covariance(
    wrench: ContactWrench, wrench_covariance: Array, normal: Array, ground_point: Array
) -> Array:
    """Covariance of the zero-moment point of an uncertain wrench.

    Args:
        wrench: (K,) about the origin of the frame.
        wrench_covariance: (K, 6, 6) [N], [N·m].
        normal: (K, 3) unit normal of the ground.
        ground_point: (K, 3) a point of the ground [m].

    Returns:
        (K, 3, 3) [m²], in the axes of the wrench; it has no part along the normal.
    """
    height = np.sum(normal * ground_point, axis=1)[:, None, None]
    force = np.sum(normal * wrench.force, axis=1)[:, None, None]
    point = (np.cross(normal, wrench.moment) + height[:, 0] * wrench.force) / force[:, 0]
    by_force = height * np.eye(3) - point[:, :, None] * normal[:, None, :]
    jacobian = np.concatenate([by_force, skew(normal)], axis=2) / force
    covariance: Array = jacobian @ wrench_covariance @ np.swapaxes(jacobian, 1, 2)
    return covariance


def _solution_by_gyro(array: AccelerometerArray, omega: Array) -> Array:
    """(K, 6, 3) derivative of the array's φ and ω̇ by ω: −gain · d(u·(ω × (ω × p)))/dω."""
    rows = []
    for sensor in array.accelerometers:
        change = _centripetal_by_omega(omega, sensor.p_sensor_in_root)
        rows.append(sensor.axes_in_root @ change)
    derivative: Array = -array.gain @ np.concatenate(rows, axis=1)
    return derivative


def _centripetal_by_omega(omega: Array, p: Array) -> Array:
    """(K, 3, 3) derivative of ω × (ω × p) = ω (ω·p) − p |ω|²."""
    along = (omega @ p)[:, None, None] * np.eye(3)
    derivative: Array = along + omega[:, :, None] * p - 2.0 * p[:, None] * omega[:, None, :]
    return derivative


def _squared(matrices: Array) -> Array:
    product: Array = matrices @ np.swapaxes(matrices, 1, 2)
    return product
