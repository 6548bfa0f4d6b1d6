"""How uncertain MR-AD's IZMP of a recording is, from the noise densities in the robot file.

    evaluator = Evaluator(recording.rig, recording.groups, recording.periods)
    for result in evaluator.push(signals):
        covariance = izmp_covariance(evaluator, result)  # (K, 3, 3) in the root frame [m²]

Nothing is repeated and nothing is fitted: see `noise_propagation`. What it does not know of is
everything but white noise of IMU and accelerometers: encoders, a wrong model, a sliding foot.
"""

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.pipeline.evaluator import Evaluated, Evaluator
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    gyro_covariance,
    mr_ad_covariance,
    zmp_covariance,
)
from izmp_dynamics.pipeline.rig import Rig
from izmp_dynamics.sensing.accelerometer_array import AccelerometerArray
from izmp_dynamics.sensing.joint_kinematics import JointKinematics
from izmp_dynamics.sensing.noise import degrees, micro_g, standard_deviation
from izmp_dynamics.sensing.root_state import RootState
from izmp_dynamics.stability.ground_plane import GroundPlane


def izmp_covariance(evaluator: Evaluator, result: Evaluated) -> Array:
    """Predict the covariance of the IZMP of MR-AD.

    Args:
        evaluator: which evaluated the signals.
        result: what it computed at K instants.

    Returns:
        (K, 3, 3) in the root frame [m²]; NaN where there is no IZMP.
    """
    root, stage = result.root, evaluator.root
    array = stage.array if stage.method == 'accelerometers' else None
    period = stage.imu.period or np.nan
    spread = root_covariance(evaluator.rig, period, array, root.angular_velocity)
    there = np.asarray(np.isfinite(result.points['mr_ad']).all(axis=1))
    wrenches = result.wrenches['mr_ad']
    return propagated(evaluator.mr_ad, root, result.joints, spread, wrenches, result.plane, there)


def root_covariance(
    rig: Rig, period: float, array: AccelerometerArray | None, angular_velocity: Array
) -> Array:
    """Covariance (K, 9, 9) of φ, ω and ω̇ from the noise densities of the robot file.

    Args:
        rig: the robot, prepared.
        period: time between the samples of the IMU [s].
        array: the accelerometers; None: the gyroscope is differenced.
        angular_velocity: (K, 3) ω in root axes [rad/s].
    """
    noise, rate = rig.robot.noise, 1.0 / period
    force = standard_deviation(micro_g(noise.accelerometer), rate)
    gyro = standard_deviation(degrees(noise.gyroscope), rate)
    if array is not None:
        return array_covariance(array, angular_velocity, force, gyro)
    step = 0.5 * rate
    return gyro_covariance(rig.imu.p, angular_velocity, (-step, 0.0, step), force, gyro)


def propagated(
    mr_ad: MrAd,
    root: RootState,
    joints: JointKinematics,
    spread: Array,
    wrenches: Array,
    plane: GroundPlane,
    there: npt.NDArray[np.bool_],
) -> Array:
    """Covariance of the IZMP of K instants from that of the motion of the root.

    Args:
        mr_ad: the kernel.
        root: motion of the root.
        joints: positions, velocities and accelerations.
        spread: (K, 9, 9) covariance of φ, ω and ω̇.
        wrenches: (K, 6) contact wrenches about the root origin.
        plane: the ground.
        there: (K,) at which instants there is an IZMP.

    Returns:
        (K, 3, 3) in the root frame [m²]; NaN where there is no IZMP.
    """
    of_wrench = mr_ad_covariance(
        mr_ad,
        root.proper_acceleration,
        root.angular_velocity,
        root.angular_acceleration,
        joints.positions,
        joints.velocities,
        joints.accelerations,
        spread,
    )
    covariance = np.full((len(there), 3, 3), np.nan)
    covariance[there] = zmp_covariance(
        ContactWrench.from_array(wrenches[there]),
        of_wrench[there],
        plane.normal[there],
        plane.point[there],
    )
    return covariance
