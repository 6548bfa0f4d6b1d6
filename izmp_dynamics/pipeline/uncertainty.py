"""How uncertain MR-AD's IZMP of a recording is, from the noise densities in the robot file.

    evaluator = Evaluator(recording.rig, recording.groups, recording.periods)
    for result in evaluator.push(signals):
        covariance = izmp_covariance(evaluator, result)  # (K, 3, 3) in the root frame [m²]

Nothing is repeated and nothing is fitted: see `noise_propagation`. What it does not know of is
everything but white noise of IMU and accelerometers: encoders, a wrong model, a sliding foot.
"""

import numpy as np

from izmp_dynamics.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.pipeline.evaluator import Evaluated, Evaluator
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    gyro_covariance,
    mr_ad_covariance,
    zmp_covariance,
)
from izmp_dynamics.sensing.noise import degrees, micro_g, standard_deviation


def izmp_covariance(evaluator: Evaluator, result: Evaluated) -> Array:
    """Predict the covariance of the IZMP of MR-AD.

    Args:
        evaluator: which evaluated the signals.
        result: what it computed at K instants.

    Returns:
        (K, 3, 3) in the root frame [m²]; NaN where there is no IZMP.
    """
    noise, rate = evaluator.rig.robot.noise, 1.0 / (evaluator.root.imu.period or np.nan)
    force = standard_deviation(micro_g(noise.accelerometer), rate)
    gyro = standard_deviation(degrees(noise.gyroscope), rate)
    root, joints, stage = result.root, result.joints, evaluator.root
    if stage.method == 'accelerometers':
        spread = array_covariance(stage.array, root.angular_velocity, force, gyro)
    else:
        step = 0.5 * rate
        arm = evaluator.rig.imu.p
        spread = gyro_covariance(arm, root.angular_velocity, (-step, 0.0, step), force, gyro)
    of_wrench = mr_ad_covariance(
        evaluator.mr_ad,
        root.proper_acceleration,
        root.angular_velocity,
        root.angular_acceleration,
        joints.positions,
        joints.velocities,
        joints.accelerations,
        spread,
    )
    covariance = np.full((len(result.stamps), 3, 3), np.nan)
    there = np.asarray(np.isfinite(result.points['mr_ad']).all(axis=1))
    wrench = ContactWrench.from_array(result.wrenches['mr_ad'][there])
    plane = result.plane
    covariance[there] = zmp_covariance(
        wrench, of_wrench[there], plane.normal[there], plane.point[there]
    )
    return covariance
