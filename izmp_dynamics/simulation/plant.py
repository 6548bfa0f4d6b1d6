"""The plant: executes a motion plan in MuJoCo and tells what sensors and truth were.

During a call of `mj_step` everything that depends on accelerations (qacc, sensors, contacts,
poses of bodies) is computed for the instant k at which the step starts, while qpos and qvel are
advanced to k + 1. So qpos and qvel are taken before the call and all the rest after it: every row
of the result belongs to one instant. The Euler integrator makes q̇(k+1) − q̇(k) = q̈(k) Δt exactly.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from izmp_dynamics.conventions import NANOSECONDS, Array
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.errors import SimulationError
from izmp_dynamics.motion.plan import MotionPlan
from izmp_dynamics.motion.root_motion import RootMotion
from izmp_dynamics.simulation.engine import mujoco
from izmp_dynamics.simulation.mujoco_model import (
    FORCE,
    GYRO,
    ORIENTATION,
    TORQUE,
    MujocoRobot,
)
from izmp_dynamics.simulation.physics import Push
from izmp_dynamics.simulation.simulated_run import FootTruth, ImuSignals, SimulatedRun, Truth
from izmp_dynamics.stability.zmp import zero_moment_point

LOADED = 0.05
"""Part of the weight from which on a foot, or the ground, counts as carrying [-]."""

_LOWEST_ROOT = 0.6
_LARGEST_TILT_DEG = 60.0
_REPORT_EVERY = 50


@dataclass(frozen=True)
class Sampling:
    """When samples are taken.

    Attributes:
        divisor: physics steps per sample: at 2 ms, 1 gives 500 Hz and 4 gives 125 Hz.
        settle: time for which the first posture is held before the recording starts [s].
        start: stamp of the first sample [ns]; not 0, which ROS reads as 'not set'.
    """

    divisor: int = 1
    settle: float = 1.0
    start: int = NANOSECONDS


def simulate(
    plan: MotionPlan,
    plant: MujocoRobot,
    *,
    sampling: Sampling | None = None,
    pushes: Sequence[Push] = (),
    progress: Callable[[float], None] | None = None,
) -> SimulatedRun:
    """Execute a plan.

    Args:
        plan: what the servos are to follow; with feed-forward torques if it has any.
        plant: the robot.
        sampling: when samples are taken.
        pushes: forces on the robot.
        progress: is called now and then with the part that is done, 0 … 1.

    Returns:
        Ideal sensor signals and the truth. If the robot falls, the run ends there and says so.

    Raises:
        SimulationError: if the plan is for another robot or the simulation diverges.
        UnknownNameError: if a push names an unknown link.
    """
    if plan.joint_names != plant.robot.joint_names:
        raise SimulationError(
            f"The plan '{plan.name}' is for other joints ({', '.join(plan.joint_names)}) than the "
            f"robot '{plant.robot.name}' has ({', '.join(plant.robot.joint_names)})."
        )
    execution = _Execution(plan, plant, sampling or Sampling(), pushes)
    execution.run(progress)
    return _result(execution)


class _Execution:
    """One run: the state of MuJoCo and the raw samples."""

    def __init__(
        self, plan: MotionPlan, plant: MujocoRobot, sampling: Sampling, pushes: Sequence[Push]
    ) -> None:
        self.plan, self.plant, self.sampling = plan, plant, sampling
        self.data = mujoco.MjData(plant.model)
        time_step = plant.physics.time_step
        self.steps = round(plan.duration / time_step) + 1
        self.settling_steps = round(sampling.settle / time_step)
        self.ctrl = self._controls()
        self.pushes = [(plant.body_of(push.link), *push.steps(time_step), push) for push in pushes]
        self.samples = _Samples.empty(plant, -(-self.steps // sampling.divisor))
        self.fall = ''

    def _controls(self) -> Array:
        """Set points (steps, n) of the servos: q_ref + (kv q̇_ref + τ_ff) / kp."""
        times = self.plant.physics.time_step * np.arange(self.steps, dtype=np.float64)
        q, qd, feed_forward = self.plan.references(times)
        kp = np.array([servo.kp for servo in self.plant.servos])
        kv = np.array([servo.kv for servo in self.plant.servos])
        controls: Array = q + (kv * qd + feed_forward) / kp
        return controls

    def run(self, progress: Callable[[float], None] | None) -> None:
        model, data, plant = self.plant.model, self.data, self.plant
        data.qpos[:3] = self.plan.root.position[0]
        mujoco.mju_mat2Quat(data.qpos[3:7], self.plan.root.rotation[0].ravel())
        data.qpos[plant.q_columns] = self.plan.q[0]
        data.ctrl[plant.ctrl_columns] = self.ctrl[0]
        for _ in range(self.settling_steps):
            mujoco.mj_step(model, data)
        for step in range(self.steps):
            data.ctrl[plant.ctrl_columns] = self.ctrl[step]
            self._push(step)
            if step % self.sampling.divisor == 0:
                self.samples.take(plant, data)
                self.fall = self._fallen(step)
                if self.fall:
                    return
            else:
                mujoco.mj_step(model, data)
            if progress and step % _REPORT_EVERY == 0:
                progress(step / self.steps)
        if progress:
            progress(1.0)

    def _push(self, step: int) -> None:
        if not self.pushes:
            return
        self.data.xfrc_applied[:] = 0.0
        for body, first, end, push in self.pushes:
            if first <= step < end:
                self.data.xfrc_applied[body, :3] += push.force

    def _fallen(self, step: int) -> str:
        """Say how the robot fell; '' if it stands."""
        data, time = self.data, step * self.plant.physics.time_step
        if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise SimulationError(f'The simulation diverged at {time:.3f} s.')
        height, upright = data.qpos[2], data.xmat[1].reshape(3, 3)[2, 2]
        place = f"'{self.plant.robot.root}'"
        if upright < np.cos(np.radians(_LARGEST_TILT_DEG)):
            tilt = np.degrees(np.arccos(upright))
            return f'The robot fell at {time:.3f} s: {place} is tilted by {tilt:.0f}°.'
        planned = self.plan.root.position[:, 2].min()
        if height < _LOWEST_ROOT * planned:
            return (
                f'The robot fell at {time:.3f} s: {place} is {height:.2f} m above the ground; the '
                f'plan never goes below {planned:.2f} m.'
            )
        return ''


@dataclass
class _Samples:
    """Raw samples as MuJoCo gives them; `count` rows are filled.

    `corner_forces` are what the ground exerts on each corner of each foot, in world axes.
    """

    qpos: Array
    qvel: Array
    qacc: Array
    effort: Array
    sensors: Array
    com: Array
    pushed: Array
    corner_points: Array
    corner_forces: Array
    count: int = 0

    @classmethod
    def empty(cls, plant: MujocoRobot, rows: int) -> '_Samples':
        model, feet = plant.model, plant.file.feet
        corners = (len(feet), max((len(foot.polygon) for foot in feet), default=0), 3)
        return cls(
            qpos=np.empty((rows, model.nq)),
            qvel=np.empty((rows, model.nv)),
            qacc=np.empty((rows, model.nv)),
            effort=np.empty((rows, model.nu)),
            sensors=np.empty((rows, model.nsensordata)),
            com=np.empty((rows, 3)),
            pushed=np.zeros((rows, 6)),
            corner_points=np.zeros((rows, *corners)),
            corner_forces=np.zeros((rows, *corners)),
        )

    def take(self, plant: MujocoRobot, data: Any) -> None:
        """Make one step and keep what belongs to the instant at which it started."""
        row = self.count
        self.qpos[row], self.qvel[row] = data.qpos, data.qvel
        mujoco.mj_step(plant.model, data)
        self.qacc[row] = data.qacc
        self.effort[row] = data.actuator_force[plant.ctrl_columns]
        self.sensors[row] = data.sensordata
        self.com[row] = data.subtree_com[1]
        self._take_contacts(plant, data, row)
        if data.xfrc_applied.any():
            self._take_pushes(data, row)
        self.count += 1

    def _take_contacts(self, plant: MujocoRobot, data: Any, row: int) -> None:
        wrench = np.empty(6)
        contacts = data.contact
        geoms, frames, points = contacts.geom, contacts.frame, contacts.pos
        for index in range(data.ncon):
            sign, place = 1.0, plant.spheres.get(int(geoms[index, 1]))
            if place is None:  # the force of a contact acts on its second geom
                sign, place = -1.0, plant.spheres.get(int(geoms[index, 0]))
            if place is None:
                continue
            foot, corner = place
            mujoco.mj_contactForce(plant.model, data, index, wrench)
            force = sign * wrench[:3] @ frames[index].reshape(3, 3)
            self.corner_forces[row, foot, corner] = force
            self.corner_points[row, foot, corner] = points[index]

    def _take_pushes(self, data: Any, row: int) -> None:
        """Sum the pushes to a force and a moment about the world's origin, in world axes."""
        force = data.xfrc_applied[:, :3]
        self.pushed[row, :3] = force.sum(axis=0)
        self.pushed[row, 3:] = np.cross(data.xipos, force).sum(axis=0)


