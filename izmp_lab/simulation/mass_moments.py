"""Mass, first moment and inertia of a body of the robot."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.body_layout import FIRST_MOMENT, INERTIA, MASS, MULTIPLIER
from izmp_dynamics.model.robot_model import RobotModel


@dataclass(frozen=True)
class MassMoments:
    """Inertia of a body.

    Attributes:
        mass: [kg].
        first_moment: (3,) mass times centre of mass in the body frame [kg·m].
        inertia: (3, 3) about the body's origin [kg·m²].
    """

    mass: float
    first_moment: Array
    inertia: Array


def mass_moments(model: RobotModel, body: int) -> MassMoments:
    """Return the inertia of a body."""
    row = model.bodies[body]
    xx, yy, zz, xy, xz, yz = row[INERTIA:MULTIPLIER]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return MassMoments(float(row[MASS]), row[FIRST_MOMENT:INERTIA], inertia)
