"""Momentum control on the seesaw: a quadratic programme over the foot wrenches every tick.

Nava et al., sect. IV: f realises the wanted rate of momentum; what it leaves free keeps the joint
torques small; torques that the feet leave free hold the posture.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from izmp_dynamics.base.conventions import GRAVITY, Array
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw, stance
from izmp_lab.seesaw.coupled import BodyTerms, CoupledTerms, RigidBody
from izmp_lab.seesaw.gains import MIXED, ComReference, Gains, gains
from izmp_lab.seesaw.state import BalanceState
from izmp_lab.walking.quadratic_programme import solve_qp

_SIDES_OF_CONE = 12


@dataclass(frozen=True)
class FootConstraints:
    """Linear inequalities C f ≤ b of a wrench in the frame of a sole.

    Attributes:
        C: (19, 6): twelve sides of the friction cone, two of torsion, lowest normal force, four
            edges of the sole.
        b: (19,).
    """

    C: Array
    b: Array

    @classmethod
    def of(
        cls, box: Array, friction: float, torsional: float, lowest_normal_force: float
    ) -> 'FootConstraints':
        """Build them.

        Args:
            box: (2, 2) x_min, x_max; y_min, y_max of the sole [m].
            friction: coefficient [-]; the cone is inscribed by twelve planes.
            torsional: the same for the moment about the normal [m].
            lowest_normal_force: [N].
        """
        middle = (np.arange(_SIDES_OF_CONE) + 0.5) * 2.0 * np.pi / _SIDES_OF_CONE
        reach = friction * np.cos(np.pi / _SIDES_OF_CONE)
        cone = np.zeros((_SIDES_OF_CONE, 6))
        cone[:, 0], cone[:, 1], cone[:, 2] = np.cos(middle), np.sin(middle), -reach
        (x_min, x_max), (y_min, y_max) = box
        rest = np.array(
            [
                [0.0, 0.0, -torsional, 0.0, 0.0, 1.0],
                [0.0, 0.0, -torsional, 0.0, 0.0, -1.0],
                [0.0, 0.0, -1.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, x_min, 0.0, 1.0, 0.0],  # the CoP is at x = −M_y / F_z, y = M_x / F_z
                [0.0, 0.0, -x_max, 0.0, -1.0, 0.0],
                [0.0, 0.0, y_min, -1.0, 0.0, 0.0],
                [0.0, 0.0, -y_max, 1.0, 0.0, 0.0],
            ]
        )
        b = np.zeros(_SIDES_OF_CONE + len(rest))
        b[_SIDES_OF_CONE + 2] = -lowest_normal_force
        return cls(np.concatenate([cone, rest]), b)

    def in_world(self, world_R_sole: Array) -> Array:
        """Return C for a wrench in world axes about the origin of the sole."""
        return self.C @ np.kron(np.eye(2), world_R_sole.T)


_SINGULAR = 1e-7
"""Singular values below this part of the largest count as zero (the authors' tolerance)."""


@dataclass(frozen=True)
class Command:
    """What the controller wants.

    Attributes:
        torques: (n,) within the limits of the robot [N·m].
        wrenches: (2, 6) of the board on the feet that it expects, world axes, about the soles.
        solved: whether the tick had a solution; if not, torques and wrenches are the last ones,
            and of a state that is none all but the reference.
        momentum_error: (6,) linear, angular momentum less what is wanted [kg·m/s], [kg·m²/s].
        com: (3,) of the robot [m].
        com_reference: (3,) [m].
    """

    torques: Array
    wrenches: Array
    solved: bool
    momentum_error: Array
    com: Array
    com_reference: Array


class MomentumController:
    """Control of the mixed momentum or of the robot's momentum."""

    def __init__(
        self,
        robot: BalancingRobot,
        seesaw: Seesaw,
        kind: str,
        gains: Gains,
        reference: ComReference | None = None,
        gravity: float = GRAVITY,
    ) -> None:
        self.robot, self.seesaw, self.kind, self.gains = robot, seesaw, kind, gains
        self.reference = reference or ComReference()
        self.gravity = gravity
        self.rigid = RigidBody(robot, gravity)
        self.constraints = [
            FootConstraints.of(
                box, seesaw.friction, seesaw.torsional_friction, gains.lowest_normal_force
            )
            for box in robot.foot_boxes
        ]
        self.unsolved = 0
        self.reset(stance(robot, seesaw))

    @classmethod
    def named(
        cls,
        robot: BalancingRobot,
        kind: str,
        which: str = 'authors',
        reference: str = 'constant',
    ) -> 'MomentumController':
        """Make a controller for the usual board; see `gains` and `ComReference.parse`."""
        own = gains(kind, robot.model.joint_names, which)
        return cls(robot, Seesaw(), kind, own, ComReference.parse(reference))

    def reset(self, state: BalanceState) -> None:
        """Take the posture and the CoM of a state for those to hold."""
        self.posture = state.q
        terms = self.rigid.terms(state)
        self.com_at_rest = terms.com
        self.angular_integral = _angular_integral(terms.J, terms.centroidal)
        self._at_rest = self._holding(terms)
        self.restart()

    def restart(self) -> None:
        """Return to the state of the last `reset`."""
        self.last = self._at_rest
        self.unsolved = 0

    def command(self, state: BalanceState) -> Command:
        """Compute the torques for a state; hold the last ones if there is no solution."""
        reference = self.reference.at(state.time)
        reference[0] += self.com_at_rest
        try:
            with np.errstate(over='ignore', invalid='ignore'):
                self.last = self._command(state, reference)
        except (ValueError, np.linalg.LinAlgError):  # no state of a robot, or all but one
            self.last = replace(self.last, solved=False, com_reference=reference[0])
        self.unsolved += not self.last.solved
        return self.last

    def _command(self, state: BalanceState, reference: Array) -> Command:
        terms = CoupledTerms.at(self.rigid, self.seesaw, state, self.gravity)
        A, wanted = self._task(terms, state, reference)
        torques, wrenches, solved = self._solve(terms, state, A, wanted)
        momentum = terms.body.momentum - np.concatenate(
            [terms.body.mass * reference[1], np.zeros(3)]
        )
        if self.kind == MIXED:
            momentum[3:] = terms.total_momentum[3:]
        if not np.isfinite(momentum).all():
            raise ValueError('The state has no finite momentum.')
        return Command(torques, wrenches, solved, momentum, terms.body.com, reference[0])

    def _holding(self, body: BodyTerms) -> Command:
        """Torques and foot wrenches that hold the robot at rest (eq. 1 with ν̇ = 0)."""
        f, *_ = np.linalg.lstsq(body.J[:, :6].T, body.h[:6], rcond=None)
        limit = self.robot.torque_limit
        torques = np.clip(body.h[6:] - body.J[:, 6:].T @ f, -limit, limit)
        return Command(torques, f.reshape(2, 6), True, np.zeros(6), body.com, body.com)

    def _task(
        self, terms: CoupledTerms, state: BalanceState, reference: Array
    ) -> tuple[Array, Array]:
        """A (6, 12) and a (6,) of the task A f = a: the wanted rate of momentum less its bias."""
        gains, body = self.gains, terms.body
        position, velocity, acceleration = reference
        error = np.clip(position - body.com, -gains.com_saturation, gains.com_saturation)
        wanted_acceleration = (
            acceleration
            + gains.com_stiffness * error
            + gains.com_damping * (velocity - body.com_velocity)
        )
        linear = body.mass * wanted_acceleration
        linear[2] += body.mass * self.gravity
        if self.kind == MIXED:
            angular = -gains.angular_damping * terms.total_momentum[3:] - terms.bias_total[3:]
            A = np.concatenate([terms.A_robot[:3], terms.A_total[3:]])
        else:
            integral = self.angular_integral @ (state.q - self.posture)
            angular = (
                -gains.angular_damping * body.angular_momentum - gains.angular_stiffness * integral
            )
            A = terms.A_robot
        return A, np.concatenate([linear, angular])

    def _solve(
        self, terms: CoupledTerms, state: BalanceState, A: Array, wanted: Array
    ) -> tuple[Array, Array, bool]:
        """Choose the foot wrenches; the torques follow from them."""
        constant, slope = self._torques_of_wrenches(terms, state)
        U, singular, Vt = np.linalg.svd(A)
        rank = int((singular > _SINGULAR * singular[0]).sum())
        particular = Vt[:rank].T @ ((U[:, :rank].T @ wanted) / singular[:rank])
        free = Vt[rank:].T
        limits = zip(self.constraints, terms.body.R_soles, strict=True)
        C = block_diag(*(foot.in_world(R) for foot, R in limits))
        b = np.concatenate([foot.b for foot in self.constraints])
        S = slope @ free
        P = S.T @ S + self.gains.regularisation * np.eye(free.shape[1])
        gradient = S.T @ (constant + slope @ particular)
        z = solve_qp(P, gradient, C @ free, b - C @ particular)
        if z is None:
            return self.last.torques, self.last.wrenches, False
        f = particular + free @ z
        limit = self.robot.torque_limit
        torques = np.clip(constant + slope @ f, -limit, limit)
        return torques, f.reshape(2, 6), True

    def _torques_of_wrenches(
        self, terms: CoupledTerms, state: BalanceState
    ) -> tuple[Array, Array]:
        """τ = constant (n,) + slope (n, 12) f: eqs. 33 and 12, with h̄_s in h̄.

        N_Λ M_j of eq. 12 is the identity unless `Gains.literal_posture`.
        """
        body, board, gains = terms.body, terms.board, self.gains
        inverse_J = cho_solve(cho_factor(body.M), body.J.T).T  # J M⁻¹
        on_board = board.J_feet / np.diag(board.M)  # J_r M_s⁻¹
        Lambda = inverse_J[:, 6:]
        damped = Lambda @ Lambda.T + gains.pseudo_inverse_damping * np.eye(12)
        inverse = np.linalg.solve(damped, Lambda).T
        h = inverse_J @ body.h - on_board @ terms.h_board
        J = inverse_J @ body.J.T - on_board @ terms.A_board
        # Joint space seen from the centroidal coordinates: what is left of h and Jᵀ there.
        coupling = np.linalg.solve(body.M[:6, :6], body.M[:6, 6:]).T
        h_joints = body.h[6:] - coupling @ body.h[:6]
        J_joints = body.J[:, 6:].T - coupling @ body.J[:, :6].T
        weight = np.eye(len(state.q))
        if gains.literal_posture:
            M_joints = body.M[6:, 6:] - coupling @ body.M[:6, 6:]
            weight = M_joints - inverse @ (Lambda @ M_joints)
        posture = -gains.stiffness * (weight @ (state.q - self.posture))
        posture -= gains.damping * (weight @ state.qd)
        free = h_joints + posture
        must = h - body.Jdot_nu + board.J_feet_dot_nu
        constant = inverse @ (must - Lambda @ free) + free
        slope = -(inverse @ (J - Lambda @ J_joints) + J_joints)
        return constant, slope


def _angular_integral(J: Array, centroidal: Array) -> Array:
    """J_G(q_d) (3, n): approximates the integral of the angular momentum by q − q_d.

    The root moves as the soles, at rest, make it.
    """
    root = -np.linalg.lstsq(J[:, :6], J[:, 6:], rcond=None)[0]
    return centroidal[3:, :6] @ root + centroidal[3:, 6:]
