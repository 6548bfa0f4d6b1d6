"""Right-angled mountings of force sensors, found and written into the robot file."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from izmp_dynamics.base.rotations import from_rpy, to_rpy
from izmp_dynamics.calibration.ft_frame import Mounting, find_mounting
from izmp_dynamics.calibration.instants import Instants
from izmp_dynamics.calibration.parameters import Layout
from izmp_dynamics.calibration.residuals import decide_contacts
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.pipeline.rig import Rig


def with_mountings(
    robot: RobotFile, rig: Rig, stretches: Sequence[Instants], layout: Layout
) -> tuple[RobotFile, list[str]]:
    """Turn force sensors as the motion says; a sentence for each."""
    said, x = [], np.zeros(len(layout.parameters))
    for instants in stretches:
        decide_contacts(instants, layout, x)
    feet = list(robot.feet)
    for foot in rig.feet:
        if foot.sensor is None or foot.normal_only or len(rig.feet) < 2:
            continue
        found = find_mounting(stretches, layout, x, foot)
        said.append(_mounting_sentence(foot.name, found))
        if found is None or not found.clear or found.as_stated:
            continue
        index = next(k for k, stated in enumerate(feet) if stated.name == foot.name)
        wrench = feet[index].wrench
        assert wrench is not None
        rotation = to_rpy(found.rotation @ from_rpy(wrench.rotation))
        turned = dataclasses.replace(wrench, rotation=rotation, sign=wrench.sign * found.sign)
        feet[index] = dataclasses.replace(feet[index], wrench=turned)
    return dataclasses.replace(robot, feet=tuple(feet)), said


def _mounting_sentence(foot: str, found: Mounting | None) -> str:
    if found is None:
        return (
            f"Foot '{foot}' is never alone on the ground or in the air for long enough to find "
            'how its sensor is turned; record some steps.'
        )
    if not found.clear:
        return (
            f"How the sensor of foot '{foot}' is turned is not observable: the best mounting "
            f'leaves {found.error:.1f} N unexplained, the next {found.next_best:.1f} N.'
        )
    if found.as_stated:
        return (
            f"The sensor of foot '{foot}' is mounted as the robot file states (it leaves "
            f'{found.error:.1f} N unexplained, the next best mounting {found.next_best:.1f} N).'
        )
    roll, pitch, yaw = np.degrees(to_rpy(found.rotation)).round() + 0.0
    sign = ', and has the other sign' if found.sign < 0 else ''
    return (
        f"The sensor of foot '{foot}' is turned by roll {roll:.0f}°, pitch {pitch:.0f}°, yaw "
        f'{yaw:.0f}° against its frame{sign} (that leaves {found.error:.1f} N unexplained, the '
        f'next best mounting {found.next_best:.1f} N).'
    )
