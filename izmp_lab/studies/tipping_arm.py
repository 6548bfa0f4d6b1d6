"""How far a point on the ground is from having no tipping moment, by the definition of the ZMP.

Sect. 4.4 and eq. 21: at the (I)ZMP the moment of the ground reaction has no component along the
ground. Here that moment is computed from the definition, so that the formula of the ZMP itself is
under test.
"""

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.simulated_run import SimulatedRun


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


def exact_arm(run: SimulatedRun, model: RobotModel, gravity: float, minimum_force: float) -> Array:
    """Return the tipping arm of what the ground does, about the IZMP of the exact motion.

    Without a push the two are the same point, whatever the robot does.

    Args:
        run: a simulation.
        model: its robot.
        gravity: [m/s²].
        minimum_force: normal force below which there is no ZMP [N].

    Returns:
        (T,) [m]; NaN where there is no ZMP.
    """
    truth = run.truth
    wrench, _ = MrAd(model).batch(*truth.root.felt(gravity), run.q, truth.qd, truth.qdd)
    return arm_of_wrench(
        wrench,
        truth.ground_wrench,
        truth.ground_normal_in_root(),
        truth.cop_in_root(),
        minimum_force,
    )


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