def _result(execution: _Execution) -> SimulatedRun:
    plant, samples, sampling = execution.plant, execution.samples, execution.sampling
    rows = slice(0, samples.count)
    interval = round(plant.physics.time_step * NANOSECONDS) * sampling.divisor
    sensors = samples.sensors[rows]
    file = plant.file

    def read(name: str) -> Array:
        values: Array = sensors[:, plant.sensor(name)].copy()
        return values

    imu = file.imu.topic
    return SimulatedRun(
        motion=execution.plan.name,
        robot=plant.robot.name,
        root=plant.robot.root,
        joint_names=plant.robot.joint_names,
        stamps=sampling.start + interval * np.arange(samples.count, dtype=np.int64),
        q=samples.qpos[rows][:, plant.q_columns],
        effort=samples.effort[rows],
        imu=ImuSignals(read(imu + GYRO), read(imu + FORCE), _xyzw(read(imu + ORIENTATION))),
        accelerometers={sensor.topic: read(sensor.topic) for sensor in file.accelerometers},
        position=read(file.position.topic) if file.position else None,
        wrenches={
            # MuJoCo tells what the robot above the sensor exerts on the foot below it.
            foot.wrench.topic: -np.concatenate(
                [read(foot.wrench.topic + FORCE), read(foot.wrench.topic + TORQUE)], axis=1
            )
            for foot in file.feet
            if foot.wrench
        },
        truth=_truth(plant, samples, rows),
        fall=execution.fall,
    )


