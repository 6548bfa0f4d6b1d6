"""Does the contact force of the motion carry the weight, along the ground normal?"""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.diagnosis.feet_check import FORCE_TOLERANCE, Flags
from izmp_dynamics.results.evaluation import Evaluation

TILT_TOLERANCE = 10.0
"""Angle between the mean contact force and the ground normal that is remarked on [°]."""


def judge_force(evaluation: Evaluation, stands: Flags) -> Iterator[Finding]:
    """Compare the mean contact force of MR-AD with the weight: its size, its direction.

    The root may turn, so a mean in its axes would be too short. On a slope the component along
    the ground normal is.

    Args:
        evaluation: of a recording, or of the last seconds.
        stands: (K,) where the robot stands, so that the ground carries its weight.
    """
    force = np.where(stands[:, None], evaluation.tracks['mr_ad'].wrench[:, :3], np.nan)
    known = np.isfinite(evaluation.normal) & np.isfinite(force)
    if not known.all(axis=1).any():
        return
    weight = evaluation.total_mass * evaluation.gravity
    mean = np.nanmean(evaluation.in_nif(force), axis=0)
    size = float(np.linalg.norm(mean))
    if abs(size / weight - 1.0) > FORCE_TOLERANCE:
        yield Finding(
            'warning',
            'mean_force',
            f'The mean contact force of MR-AD is {size:.1f} N, the weight {weight:.1f} N.',
            'The masses cancel in this: check the scale of the accelerometers and the frames '
            'that they measure in.',
        )
    cosine = mean[2] / size
    tilt = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    if tilt > TILT_TOLERANCE:
        yield Finding(
            'warning',
            'tilted_force',
            f'On average the contact force is tilted by {tilt:.0f}° against the ground normal.',
            "If the ground does not slope by that: is the IMU's frame (imu.frame) turned as the "
            "sensor is, and are the sole's z axes up? Those of feet that touch the ground with a "
            'point are not: with a measured orientation, set ground.source: gravity.',
        )
