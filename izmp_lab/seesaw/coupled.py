"""Robot and seesaw as one system: eqs. 25–31 of Nava et al., errata corrected.

Three errata: h̄_s lacks Γ⁻¹ in its last term (eq. 30); h̄ of eq. 33 must use h̄_s, not
h_s; f_bias lacks J_tᵀ before Γ⁻¹ (appendix C; a 5-vector is added to a 6-vector).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array, skew
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.board_terms import BoardTerms, board_terms
from izmp_lab.seesaw.rigid_body import BodyTerms, RigidBody
from izmp_lab.seesaw.state import BalanceState


@dataclass(frozen=True)
class CoupledTerms:
    """The system at a state.

    Attributes:
        body: terms of the robot.
        board: terms of the seesaw.
        gravity: [m/s²].
    """

    body: BodyTerms
    board: BoardTerms
    gravity: float

    @classmethod
    def at(
        cls, rigid: RigidBody, seesaw: Seesaw, state: BalanceState, gravity: float = GRAVITY
    ) -> 'CoupledTerms':
        """Compute the terms at a state."""
        return cls(rigid.terms(state), board_terms(seesaw, state.board, gravity), gravity)

    @cached_property
    def constraint_jacobian(self) -> Array:
        """(17, 12 + n): eqs. 21 and 23 of (ν, ν_s): feet less their places, rolling."""
        body, board = self.body, self.board
        size = len(body.h)
        J = np.zeros((17, size + 6))
        J[:12, :size], J[:12, size:], J[12:, size:] = body.J, -board.J_feet, board.J_ground
        return J

    @cached_property
    def constraint_bias(self) -> Array:
        """(17,) what the constraints accelerate by while ν̇ and ν̇_s are 0."""
        feet = self.body.Jdot_nu - self.board.J_feet_dot_nu
        return np.concatenate([feet, self.board.J_ground_dot_nu])

    @cached_property
    def ground_on_board(self) -> Array:
        """J_sᵀ Γ⁻¹ (6, 5): wrench on the board for an acceleration of its constraint."""
        J = self.board.J_ground
        gamma = J @ self._inverse_board_mass @ J.T
        wrench: Array = np.linalg.solve(gamma, J).T  # Γ is symmetric
        return wrench

    @cached_property
    def _inverse_board_mass(self) -> Array:
        inverse: Array = np.diag(1.0 / np.diag(self.board.M))
        return inverse

    @cached_property
    def _rolling(self) -> Array:
        """(6, 6) what the ground leaves of a wrench on the board: 1 − J_sᵀ Γ⁻¹ J_s M_s⁻¹."""
        J, inverse = self.board.J_ground, self._inverse_board_mass
        remainder: Array = np.eye(6) - self.ground_on_board @ J @ inverse
        return remainder

    @cached_property
    def A_board(self) -> Array:
        """A_s (6, 12) of eq. 30: M_s ν̇_s + h̄_s = A_s f."""
        A: Array = -self._rolling @ self.board.J_feet.T
        return A

    @cached_property
    def h_board(self) -> Array:
        """h̄_s (6,) of eq. 30, with Γ⁻¹ in the last term."""
        bias = self.ground_on_board @ self.board.J_ground_dot_nu
        h: Array = self._rolling @ self.board.h + bias
        return h

    @cached_property
    def total_mass(self) -> float:
        """Mass of robot and seesaw [kg]."""
        return float(self.body.mass + self.board.M[0, 0])

    @cached_property
    def total_com(self) -> Array:
        """Centre of mass of robot and seesaw (3,) [m]."""
        mass = self.board.M[0, 0]
        com: Array = (self.body.mass * self.body.com + mass * self.board.com) / self.total_mass
        return com

    @cached_property
    def total_momentum(self) -> Array:
        """H_t (6,) of robot and seesaw about their common centre of mass (eq. 47)."""
        turn = np.kron(np.eye(2), self.board.R)
        robot = self._to_total(self.body.com) @ self.body.momentum
        board = self._to_total(self.board.com) @ turn @ self.board.M @ self.board.nu
        momentum: Array = robot + board
        return momentum

    @cached_property
    def _ground_about_total(self) -> Array:
        """(6, 5): J_tᵀ Γ⁻¹, the wrench of the ground about the common centre of mass."""
        turn = np.kron(np.eye(2), self.board.R)
        wrench: Array = self._to_total(self.board.com) @ turn @ self.ground_on_board
        return wrench

    @cached_property
    def A_total(self) -> Array:
        """J_tᵀ A_t (6, 12) of eq. 31: Ḣ_t = J_tᵀ A_t f + f_bias."""
        through = self.board.J_ground @ self._inverse_board_mass @ self.board.J_feet.T
        A: Array = self._ground_about_total @ through
        return A

    @cached_property
    def bias_total(self) -> Array:
        """f_bias (6,) of eq. 31, with J_tᵀ before Γ⁻¹."""
        board = self.board
        held = board.J_ground @ self._inverse_board_mass @ board.h - board.J_ground_dot_nu
        bias: Array = self._ground_about_total @ held
        bias[2] -= self.total_mass * self.gravity
        return bias

    @cached_property
    def A_robot(self) -> Array:
        """J_bᵀ (6, 12) of eq. 9: Ḣ = J_bᵀ f − m g e₃."""
        blocks = []
        for p in self.body.p_soles:
            block = np.eye(6)
            block[3:, :3] = skew(p - self.body.com)
            blocks.append(block)
        return np.concatenate(blocks, axis=1)

    def _to_total(self, point: Array) -> Array:
        """ᵗX* (6, 6): a wrench or momentum about `point`, about the common centre of mass."""
        matrix = np.eye(6)
        matrix[3:, :3] = skew(point - self.total_com)
        return matrix