def _truth(plant: MujocoRobot, samples: _Samples, rows: slice) -> Truth:
    qvel, qacc = samples.qvel[rows], samples.qacc[rows]
    root = RootMotion(
        position=samples.qpos[rows, :3],
        rotation=Rotation.from_quat(np.roll(samples.qpos[rows, 3:7], -1, axis=1)).as_matrix(),
        velocity=qvel[:, :3],
        angular_velocity=qvel[:, 3:6],
        acceleration=qacc[:, :3],
        angular_acceleration=qacc[:, 3:6],
    )
    force = samples.corner_forces[rows]
    moment = np.cross(samples.corner_points[rows], force)
    contact = ContactWrench(force.sum(axis=(1, 2)), moment.sum(axis=(1, 2)))
    weight = float(plant.model.body_mass.sum()) * plant.file.gravity
    up, ground = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    return Truth(
        qd=qvel[:, plant.v_columns],
        qdd=qacc[:, plant.v_columns],
        root=root,
        com=samples.com[rows],
        contact_wrench=_in_frame(contact, root.rotation, root.position).as_array(),
        applied_wrench=_in_frame(
            ContactWrench.from_array(samples.pushed[rows]), root.rotation, root.position
        ).as_array(),
        cop=zero_moment_point(contact, up, ground, LOADED * weight),
        feet={
            foot.name: _foot_truth(
                plant, root, foot_index, samples.qpos[rows][:, plant.q_columns], force, moment,
                LOADED * weight,
            )
            for foot_index, foot in enumerate(plant.file.feet)
        },
    )  # fmt: skip


def _foot_truth(
    plant: MujocoRobot, root: RootMotion, index: int, q: Array, force: Array, moment: Array,
    loaded: float,
) -> FootTruth:  # fmt: skip
    foot = plant.file.feet[index]
    root_R_sole, p_sole_in_root = plant.robot.frame_pose(foot.sole, q)
    world_R_sole = root.rotation @ root_R_sole
    p_sole = root.position + np.einsum('tij,tj->ti', root.rotation, p_sole_in_root)
    polygon = np.array([[x, y, 0.0] for x, y in foot.polygon])
    wrench = ContactWrench(force[:, index].sum(axis=1), moment[:, index].sum(axis=1))
    return FootTruth(
        corners=p_sole[:, None] + np.einsum('tij,vj->tvi', world_R_sole, polygon),
        normal_force=wrench.force[:, 2],
        wrench=_in_frame(wrench, world_R_sole, p_sole).as_array(),
        loaded=wrench.force[:, 2] >= loaded,
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
