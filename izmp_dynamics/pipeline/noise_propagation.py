"""What noise of the samples does to wrench and IZMP (first order), without a single repetition.

The samples have independent errors σ; a mean with the weights c of its samples, be it of the
matched filter or of a difference quotient, has the variance σ² Σ c² (`gain_of`). Such noise enters
φ, ω and ω̇ of the root and q̈. MR-AD is linear or quadratic in these, so its derivatives come
exactly from one step of a central difference; the ZMP's are written out:

    state → `mr_ad_covariance` → `zmp_covariance`

The paper counts the joints as exact (sect. 6); their quantisation adds to the covariance of the
wrench by `joint_covariance`, through q̈ alone, beside which its parts in q and q̇ vanish.
"""

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array, Stamps, skew
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.method import Acd
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray
from izmp_dynamics.signals.differences import central_quotient, local_polynomial
from izmp_dynamics.signals.matched_filter import kernel_weights
from izmp_dynamics.signals.stamps import nanoseconds

_SPREAD = 0.3


class NoiseGain(NamedTuple):
    """Variances of a signal after the kernel, for samples of variance 1.

    Attributes:
        value: of x [-].
        first: of ẋ [1/s²].
        second: of ẍ [1/s⁴].
    """

    value: float
    first: float
    second: float


def matched_weights(half_width: float, period: float) -> Array:
    """(3, k) weights of even samples in the means of x, ẋ and ẍ of the matched filter.

    Args:
        half_width: of the triangle [s].
        period: of the samples [s].
    """
    reach = int(half_width / period) + 4
    _, weights = kernel_weights(_ticks(reach, period), reach, half_width)
    return weights


def joint_weights(acd: Acd, half_width: float | None, period: float) -> Array:
    """(3, k) weights of even samples in q, q̇ and q̈, by the matched filter if there is one.

    Args:
        acd: which quotients.
        half_width: of the triangle [s]; None: no filter.
        period: of the samples [s].
    """
    if half_width is not None:
        return matched_weights(half_width, period)
    reach = acd.window // 2 if acd.method == 'savitzky_golay' else 1
    stamps, impulses = _ticks(reach, period), np.eye(2 * reach + 1)
    if acd.method == 'savitzky_golay':
        fit = local_polynomial(stamps, impulses, acd.window, acd.degree)
    else:
        fit = central_quotient(stamps, impulses)
    return np.stack([fit.value[reach], fit.first[reach], fit.second[reach]])


def gain_of(weights: Array) -> NoiseGain:
    """Sums of the squares of weights (3, k)."""
    return NoiseGain(*(float(part) for part in np.sum(weights**2, axis=1)))


def overlap(weights: Array, period: float) -> float:
    """Time for which two values of ẋ have samples, and so errors, in common [s].

    Less half a period, by which stamps may jitter.

    Args:
        weights: (3, k) of even samples in x, ẋ and ẍ.
        period: of the samples [s].
    """
    used = np.flatnonzero(weights[1])
    return period * (float(used[-1] - used[0]) + 0.5)


@functools.lru_cache(maxsize=64)
def sample_gain(half_width: float | None, period: float) -> NoiseGain:
    """Gain of a sensor on the root: of the matched filter, or of the central difference.

    Args:
        half_width: of the triangle [s]; None: no filter.
        period: of the samples [s].
    """
    if half_width is None:
        return NoiseGain(1.0, 0.5 / period**2, 6.0 / period**4)
    return gain_of(matched_weights(half_width, period))


def pose_gain(half_width: float | None, period: float) -> NoiseGain:
    """Gain of the pose of the root in what `pose_imu` derives from it and a filter makes of that.

    Args:
        half_width: of the triangle [s]; None: no filter.
        period: of the poses [s].

    Returns:
        Variances for samples of variance 1: of the acceleration by the position [1/s⁴] in place
        of `value`, of ω [1/s²] and of ω̇ [1/s⁴] by the orientation.
    """
    slope = np.array([0.5, 0.0, -0.5]) / period
    mean, first = np.array([1.0]), slope
    if half_width is not None:
        mean, first = matched_weights(half_width, period)[:2]
    derived = (
        np.convolve(mean, np.array([1.0, -2.0, 1.0]) / period**2),
        np.convolve(mean, slope),
        np.convolve(first, slope),
    )
    return NoiseGain(*(float(weights @ weights) for weights in derived))


def quantised_second(weights: Array, step: float, travel: Array) -> Array:
    """Variance of q̈ that the steps of an encoder cause.

    The error of a sample is a saw-tooth of the position. For a joint at constant velocity, which
    travels d steps from one sample to the next, the errors of two samples that are j apart have
    the covariance step² R(j d), R(x) = 1/12 - |x| (1 - |x|) / 2 for |x| ≤ 1 and so on with period
    1. A joint that rests has none, a fast one step² / 12 in each sample: R is averaged over
    velocities that differ by `_SPREAD`, as those in a window do.

    Args:
        weights: (k,) of even samples in q̈ [1/s²].
        step: of the encoder [rad] or [m].
        travel: of the joint from one sample to the next, any shape [rad] or [m].
    """
    grid = np.concatenate([np.linspace(0.0, 0.1, 100), np.linspace(0.1, 1.0, 91)[1:]])
    apart = np.arange(len(weights))[:, None] - np.arange(len(weights))
    around = grid[:, None] * np.linspace(1.0 - _SPREAD, 1.0 + _SPREAD, 9)
    phase = (around[:, :, None, None] * np.abs(apart)) % 1.0
    covariance = np.mean(1.0 / 12.0 - 0.5 * phase * (1.0 - phase), axis=1)
    variance = np.einsum('i,gij,j->g', weights, covariance, weights)
    variance[-1] = np.sum(weights**2) / 12.0
    known = np.maximum(variance, 0.0)
    return np.asarray(step**2 * np.interp(np.abs(travel) / step, grid, known))


