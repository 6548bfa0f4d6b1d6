"""The seesaw's equations of motion in its own frame S (Nava et al., eqs. 20–24, appendix A, B).

The velocity of the board is ν_s = (velocity of its centre of mass, angular velocity), in S. The
acceleration biases J̇ν_s are what the constraints accelerate by while ν̇_s = 0. The point of contact
moves along the ground at −ρ θ̇; the bias of the rolling constraint contains that.
"""

from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array, cross, skew
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.state import RigidState

_SIDES = (1, -1)
_E3 = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class BoardTerms:
    """Terms of the board at a state.

    Attributes:
        R: (3, 3) world_R_S.
        com: (3,) the board's centre of mass in the world [m].
        M: (6, 6) mass matrix, constant in S.
        h: (6,) Coriolis and gravity terms.
        J_feet: (12, 6) J_r: velocities of the places of both soles, in world axes.
        J_feet_dot_nu: (12,).
        J_ground: (5, 6) J_s: velocity of the contact point, angular velocity about world y, z.
        J_ground_dot_nu: (5,).
        nu: (6,) velocity.
    """

    R: Array
    com: Array
    M: Array
    h: Array
    J_feet: Array
    J_feet_dot_nu: Array
    J_ground: Array
    J_ground_dot_nu: Array
    nu: Array


def board_terms(seesaw: Seesaw, board: RigidState, gravity: float) -> BoardTerms:
    """Compute the terms of eq. 20, 22 and 24."""
    R, omega = board.rotation, board.angular_velocity
    nu = np.concatenate([R.T @ board.velocity, R.T @ omega])
    M = np.diag([seesaw.mass] * 3 + [*seesaw.inertia])
    momentum = M @ nu
    h = np.concatenate([cross(nu[3:], momentum[:3]), cross(nu[3:], momentum[3:])])
    h[:3] += R.T @ (seesaw.mass * gravity * _E3)
    centripetal = cross(omega, board.velocity)  # of the centre of mass, with ν̇_s = 0
    J_feet, J_feet_dot_nu = _feet(seesaw, board, centripetal)
    J_ground, J_ground_dot_nu = _ground(seesaw, board, centripetal)
    turn = np.kron(np.eye(2), R)
    return BoardTerms(
        R, board.position, M, h, J_feet @ turn, J_feet_dot_nu, J_ground @ turn, J_ground_dot_nu, nu
    )  # fmt: skip


def _feet(seesaw: Seesaw, board: RigidState, centripetal: Array) -> tuple[Array, Array]:
    """J̄_r (12, 6) for velocities in world axes, and its bias (12,)."""
    omega = board.angular_velocity
    jacobian, bias = np.zeros((12, 6)), np.zeros(12)
    for foot, side in enumerate(_SIDES):
        lever = board.rotation @ seesaw.sole_in_board(side)
        rows = slice(6 * foot, 6 * foot + 6)
        jacobian[rows] = _moved(lever)
        bias[rows][:3] = centripetal + cross(omega, cross(omega, lever))
    return jacobian, bias


def _ground(seesaw: Seesaw, board: RigidState, centripetal: Array) -> tuple[Array, Array]:
    """J̄_s (5, 6) for velocities in world axes, and its bias (5,)."""
    omega = board.angular_velocity
    axis = board.rotation @ [0.0, 0.0, seesaw.axis_height]
    lever = axis - seesaw.radius * _E3  # from the centre of mass to the point of contact
    jacobian = np.concatenate([_moved(lever)[:3], np.eye(6)[4:]])
    bias = np.zeros(5)
    # The lever changes as the axis turns; its other end stays below the axis, so it rolls on.
    bias[:3] = centripetal + cross(omega, cross(omega, axis))
    return jacobian, bias


def _moved(lever: Array) -> Array:
    """Return the (6, 6) map from the twist of a point to that of another, `lever` away."""
    matrix = np.eye(6)
    matrix[:3, 3:] = -skew(lever)
    return matrix
