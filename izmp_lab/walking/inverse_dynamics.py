"""The joint torques of a plan, from its motion and the ground reaction that it needs.

The motion of all bodies determines the net ground reaction and its ZMP. One foot carries it
alone; two feet share it in the ratio in which the ZMP divides the line between the points where
they take their load. The torque of a joint is then what the part of the robot beyond it needs for
its motion, less what the ground gives to that part (Newton-Euler, from feet and hands inwards).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ShapeError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.vectors import add, cross, dot, vector
from izmp_dynamics.dynamics import kernels
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.body_layout import DRIVER, KIND, MULTIPLIER, PARENT, POSITION, PRISMATIC
from izmp_dynamics.model.kinematics import z_axis
from izmp_dynamics.model.robot_model import RobotModel
from izmp_lab.walking.plan import PlannedFoot, RootMotion


@dataclass(frozen=True)
class Drive:
    """What a servo has to move besides the links.

    Attributes:
        rotor_inertia: seen at the joint [kg·m²] or [kg].
        damping: viscous friction of the joint [N·m·s/rad] or [N·s/m].
    """

    rotor_inertia: float = 0.1
    damping: float = 0.1


def ground_reaction(
    model: RobotModel, gravity: float, root: RootMotion, q: Array, qd: Array, qdd: Array
) -> tuple[ContactWrench, Array]:
    """Compute what a motion needs from the ground.

    Args:
        model: the robot.
        gravity: its magnitude [m/s²].
        root: motion of the root.
        q: (T, n) joint positions [rad] or [m].
        qd: (T, n) joint velocities.
        qdd: (T, n) joint accelerations.

    Returns:
        The net ground reaction (T,) about the world's origin in world axes, and the centre of mass
        (T, 3) in the world [m].
    """
    wrench, com_in_root = MrAd(model).batch(*root.felt(gravity), q, qd, qdd)
    com = root.position + np.einsum('tij,tj->ti', root.rotation, com_in_root)
    return wrench.transformed(root.rotation, root.position), com


def joint_torques(
    model: RobotModel,
    proper_acceleration: Array,
    angular_velocity: Array,
    angular_acceleration: Array,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    applied: Mapping[str, ContactWrench] | None = None,
    drive: Drive | None = None,
) -> Array:
    """Compute the torques that a motion needs.

    Args:
        model: the robot.
        proper_acceleration: (T, 3) φ of the root origin in root axes [m/s²].
        angular_velocity: (T, 3) ω of the root in root axes [rad/s].
        angular_acceleration: (T, 3) ω̇ of the root in root axes [rad/s²].
        q: (T, n) joint positions [rad] or [m].
        qd: (T, n) joint velocities.
        qdd: (T, n) joint accelerations.
        applied: link → what acts on it from outside, gravity excepted: a wrench (T,) about the
            root's origin in root axes.
        drive: inertia and friction of the servos; those of an ideal servo, none, if None.

    Returns:
        (T, n) torques [N·m] or forces [N] of the joints; a joint's includes those of its mimics.

    Raises:
        ShapeError: if an array has not n columns.
        UnknownNameError: if a link is unknown.
    """
    for name, array in (('q', q), ('qd', qd), ('qdd', qdd)):
        if array.shape != (len(q), model.dof):
            raise ShapeError(name, f'({len(q)}, {model.dof})', array.shape)
    outside = np.zeros((len(q), len(model.joints), 6))
    for link, wrench in (applied or {}).items():
        outside[:, model.mount(link).body] += wrench.as_array()
    states = np.hstack([proper_acceleration, angular_velocity, angular_acceleration, q, qd, qdd])
    torques = _joint_torques(model.joints, model.bodies, states, outside)
    if drive is not None:
        torques += drive.rotor_inertia * qdd + drive.damping * qd
    return torques


def shared_reaction(
    reaction: ContactWrench, zmp: Array, loads: Array, contact: npt.NDArray[np.bool_]
) -> tuple[ContactWrench, ContactWrench]:
    """Share the ground reaction between two feet.

    Args:
        reaction: (T,) net ground reaction about the world's origin in world axes.
        zmp: (T, 3) its ZMP in the world [m].
        loads: (T, 2, 3) where the left and the right foot take their load [m].
        contact: (T, 2) which feet carry; at least one at every instant.

    Returns:
        What the ground does to the left and to the right foot, about the world's origin. Their sum
        is the reaction.
    """
    line = loads[:, 1] - loads[:, 0]
    right = np.sum((zmp - loads[:, 0]) * line, axis=1) / np.sum(line * line, axis=1)
    right = np.where(contact.all(axis=1), np.clip(right, 0.0, 1.0), contact[:, 1])
    shares = np.stack([1.0 - right, right], axis=1)
    aside = zmp - np.einsum('tf,tfi->ti', shares, loads)
    twist = reaction.moment - np.cross(zmp, reaction.force)
    left_foot, right_foot = (
        ContactWrench(
            share * reaction.force, share * (twist + np.cross(load + aside, reaction.force))
        )
        for share, load in zip(shares.T[:, :, None], np.swapaxes(loads, 0, 1), strict=True)
    )
    return left_foot, right_foot


@kernel
def _joint_torques(
    joints: npt.NDArray[np.int64], bodies: Array, states: Array, outside: Array
) -> Array:
    """Torques (T, n) for packed states (T, 9 + 3n) and wrenches from outside (T, B, 6)."""
    count, n = joints.shape[0], (states.shape[1] - kernels.ROOT) // 3
    work, net, needed = np.empty((count, kernels.WORK)), np.empty(9), np.empty((count, 9))
    torques = np.zeros((states.shape[0], n))
    for t in range(states.shape[0]):
        kernels.mr_ad(joints, bodies, states[t], work, net)
        for i in range(count):
            needed[i] = 0.0
            kernels.add_wrench(bodies[i], work[i], needed[i])
            needed[i, :6] -= outside[t, i]
        for i in range(count - 1, 0, -1):
            torques[t, joints[i, DRIVER]] += bodies[i, MULTIPLIER] * _along_axis(
                joints[i, KIND], work[i], needed[i]
            )
            needed[joints[i, PARENT]] += needed[i]
    return torques


@kernel
def _along_axis(kind: int, own: Array, wrench: Array) -> float:
    """Force along, or moment about, the axis of a body's joint; `own` is its row of work space."""
    n, r, force = z_axis(own), vector(own, POSITION), vector(wrench, 0)
    if kind == PRISMATIC:
        return dot(n, force)
    return dot(n, add(vector(wrench, 3), cross(force, r)))


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
    model: RobotModel,
    gravity: float,
    root: RootMotion,
    joints: tuple[Array, Array, Array],
    feet: Sequence[PlannedFoot],
    load: Load,
    drive: Drive | None = None,
) -> Array:
    """Compute the joint torques (T, n) [N·m].

    Args:
        model: the robot.
        gravity: its magnitude [m/s²].
        root: motion of the robot's root.
        joints: positions, velocities and accelerations, (T, n) each.
        feet: when the left and the right sole carry.
        load: what the ground has to carry.
        drive: what the servos move besides the links, if anything.
    """
    contact = np.stack([foot.contact for foot in feet], axis=1)
    reactions = shared_reaction(load.wrench, load.zmp, load.places, contact)
    root_R_world = np.swapaxes(root.rotation, 1, 2)
    p_world_in_root = -np.einsum('tij,tj->ti', root_R_world, root.position)
    return joint_torques(
        model,
        *root.felt(gravity),
        *joints,
        applied={
            foot.sole: reaction.transformed(root_R_world, p_world_in_root)
            for foot, reaction in zip(feet, reactions, strict=True)
        },
        drive=drive,
    )
