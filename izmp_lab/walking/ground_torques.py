"""The joint torques of a biped whose feet share the ground reaction that its motion needs."""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.inverse_dynamics import (
    AppliedWrench,
    Drive,
    joint_torques,
    shared_reaction,
)
from izmp_lab.walking.plan import PlannedFoot
from izmp_lab.walking.root_motion import RootMotion


@dataclass(frozen=True)
class Load:
    """What the ground has to carry.

    Attributes:
        wrench: (T,) contact wrench about the world's origin in world axes.
        zmp: (T, 3) its ZMP in the world [m].
        places: (T, 2, 3) where the left and the right foot take their load [m].
    """

    wrench: ContactWrench
    zmp: Array
    places: Array


def ground_torques(
    biped: Biped,
    root: RootMotion,
    joints: tuple[Array, Array, Array],
    feet: tuple[PlannedFoot, PlannedFoot],
    load: Load,
    drive: Drive,
) -> Array:
    """Compute the joint torques (T, n) [N·m].

    Args:
        biped: the robot.
        root: motion of its root.
        joints: positions, velocities and accelerations, (T, n) each.
        feet: which sole carries when.
        load: what the ground has to carry.
        drive: what the servos move besides the links.
    """
    contact = np.stack([foot.contact for foot in feet], axis=1)
    reactions = shared_reaction(load.wrench, load.zmp, load.places, contact)
    root_R_world = np.swapaxes(root.rotation, 1, 2)
    p_world_in_root = -np.einsum('tij,tj->ti', root_R_world, root.position)
    return joint_torques(
        biped.model,
        root.proper_acceleration(biped.gravity),
        root.angular_velocity,
        root.angular_acceleration,
        *joints,
        applied=tuple(
            AppliedWrench(leg.sole, reaction.transformed(root_R_world, p_world_in_root))
            for leg, reaction in zip(biped.legs, reactions, strict=True)
        ),
        drive=drive,
    )
