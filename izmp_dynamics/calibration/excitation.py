"""Whether a recording moves enough, and which motion would show more."""

from collections.abc import Collection, Sequence

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.calibration.instants import RATE, Instants
from izmp_dynamics.calibration.parameters import DEFAULT_GROUPS, Layout
from izmp_dynamics.calibration.validation import motion_time

ENOUGH_MOTION = 10.0
"""Less motion gets a remark [s]."""

ENOUGH_FOR_MATRIX = 20.0
"""And less than this if calibration matrices come from it, 36 numbers for each sensor [s]."""

ENOUGH_TURN = 45.0
"""A robot that turns by less walks straight [°]."""

ENOUGH_LEAN = 5.0
"""A root that leans by less shows gravity in one direction only [°]."""


def remarks(
    stretches: Sequence[Instants], layout: Layout, corrected: Collection[str] = ()
) -> list[str]:
    """Which motion the recording lacks, in sentences.

    Args:
        stretches: the recording, with its contacts decided.
        layout: what is estimated.
        corrected: groups of which something is corrected.
    """
    groups = {parameter.group for parameter in layout.parameters}
    said = []
    moving = motion_time(stretches)
    if 'ft_matrix' in corrected and moving < ENOUGH_FOR_MATRIX:
        said.append(
            'The calibration matrices of the force sensors have 36 numbers each and come from '
            f'{moving:.1f} s of motion; {ENOUGH_FOR_MATRIX:g} s of steps with turns are enough. '
            'Do not rely on them for other motion than that of the recording; --only '
            f'{",".join(DEFAULT_GROUPS)} leaves them out.'
        )
    elif moving < ENOUGH_MOTION:
        said.append(
            f'The robot moves for {moving:.1f} s only. Twenty seconds of steps make the standard '
            'deviations smaller.'
        )
    if 'imu_rotation' in groups and (turn := _turn(stretches)) < ENOUGH_TURN:
        said.append(
            f'The robot turns by {turn:.0f}° only: a tilted floor cannot be distinguished from a '
            'tilted IMU. Let it turn about once while it walks.'
        )
    if {'imu_rotation', 'accelerometer_bias'} <= groups and (
        lean := _lean(stretches)
    ) < ENOUGH_LEAN:
        said.append(
            f'The root leans by {lean:.1f}° only: tilt of the IMU and bias of the accelerometer '
            'are known together better than each. Let it lean by 10° to the front and to the '
            'sides.'
        )
    return said


def _turn(stretches: Sequence[Instants]) -> float:
    """Range of the heading within a stretch, the largest of all [°]."""
    ranges = [0.0]
    for part in stretches:
        up = np.mean([sole.R[:, :, 2] for sole in part.soles], axis=0)
        omega = part.imu.at(part.times)[:, :3] @ part.rig.imu.R.T
        heading = np.cumsum(np.einsum('ti,ti->t', omega, up)) / RATE
        ranges.append(float(np.ptp(heading)) if len(heading) else 0.0)
    return float(np.degrees(max(ranges)))


def _lean(stretches: Sequence[Instants]) -> float:
    """Largest angle between the vertical in the root and its mean, while feet rest [°]."""
    found: list[Array] = [
        sole.R[part.rest[:, k], :, 2]
        for part in stretches
        if len(part.rest)
        for k, sole in enumerate(part.soles)
    ]
    verticals = np.concatenate([np.empty((0, 3)), *found])
    if not len(verticals):
        return 0.0
    mean = verticals.mean(axis=0)
    cosines = verticals @ (mean / np.linalg.norm(mean))
    return float(np.degrees(np.arccos(np.clip(cosines.min(), -1.0, 1.0))))
