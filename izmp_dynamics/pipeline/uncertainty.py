"""How uncertain MR-AD's contact wrench and IZMP are, from the noise of the sensors alone.

    evaluator = Evaluator(recording.rig, recording.groups, recording.periods)
    for result in evaluator.push(signals):
        covariance = izmp_covariance(evaluator, result)  # (K, 3, 3) in the root frame [m²]

Nothing is repeated and nothing is fitted: see `noise_propagation`. The noise of the samples passes
the matched filter if there is one. What it does not know of is everything but white noise of IMU
and accelerometers and the steps of the encoders: a wrong model, a sliding foot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.feet import mr_ad_states
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    gain_of,
    imu_covariance,
    joint_covariance,
    joint_weights,
    mr_ad_covariance,
    pose_gain,
    quantised_second,
    sample_gain,
    zmp_covariance,
)
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.sensing.noise import degrees, micro_g, standard_deviation

_STEP = 1e-4
"""Of difference quotients by q [rad] or [m]."""


class JointSpeeds:
    """Mean speed of the joints, to know how often they take a step of their encoders.

    A slow joint takes one now and then; between two of them its velocity seems to be zero.

    Args:
        memory: time over which the mean fades [s].
    """

    def __init__(self, memory: float) -> None:
        self._memory = memory
        self._mean: Array | None = None
        self._last = 0

    def update(self, stamps: Stamps, velocities: Array) -> Array:
        """Take the velocities (K, n) at the next instants (K,) [ns]; return the mean speeds."""
        means = np.empty_like(velocities)
        for k, (stamp, speed) in enumerate(zip(stamps.tolist(), np.abs(velocities), strict=True)):
            speed = np.nan_to_num(speed)
            if self._mean is None:
                self._mean = speed
            faded = np.exp(-abs(stamp - self._last) / NANOSECONDS / self._memory)
            self._last, self._mean = stamp, speed + faded * (self._mean - speed)
            means[k] = self._mean
        return means


@dataclass(frozen=True)
class SampleNoise:
    """Standard deviations of the samples.

    Attributes:
        force: (S, 3) of the accelerometers in their axes, the IMU's first; in an array the mean
            of the squares over the axes of each counts [m/s²].
        gyroscope: (3,) in the axes of the IMU [rad/s].
        joints: (n,) of the positions [rad] or [m].
        step: of the encoders, which adds to it while a joint moves [rad] or [m].
        of_pose: whether the IMU is derived from a pose, of which `force` is the noise of the
            position [m] and `gyroscope` that of the orientation [rad], the same in all axes.
    """

    force: Array
    gyroscope: Array
    joints: Array
    step: float = 0.0
    of_pose: bool = False

    @classmethod
    def of(cls, robot: RobotFile, periods: Sequence[float], dof: int) -> 'SampleNoise':
        """What the robot file states.

        Args:
            robot: the robot file.
            periods: of the samples of the accelerometers, the IMU's first [s].
            dof: number of joints.
        """
        noise = robot.noise
        density = micro_g(noise.accelerometer)
        force = [[standard_deviation(density, 1.0 / period)] * 3 for period in periods]
        gyro = standard_deviation(degrees(noise.gyroscope), 1.0 / periods[0])
        return cls(np.array(force), np.full(3, gyro), np.zeros(dof), noise.encoder or 0.0)


def filtered_covariance(
    evaluator: Evaluator,
    result: Evaluated,
    noise: SampleNoise | None,
    half_width: float | None,
    speeds: JointSpeeds | None = None,
    mr_ad: MrAd | None = None,
) -> Array:
    """Predict the covariance of the contact wrench of MR-AD with a filter, maybe another one.

    Args:
        evaluator: which evaluated the signals.
        result: what it computed at K instants, with whatever filter.
        noise: of the samples; None: what the robot file states.
        half_width: of the matched filter in question [s]; None: unfiltered.
        speeds: of the joints at the instants before; None: not known.
        mr_ad: what gives the wrench, or more of them at a time; None: that of the evaluator.

    Returns:
        (K, 6, 6) about the root origin, in the root frame [N], [N·m]; NaN while a period is not
        known, and where units on other links were used whose samples this evaluator has not.
    """
    rig, stage, root, joints = evaluator.rig, evaluator.root, result.root, result.joints
    periods, mr_ad = stage.periods, mr_ad or evaluator.mr_ad
    if periods is None:
        return np.full((len(result.stamps), 6, 6), np.nan)
    noise = noise or SampleNoise.of(rig.robot, periods, rig.model.dof)
    spread = _root_covariance(stage, periods, root.angular_velocity, noise, half_width)
    states, units = mr_ad_states(joints, root), result.units
    evaluator.weigh_units(half_width)
    covariance = mr_ad_covariance(mr_ad, states, spread, units)
    if rig.segments:
        covariance += _of_units(evaluator, mr_ad, states, units, half_width)
    if noise.joints.any() or noise.step:
        groups = evaluator.joints.groups
        if not groups:
            return np.full_like(covariance, np.nan)
        speeds = speeds or joint_speeds(groups, half_width)
        mean = speeds.update(result.stamps, joints.velocities)
        variance = _of_accelerations(rig.robot, groups, mean, noise, half_width)
        covariance = covariance + joint_covariance(
            mr_ad, joints.positions, np.sqrt(variance), units
        )
        if units is not None:
            variance = np.diag(noise.joints**2 + noise.step**2 / 12.0)
            columns = range(9, 9 + len(variance))
            covariance += mr_ad_covariance(mr_ad, states, variance, units, columns, _STEP)
    return covariance


def _of_units(
    evaluator: Evaluator,
    mr_ad: MrAd,
    states: Array,
    units: Array | None,
    half_width: float | None,
) -> Array | float:
    """(K, 6, 6) that the units on other links add; NaN where their samples are not known."""
    if units is None:
        return np.nan
    total: Array | float = 0.0
    for k, stage in enumerate(evaluator.stages.segments):
        periods = stage.periods
        if periods is None:
            return np.nan
        noise = SampleNoise.of(stage.rig.robot, periods, 0)
        spread = _root_covariance(stage, periods, units[:, k, 3:6], noise, half_width)
        known = np.asarray(np.isfinite(units[:, k]).all(axis=1))[:, None, None]
        first = states.shape[1] + 9 * k
        columns, spread = range(first, first + 9), np.where(known, spread, 0.0)
        total += mr_ad_covariance(mr_ad, states, spread, units, columns)
    return total


def izmp_covariance(
    evaluator: Evaluator,
    result: Evaluated,
    noise: SampleNoise | None = None,
    speeds: JointSpeeds | None = None,
) -> Array:
    """Predict the covariance of the IZMP of MR-AD.

    Args:
        evaluator: which evaluated the signals.
        result: what it computed at K instants.
        noise: of the samples; None: what the robot file states.
        speeds: of the joints at the instants before; None: not known.

    Returns:
        (K, 3, 3) in the root frame [m²]; NaN where there is no IZMP, and as `filtered_covariance`.
    """
    half_width = evaluator.rig.robot.filter.half_width
    of_wrench = filtered_covariance(evaluator, result, noise, half_width, speeds)
    return point_covariance(result, of_wrench)


def point_covariance(result: Evaluated, of_wrench: Array, track: str = 'mr_ad') -> Array:
    """Covariance of the IZMP from that of the wrench.

    Args:
        result: what was computed at K instants.
        of_wrench: (K, 6, 6) [N], [N·m].
        track: whose wrench and IZMP.

    Returns:
        (K, 3, 3) in the root frame [m²]; NaN where there is no IZMP.
    """
    there = np.asarray(np.isfinite(result.points[track]).all(axis=1))
    covariance = np.full((len(there), 3, 3), np.nan)
    covariance[there] = zmp_covariance(
        ContactWrench.from_array(result.wrenches[track][there]),
        of_wrench[there],
        result.ground.plane.normal[there],
        result.ground.plane.point[there],
    )
    return covariance


def _root_covariance(
    stage: RootStage,
    periods: Sequence[float],
    angular_velocity: Array,
    noise: SampleNoise,
    half_width: float | None,
) -> Array:
    """(K, 9, 9) of φ, ω and ω̇."""
    gain, mount = sample_gain(half_width, periods[0]), stage.rig.imu
    if stage.method == 'accelerometers':
        array = stage.array
        gains = [sample_gain(half_width, period).value for period in periods]
        force = np.sqrt(gains * np.mean(noise.force**2, axis=1))
        axes = [len(sensor.axes) for sensor in array.accelerometers]
        gyro = float(np.sqrt(gain.value * np.mean(noise.gyroscope**2)))
        return array_covariance(array, angular_velocity, np.repeat(force, axes), gyro)
    force, squares = gain.value * noise.force[0] ** 2, np.diag([gain.value, gain.first])
    if noise.of_pose:
        turned = gain.value * (stage.rig.robot.gravity * noise.gyroscope) ** 2
        gain = pose_gain(half_width, periods[0])
        force = gain.value * noise.force[0] ** 2 + turned
        squares = np.diag([gain.first, gain.second])
    return imu_covariance(
        mount.p,
        angular_velocity,
        mount.R @ np.diag(force) @ mount.R.T,
        mount.R @ np.diag(noise.gyroscope**2) @ mount.R.T,
        squares,
    )


def joint_speeds(groups: Sequence[JointGroup], half_width: float | None) -> JointSpeeds:
    """Make the mean speeds that fit a filter: they fade within the half-width, or one period."""
    return JointSpeeds(half_width or max((group.period for group in groups), default=1.0))


def _of_accelerations(
    robot: RobotFile,
    groups: Sequence[JointGroup],
    speeds: Array,
    noise: SampleNoise,
    half_width: float | None,
) -> Array:
    """(K, n) variance of q̈ at speeds (K, n)."""
    variance = np.zeros_like(speeds)
    for group in groups:
        columns = list(group.columns)
        weights = joint_weights(robot.acd, half_width, group.period)
        variance[:, columns] = gain_of(weights).second * noise.joints[columns] ** 2
        if noise.step:
            travel = group.period * speeds[:, columns]
            variance[:, columns] += quantised_second(weights[2], noise.step, travel)
    return variance
