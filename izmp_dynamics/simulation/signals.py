"""From raw samples to sensor signals and truth in the conventions of this package."""

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import Array, Stamps
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.model.robot_file import Foot
from izmp_dynamics.motion.root_motion import RootMotion
from izmp_dynamics.simulation.mujoco_model import MujocoRobot
from izmp_dynamics.simulation.mujoco_spec import FORCE, GYRO, ORIENTATION, TORQUE
from izmp_dynamics.simulation.samples import Samples
from izmp_dynamics.simulation.simulated_run import FootTruth, ImuSignals, SimulatedRun, Truth
from izmp_dynamics.stability.zmp import zero_moment_point

LOADED = 0.05
"""Part of the weight from which on a foot, or the ground, counts as carrying [-]."""


def simulated_run(
    samples: Samples, plant: MujocoRobot, motion: str, stamps: Stamps, fall: str
) -> SimulatedRun:
    """Translate raw samples.

    Args:
        samples: as MuJoCo gave them.
        plant: the robot.
        motion: name of the plan that was executed.
        stamps: (T,) instants [ns].
        fall: how the robot fell; empty if it stands.
    """
    file = plant.file

    def read(name: str) -> Array:
        values: Array = samples.sensors[:, plant.sensor(name)].copy()
        return values

    imu = file.imu.topic
    return SimulatedRun(
        motion=motion,
        robot=plant.robot.name,
        root=plant.robot.root,
        joint_names=plant.robot.joint_names,
        stamps=stamps,
        q=samples.qpos[:, plant.q_columns],
        effort=samples.effort,
        imu=ImuSignals(read(imu + GYRO), read(imu + FORCE), _xyzw(read(imu + ORIENTATION))),
        accelerometers={sensor.topic: read(sensor.topic) for sensor in file.accelerometers},
        position=read(file.position.topic) if file.position else None,
        wrenches={
            # MuJoCo tells what the robot above the sensor exerts on the foot below it.
            foot.wrench.topic: -foot.wrench.sign
            * np.hstack([read(foot.wrench.topic + FORCE), read(foot.wrench.topic + TORQUE)])
            for foot in file.feet
            if foot.wrench
        },
        truth=_truth(plant, samples),
        fall=fall,
    )


def _truth(plant: MujocoRobot, samples: Samples) -> Truth:
    root = RootMotion(
        position=samples.qpos[:, :3],
        rotation=Rotation.from_quat(np.roll(samples.qpos[:, 3:7], -1, axis=1)).as_matrix(),
        velocity=samples.qvel[:, :3],
        angular_velocity=samples.qvel[:, 3:6],
        acceleration=samples.qacc[:, :3],
        angular_acceleration=samples.qacc[:, 3:6],
    )
    moments = np.cross(samples.corner_points, samples.corner_forces)
    by_foot = ContactWrench(samples.corner_forces.sum(axis=2), moments.sum(axis=2))
    contact = ContactWrench(by_foot.force.sum(axis=1), by_foot.moment.sum(axis=1))
    pushed = ContactWrench.from_array(samples.pushed)
    loaded = LOADED * float(plant.model.body_mass.sum()) * plant.file.gravity
    up, ground = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    q = samples.qpos[:, plant.q_columns]
    return Truth(
        qd=samples.qvel[:, plant.v_columns],
        qdd=samples.qacc[:, plant.v_columns],
        root=root,
        com=samples.com,
        contact_wrench=_in_frame(contact, root.rotation, root.position).as_array(),
        applied_wrench=_in_frame(pushed, root.rotation, root.position).as_array(),
        cop=zero_moment_point(contact, up, ground, loaded),
        feet={
            foot.name: _foot_truth(
                *_sole_pose(plant, foot, root, q),
                foot,
                ContactWrench(by_foot.force[:, index], by_foot.moment[:, index]),
                loaded,
            )
            for index, foot in enumerate(plant.file.feet)
        },
    )


def _sole_pose(plant: MujocoRobot, foot: Foot, root: RootMotion, q: Array) -> tuple[Array, Array]:
    """Orientation world_R_sole (T, 3, 3) and place of a sole in the world (T, 3) [m]."""
    root_R_sole, p_in_root = plant.robot.frame_pose(foot.sole, q)
    return (
        root.rotation @ root_R_sole,
        root.position + np.einsum('tij,tj->ti', root.rotation, p_in_root),
    )


def _foot_truth(
    world_R_sole: Array, p_sole: Array, foot: Foot, reaction: ContactWrench, loaded: float
) -> FootTruth:
    polygon = np.array([[x, y, 0.0] for x, y in foot.polygon])
    return FootTruth(
        corners=p_sole[:, None] + np.einsum('tij,vj->tvi', world_R_sole, polygon),
        normal_force=reaction.force[:, 2],
        wrench=_in_frame(reaction, world_R_sole, p_sole).as_array(),
        loaded=reaction.force[:, 2] >= loaded,
    )


def _in_frame(wrench: ContactWrench, world_R_frame: Array, p_frame: Array) -> ContactWrench:
    """Express a wrench of the world in a frame, about the frame's origin."""
    R = np.swapaxes(world_R_frame, 1, 2)
    return wrench.transformed(R, -np.einsum('tij,tj->ti', R, p_frame))


def _xyzw(wxyz: Array) -> Array:
    """Reorder quaternions and let the sign of each continue the one before."""
    quaternions: Array = np.roll(wxyz, -1, axis=1)
    flips = np.sum(quaternions[1:] * quaternions[:-1], axis=1) < 0.0
    signs = np.where(np.cumsum(flips) % 2, -1.0, 1.0)
    quaternions[1:] *= signs[:, None]
    return quaternions
