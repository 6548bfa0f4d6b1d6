"""How far a point on the ground is from having no tipping moment, by the definition of the ZMP.

Sect. 4.4 and eq. 21: at the (I)ZMP the moment of the ground reaction has no component along the
ground. Here that moment is computed from the definition, so that the formula of the ZMP itself is
under test.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point


def tipping_arm(contact: Array, points: Array, normal: Array) -> Array:
    """Return how far points are from the line of action of a wrench, along the ground.

    Args:
        contact: (T, 6) force [N], moment about the origin [N·m].
        points: (T, 3) in the same frame [m].
        normal: (T, 3) unit normal of the ground.

    Returns:
        (T,) tipping moment about the points over the normal force [m]; zero at the ZMP.
    """
    force, moment = contact[:, :3], contact[:, 3:]
    about_point = moment - np.cross(points, force)
    along_normal = np.einsum('ti,ti->t', about_point, normal)
    tipping = about_point - along_normal[:, None] * normal
    arm: Array = np.linalg.norm(tipping, axis=1) / np.einsum('ti,ti->t', force, normal)
    return arm


def arm_of_wrench(
    wrench: ContactWrench, contact: Array, normal: Array, on_ground: Array, minimum_force: float
) -> Array:
    """Return the tipping arm of a contact wrench (T, 6) about the IZMP of another wrench (T,) [m].

    The ground has the normal (T, 3) and goes through `on_ground` (T, 3) [m].
    """
    points = zero_moment_point(wrench, normal, on_ground, minimum_force)
    off_ground = np.abs(np.einsum('ti,ti->t', points - on_ground, normal))
    arm: Array = np.hypot(tipping_arm(contact, points, normal), off_ground)
    return arm
