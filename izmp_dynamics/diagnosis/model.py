"""Anomalies of the robot's description: its URDF, and what the robot file says of it."""

from collections.abc import Iterator

import numpy as np

from izmp_dynamics.base.finding import Finding, Level, warning
from izmp_dynamics.model.feet import Foot
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.model.visuals import shapes_at
from izmp_dynamics.stability.clearance import is_point

SOLE_OFF = 0.01
"""Farther from the lowest point of its foot a sole is not by inaccurate shapes [m]."""


def model_findings(model: RobotModel, robot: RobotFile) -> Iterator[Finding]:
    """Find what is wrong with the robot, without a recording.

    Args:
        model: of the robot.
        robot: the robot file.
    """
    for problem in model.problems:
        # Without the mass of a body the numbers are those of another robot.
        level: Level = 'warning' if problem.kind == 'no_inertial' else 'note'
        yield Finding(problem.kind, level, f'URDF: {problem}')
    for foot in robot.feet:
        if foot.sole_frame in model.frame_names and not is_point(np.array(foot.corners)):
            yield from _sole_off(model, foot)


def _sole_off(model: RobotModel, foot: Foot) -> Iterator[Finding]:
    """Compare the plane of a sole with the lowest point of what is fixed to it.

    Collision shapes may be coarse, so where there are visuals, too, these must agree. A kind of
    which the file of a mesh is not there says nothing.
    """
    found: list[tuple[float, str]] = []
    for kind in ('collision', 'visual'):
        shapes = list(shapes_at(model, model.tree.urdf, foot.sole_frame, kind))
        if shapes and all(len(points) for _, points in shapes):
            z, link = min((float(points[:, 2].min()), link) for link, points in shapes)
            found.append((z, f"{kind} geometry of '{link}'"))
    if found and all(abs(z) > SOLE_OFF for z, _ in found):
        z, lowest = found[0]
        side, remedy = 'above' if z < 0.0 else 'below', 'correct its sole.xyz'
        if isinstance(foot.sole, str):
            remedy = f'state sole: {{link: {foot.sole}, xyz: [0, 0, {z:.3f}]}}'
        yield warning(
            'sole_off',
            f"The sole '{foot.sole_frame}' of {foot.name} lies {abs(z) * 1e3:.0f} mm {side} the "
            f'lowest point of the {lowest}.',
            f'Unless the foot wears a shoe, {remedy}.',
            foot.name,
            {'z': z},
        )
