"""Rigid-body terms of the robot, from Pinocchio; the one place where the package uses it.

The velocity of the robot is ν = (velocity of the root's origin, angular velocity of the root,
q̇), both vectors in world axes (Nava et al., sect. II-B); Pinocchio's is in axes of the root. The
mass matrix includes the rotors.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY, Array, cross
from izmp_dynamics.base.errors import MissingDependencyError, SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.state import BalanceState

FEET = 2
"""Left, right: the order of soles, Jacobians and wrenches."""


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
        """Build the model.

        Raises:
            MissingDependencyError: if Pinocchio is not installed.
            SimulationError: if a joint has not one position, or the URDF has another root than
                the robot.
        """
        self.pin = _pinocchio()
        self.robot = robot
        self.model = self.pin.buildModelFromXML(robot.urdf.text, self.pin.JointModelFreeFlyer())
        self.model.gravity.linear = np.array([0.0, 0.0, -gravity])
        self.columns = np.array([self._column(name) for name in robot.model.joint_names])
        self.order = np.concatenate([np.arange(6), 6 + self.columns])
        self.soles = [self.model.getFrameId(sole) for sole in robot.soles]
        armature = np.zeros(self.model.nv)
        armature[6 + self.columns] = robot.armature
        self.model.armature = armature
        self.data = self.model.createData()
        self.mass = float(self.pin.computeTotalMass(self.model))

    def _column(self, name: str) -> int:
        joint = self.model.getJointId(name)
        if joint >= self.model.njoints or self.model.nqs[joint] != 1:
            raise SimulationError(
                f"Joint '{name}' of '{self.robot.name}' has not one position in Pinocchio; "
                'continuous joints need limits here.',
                kind='joint_without_position',
                robot=self.robot.name,
                joint=name,
            )
        return int(self.model.idx_vs[joint]) - 6

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
        q[:3], q[3:7] = state.root.position, from_matrices(R).as_quat()
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
