"""Robot and seesaw as one system: eqs. 25–31 of Nava et al., errata corrected.

Three errata: h̄_s lacks Γ⁻¹ in its last term (eq. 30); h̄ of eq. 33 must use h̄_s, not
h_s; f_bias lacks J_tᵀ before Γ⁻¹ (appendix C; a 5-vector is added to a 6-vector).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array, cross, skew
from izmp_dynamics.base.errors import MissingDependencyError
from izmp_dynamics.base.rotations import quaternion_of_matrix
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import BoardTerms, Seesaw, board_terms
from izmp_lab.seesaw.state import BalanceState


@dataclass(frozen=True)
class BodyTerms:
    """What eq. 1 and the momentum of the robot consist of, at a state.

    Attributes:
        mass: [kg].
        M: (6 + n, 6 + n) mass matrix.
        h: (6 + n,) Coriolis, centrifugal and gravity terms.
        J: (12, 6 + n) Jacobian of both soles: velocity of the origin, angular velocity; world
            axes.
        Jdot_nu: (12,) acceleration of the soles with ν̇ = 0.
        p_soles: (2, 3) origins in the world [m].
        R_soles: (2, 3, 3) world_R_sole.
        com: (3,) in the world [m].
        com_velocity: (3,) [m/s].
        angular_momentum: (3,) about the CoM, in world axes [kg·m²/s].
        centroidal: (6, 6 + n) centroidal momentum matrix: (linear; angular) momentum of ν.
    """

    mass: float
    M: Array
    h: Array
    J: Array
    Jdot_nu: Array
    p_soles: Array
    R_soles: Array
    com: Array
    com_velocity: Array
    angular_momentum: Array
    centroidal: Array

    @property
    def momentum(self) -> Array:
        """(6,) linear and angular momentum about the CoM, in world axes."""
        return np.concatenate([self.mass * self.com_velocity, self.angular_momentum])


class RigidBody:
    """A robot in Pinocchio."""

    def __init__(self, robot: BalancingRobot, gravity: float = GRAVITY) -> None:
        """Build the model."""
        self.pin = _pinocchio()
        self.model = self.pin.buildModelFromXML(robot.urdf.text, self.pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array([0.0, 0.0, -gravity])
        joints = [self.model.getJointId(name) for name in robot.model.joint_names]
        self.columns = np.array([self.model.idx_vs[joint] - 6 for joint in joints])
        self.order = np.concatenate([np.arange(6), 6 + self.columns])
        self.soles = [self.model.getFrameId(sole) for sole in robot.soles]
        armature = np.zeros(self.model.nv)
        armature[6 + self.columns] = robot.armature
        self.model.armature = armature
        self.data = self.model.createData()
        self.mass = float(self.pin.computeTotalMass(self.model))

    def terms(self, state: BalanceState) -> BodyTerms:
        """Compute all terms at a state."""
        pin, model, data = self.pin, self.model, self.data
        R = state.root.rotation
        q, v = self._coordinates(state)
        turn = np.eye(model.nv)  # ν → Pinocchio's velocity
        turn[:3, :3] = turn[3:6, 3:6] = R.T
        rate = np.zeros(model.nv)  # its derivative times ν
        rate[:3] = -cross(v[3:6], v[:3])
        pin.forwardKinematics(model, data, q, v, rate)
        pin.updateFramePlacements(model, data)
        pin.computeJointJacobians(model, data, q)
        soles = [self._sole(sole) for sole in self.soles]
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.nonLinearEffects(model, data, q, v) + M @ rate
        centroidal = pin.ccrba(model, data, q, v).copy()
        order = np.ix_(self.order, self.order)
        return BodyTerms(
            mass=self.mass,
            M=(turn.T @ M @ turn)[order],
            h=(turn.T @ h)[self.order],
            J=(np.concatenate([jacobian for jacobian, _ in soles]) @ turn)[:, self.order],
            Jdot_nu=np.concatenate([acceleration for _, acceleration in soles]),
            p_soles=np.stack([data.oMf[sole].translation for sole in self.soles]),
            R_soles=np.stack([data.oMf[sole].rotation for sole in self.soles]),
            com=data.com[0].copy(),
            com_velocity=data.hg.linear / self.mass,
            angular_momentum=data.hg.angular.copy(),
            centroidal=(centroidal @ turn)[:, self.order],
        )

    def point_jacobian(self, state: BalanceState, link: str) -> Array:
        """Return the Jacobian (3, 6 + n) of the CoM of the body that carries a link."""
        pin, model, data = self.pin, self.model, self.data
        q, _ = self._coordinates(state)
        frame = model.frames[model.getFrameId(link)]
        joint = frame.parentJoint
        pin.computeJointJacobians(model, data, q)
        jacobian = pin.getJointJacobian(model, data, joint, pin.LOCAL_WORLD_ALIGNED)
        lever = data.oMi[joint].rotation @ model.inertias[joint].lever
        jacobian = jacobian[:3] - pin.skew(lever) @ jacobian[3:]
        R = state.root.rotation
        jacobian[:, :6] = jacobian[:, :6] @ np.kron(np.eye(2), R.T)
        moved: Array = jacobian[:, self.order]
        return moved

    def energy(self, state: BalanceState) -> float:
        """Return kinetic and potential energy of the robot [J], without its rotors."""
        q, v = self._coordinates(state)
        return float(
            self.pin.computeKineticEnergy(self.model, self.data, q, v)
            + self.pin.computePotentialEnergy(self.model, self.data, q)
        )

    def _coordinates(self, state: BalanceState) -> tuple[Array, Array]:
        """Pinocchio's position (7 + n,) and velocity (6 + n,)."""
        R = state.root.rotation
        q, v = np.empty(self.model.nq), np.empty(self.model.nv)
        q[:3], q[3:7] = state.root.position, quaternion_of_matrix(R)
        q[7 + self.columns] = state.q
        v[:3], v[3:6] = R.T @ state.root.velocity, R.T @ state.root.angular_velocity
        v[6 + self.columns] = state.qd
        return q, v

    def _sole(self, frame: int) -> tuple[Array, Array]:
        """Jacobian (6, 6 + n) for Pinocchio's velocity, and acceleration (6,) of a sole."""
        pin, aligned = self.pin, self.pin.LOCAL_WORLD_ALIGNED
        jacobian = pin.getFrameJacobian(self.model, self.data, frame, aligned)
        acceleration = pin.getFrameClassicalAcceleration(self.model, self.data, frame, aligned)
        return jacobian, acceleration.vector


def _pinocchio() -> Any:
    try:
        import pinocchio
    except ImportError as error:
        raise MissingDependencyError(
            'pinocchio', 'Balancing on the seesaw', 'pip install pin (ROS: ros-<distro>-pinocchio)'
        ) from error
    return pinocchio


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
        return np.diag(1.0 / np.diag(self.board.M))

    @cached_property
    def _rolling(self) -> Array:
        """(6, 6) what the ground leaves of a wrench on the board: 1 − J_sᵀ Γ⁻¹ J_s M_s⁻¹."""
        J, inverse = self.board.J_ground, self._inverse_board_mass
        return np.eye(6) - self.ground_on_board @ J @ inverse

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
        return robot + board

    @cached_property
    def _ground_about_total(self) -> Array:
        """(6, 5): J_tᵀ Γ⁻¹, the wrench of the ground about the common centre of mass."""
        turn = np.kron(np.eye(2), self.board.R)
        return self._to_total(self.board.com) @ turn @ self.ground_on_board

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
