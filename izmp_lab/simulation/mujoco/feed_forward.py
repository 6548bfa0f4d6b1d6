"""What the servos are told besides the plan: planned joint torques, ankle feedback."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.spec import GYRO, ORIENTATION, mujoco
from izmp_lab.walking.inverse_dynamics import Load, ground_reaction, ground_torques
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

    One foot carries the net ground reaction alone; two feet share it in the ratio in which the ZMP
    divides the line between the soles, see `walking.inverse_dynamics`.

    Args:
        plan: the plan, on the ground z = 0.
        plant: the robot; rotor inertia and damping of its servos are included.

    Raises:
        SimulationError: if no foot or more than two carry at some instant, or if the plan makes
            the robot leave the ground.
    """
    model, gravity, scale = plant.robot, plant.file.gravity, plant.physics.mass_scale
    joints = (plan.q, plan.qd, plan.qdd)
    reaction, _ = ground_reaction(model, gravity, plan.root, *joints)
    zmp = zero_moment_point(reaction, np.array([0.0, 0.0, 1.0]), np.zeros(3), 0.0)
    if np.isnan(zmp).any():
        time = int(np.argmax(np.isnan(zmp).any(axis=1))) * plan.time_step
        raise SimulationError(
            f"The plan '{plan.name}' makes the robot leave the ground at {time:.3f} s; the ground "
            'can only push.',
            kind='leaves_ground',
            plan=plan.name,
            time=time,
        )
    _check_feet(plan)
    load = Load(reaction, zmp, np.stack([foot.position for foot in plan.feet], axis=1))
    torques = scale * ground_torques(model, gravity, plan.root, joints, plan.feet, load)
    armature, damping = np.array([(servo.armature, servo.damping) for servo in plant.servos]).T
    return plan.with_feed_forward(torques + armature * plan.qdd + damping * plan.qd, zmp)


def _check_feet(plan: MotionPlan) -> None:
    carrying = np.sum([foot.contact for foot in plan.feet], axis=0)
    if (carrying == 0).any() or len(plan.feet) != 2:
        row = int(np.argmax(carrying == 0))
        raise SimulationError(
            f"The plan '{plan.name}' has {len(plan.feet)} feet, of which {carrying[row]} carry at "
            f'{row * plan.time_step:.3f} s; torques can be found for two, if one of them carries.',
            kind='carrying_feet',
            plan=plan.name,
            time=row * plan.time_step,
            feet=int(carrying[row]),
        )
