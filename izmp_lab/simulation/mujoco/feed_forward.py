"""What the servos are told besides the plan: planned joint torques, ankle feedback."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.spec import GYRO, ORIENTATION, mujoco
from izmp_lab.walking.leg_ik import Leg
from izmp_lab.walking.plan import MotionPlan

_FADE = 0.04
"""Time within which an ankle takes part after its foot has landed [s]."""


@dataclass(frozen=True)
class AnkleFeedback:
    """How much the ankles turn.

    Attributes:
        tilt: of the set point per difference in roll or pitch [rad/rad].
        rate: of the set point per difference in angular velocity [rad·s/rad].
        limit: largest change of a set point [rad].
    """

    tilt: float = 0.4
    rate: float = 0.02
    limit: float = 0.1


class AnkleController:
    """Computes the change of the servos' set points, step by step.

    Args:
        feedback: the gains.
        plan: whose root orientation is wanted, and whose feet stand when.
        plant: the robot.

    Raises:
        MotionError: if a foot's leg has not the geometry of `leg_ik`.
    """

    def __init__(self, feedback: AnkleFeedback, plan: MotionPlan, plant: MujocoRobot) -> None:
        self.feedback, self.plan, self.plant = feedback, plan, plant
        imu = plant.file.imu
        self.root_R_imu = plant.robot.mount(imu.frame or plant.robot.root).body_R_frame
        self.gyro, self.orientation = (
            plant.sensor(imu.topic + part) for part in (GYRO, ORIENTATION)
        )
        legs = [Leg.of(plant.robot, foot.sole) for foot in plan.feet]
        self.ankles = [(leg.columns[5], leg.columns[4]) for leg in legs]
        rows = max(1, round(_FADE / plan.time_step))
        contact = np.stack([foot.contact for foot in plan.feet], axis=1).astype(np.float64)
        before = np.concatenate([np.repeat(contact[:1], rows - 1, axis=0), contact])
        windows = np.lib.stride_tricks.sliding_window_view(before, rows, axis=0)
        self.weights = windows.mean(axis=2) * contact

    def correction(self, time: float, data: Any) -> Array:
        """Return what to add to the joints' set points (n,) [rad].

        Args:
            time: since the start of the plan [s].
            data: mujoco.MjData with the sensors of the last step.
        """
        row = min(round(time / self.plan.time_step), len(self.plan) - 1)
        root = self.plan.root
        imu = np.empty(9)
        mujoco.mju_quat2Mat(imu, data.sensordata[self.orientation])
        world_R_root = imu.reshape(3, 3) @ self.root_R_imu.T
        turned = world_R_root @ root.rotation[row].T
        tilt = world_R_root.T @ (0.5 * _axis(turned - turned.T))
        rate = self.root_R_imu @ data.sensordata[self.gyro] - root.angular_velocity[row]
        turn = self.feedback.tilt * tilt[:2] + self.feedback.rate * rate[:2]
        turn = np.clip(turn, -self.feedback.limit, self.feedback.limit)
        change = np.zeros(self.plant.robot.dof)
        for columns, weight in zip(self.ankles, self.weights[row], strict=True):
            change[list(columns)] += weight * turn
        return change


def _axis(skew: Array) -> Array:
    """The vector a (3,) of a skew matrix with skew @ b = a × b."""
    return np.array([skew[2, 1], skew[0, 2], skew[1, 0]])


def with_feed_forward(plan: MotionPlan, plant: MujocoRobot) -> MotionPlan:
    """Add the torques and the ZMP to a plan.

    The motion of the whole robot determines the net ground reaction and its ZMP. One foot carries
    it alone; two feet share it in the ratio in which the ZMP divides the line between the soles.
    Through the feet's Jacobians this reaction takes its part of the joint torques.

    Args:
        plan: the plan, on the ground z = 0.
        plant: the robot; rotor inertia and damping of its servos are included.

    Raises:
        SimulationError: if no foot or more than two carry at some instant, or if the plan makes
            the robot leave the ground.
    """
    generalized = _inverse_dynamics(plan, plant)
    force = generalized[:, :3]
    moment = np.einsum('tij,tj->ti', plan.root.rotation, generalized[:, 3:6])
    moment_about_origin = moment + np.cross(plan.root.position, force)
    up, origin = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    zmp = zero_moment_point(ContactWrench(force, moment_about_origin), up, origin, 0.0)
    if np.isnan(zmp).any():
        row = int(np.argmax(np.isnan(zmp).any(axis=1)))
        raise SimulationError(
            f"The plan '{plan.name}' makes the robot leave the ground at "
            f'{row * plan.time_step:.3f} s; the ground can only push.',
            kind='leaves_ground',
            plan=plan.name,
            time=row * plan.time_step,
        )
    twist = moment_about_origin - np.cross(zmp, force)
    torque = generalized[:, plant.v_columns]
    data = mujoco.MjData(plant.model)
    soles = np.stack([foot.position for foot in plan.feet], axis=1)
    shares = _shares(plan, soles, zmp)
    points = soles + (zmp - np.einsum('tf,tfi->ti', shares, soles))[:, None]
    bodies = [int(plant.model.site(foot.sole).bodyid[0]) for foot in plan.feet]
    jacobian_p, jacobian_r = np.zeros((2, 3, plant.model.nv))
    for t in range(len(plan)):
        _set_positions(data, plan, plant, t)
        mujoco.mj_kinematics(plant.model, data)
        mujoco.mj_comPos(plant.model, data)
        for foot, body in enumerate(bodies):
            if shares[t, foot] == 0.0:
                continue
            mujoco.mj_jac(plant.model, data, jacobian_p, jacobian_r, points[t, foot], body)
            reaction = jacobian_p.T @ force[t] + jacobian_r.T @ twist[t]
            torque[t] -= shares[t, foot] * reaction[plant.v_columns]
    return plan.with_feed_forward(torque, zmp)


def _inverse_dynamics(plan: MotionPlan, plant: MujocoRobot) -> Array:
    """Generalized forces (T, nv) of the planned motion, without contacts.

    The first six are the net ground reaction about the root origin: the force in world axes, the
    moment in root axes.
    """
    model = copy.copy(plant.model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)
    forces = np.empty((len(plan), model.nv))
    root = plan.root
    for t in range(len(plan)):
        _set_positions(data, plan, plant, t)
        data.qvel[:6] = *root.velocity[t], *root.angular_velocity[t]
        data.qvel[plant.v_columns] = plan.qd[t]
        data.qacc[:6] = *root.acceleration[t], *root.angular_acceleration[t]
        data.qacc[plant.v_columns] = plan.qdd[t]
        mujoco.mj_inverse(model, data)
        forces[t] = data.qfrc_inverse
    return forces


def _set_positions(data: 'mujoco.MjData', plan: MotionPlan, plant: MujocoRobot, t: int) -> None:
    data.qpos[:3] = plan.root.position[t]
    mujoco.mju_mat2Quat(data.qpos[3:7], plan.root.rotation[t].ravel())
    data.qpos[plant.q_columns] = plan.q[t]


def _shares(plan: MotionPlan, soles: Array, zmp: Array) -> Array:
    """Parts (T, F) of the ground reaction that the feet carry; they sum to one."""
    contact = np.stack([foot.contact for foot in plan.feet], axis=1)
    carrying = contact.sum(axis=1)
    if (carrying == 0).any() or len(plan.feet) > 2:
        row = int(np.argmax(carrying == 0))
        raise SimulationError(
            f"The plan '{plan.name}' has {len(plan.feet)} feet, of which {carrying[row]} carry at "
            f'{row * plan.time_step:.3f} s; torques can be found for one or two.',
            kind='carrying_feet',
            plan=plan.name,
            time=row * plan.time_step,
            feet=int(carrying[row]),
        )
    shares: Array = contact / carrying[:, None]
    if len(plan.feet) == 2:
        line = soles[:, 1] - soles[:, 0]
        second = np.sum((zmp - soles[:, 0]) * line, axis=1) / np.sum(line * line, axis=1)
        both = carrying == 2
        shares[both, 1] = np.clip(second, 0.0, 1.0)[both]
        shares[both, 0] = 1.0 - shares[both, 1]
    return shares