def _ticks(reach: int, period: float) -> Stamps:
    return np.asarray(np.arange(-reach, reach + 1) * nanoseconds(period))


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
    return np.asarray(spread @ spread.T + gyroscope_sigma**2 * _squared(by_gyro))


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
    states: Array,
    covariance: Array,
    units: Array | None = None,
    columns: range = range(9),
    step: float = 1.0,
) -> Array:
    """Covariance (K, 6, 6) of MR-AD's contact wrench by errors of its state [N], [N·m].

    Args:
        mr_ad: the kernel.
        states: (K, 9 + 3n) φ, ω, ω̇ of the root, then q, q̇, q̈, see `MrAd.of_states`.
        covariance: (…, C, C) of the numbers that err, by default of φ, ω, ω̇.
        units: (K, S, 9) of other bodies, as there.
        columns: which numbers err, of states and units side by side.
        step: by which these are changed; of q less than one, as the wrench is no polynomial in it.
    """
    width, numbers = states.shape[1], states
    if units is not None:
        numbers = np.hstack([states, units.reshape(len(units), -1)])
    steps = step * np.eye(numbers.shape[1])[columns]
    moved = (numbers + np.stack([steps, -steps])[:, :, None]).reshape(-1, numbers.shape[1])
    if units is not None:
        units = moved[:, width:].reshape(-1, *units.shape[1:])
    wrenches, _ = mr_ad.of_states(moved[:, :width], units)
    after, before = wrenches.reshape(2, len(columns), len(states), -1)
    jacobian = np.moveaxis(0.5 / step * (after - before), 0, 2)
    return np.asarray(jacobian @ covariance @ np.swapaxes(jacobian, 1, 2))


_STATES = 2048
"""Motions whose wrenches are evaluated at a time, each with the motion of all units."""


def joint_covariance(
    mr_ad: MrAd, q: Array, acceleration_sigma: Array, units: Array | None = None
) -> Array:
    """Covariance (K, 6, 6) that errors of q̈ add to MR-AD's contact wrench [N], [N·m].

    The wrench is linear in q̈; where the root is free of motion it is its derivative times q̈.

    Args:
        mr_ad: the kernel.
        q: (K, n).
        acceleration_sigma: (K, n) standard deviation of q̈ [rad/s²] or [m/s²].
        units: (K, S, 9) of `MrAd.of_states`: q̈ of the joints before such a body does not move it.
    """
    count, joints = q.shape
    rows = max(1, _STATES // max(joints, 1))
    if count > rows:
        parts = [slice(begin, begin + rows) for begin in range(0, count, rows)]
        return np.concatenate([
            joint_covariance(
                mr_ad, q[part], acceleration_sigma[part], None if units is None else units[part]
            )
            for part in parts
        ])  # fmt: skip
    states = np.zeros((count, joints, 9 + 3 * joints))
    states[:, :, 9 : 9 + joints] = q[:, None]
    states[:, :, 9 + 2 * joints :] = np.eye(joints)
    if units is not None:
        units = np.repeat(0.0 * units, joints, axis=0)  # NaN where a unit is not known
    wrenches, _ = mr_ad.of_states(states.reshape(count * joints, -1), units)
    by_joints = wrenches.reshape(count, joints, -1).swapaxes(1, 2)
    return _squared(by_joints * acceleration_sigma[:, None, :])


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
    return np.asarray(jacobian @ wrench_covariance @ np.swapaxes(jacobian, 1, 2))


def _solution_by_gyro(array: AccelerometerArray, omega: Array) -> Array:
    """(K, 6, 3) derivative of the array's φ and ω̇ by ω: −gain · d(u·(ω × (ω × p)))/dω."""
    rows = []
    for sensor in array.accelerometers:
        change = _centripetal_by_omega(omega, sensor.p_sensor_in_root)
        rows.append(sensor.axes_in_root @ change)
    return np.asarray(-array.gain @ np.concatenate(rows, axis=1))


def _centripetal_by_omega(omega: Array, p: Array) -> Array:
    """(K, 3, 3) derivative of ω × (ω × p) = ω (ω·p) − p |ω|²."""
    along = (omega @ p)[:, None, None] * np.eye(3)
    return np.asarray(along + omega[:, :, None] * p - 2.0 * p[:, None] * omega[:, None, :])


def _squared(matrices: Array) -> Array:
    return np.asarray(matrices @ np.swapaxes(matrices, 1, 2))
