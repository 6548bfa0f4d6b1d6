"""The plant: executes a motion plan in MuJoCo and returns sensor signals and ground truth.

Besides the plan, servos get the planned joint torques and the feedback of the ankles.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.signals import StepSamples, simulated_run
from izmp_lab.simulation.mujoco.spec import GYRO, ORIENTATION, diverged, mujoco
from izmp_lab.simulation.physics import Physics, Push
from izmp_lab.simulation.simulated_run import SimulatedRun
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


Control = Callable[[float, Any], Array]
"""Gives the set points of the servos (n,) at a time [s] from mujoco.MjData before the step."""

_LOWEST_ROOT = 0.6
_UPRIGHT = 0.5  # the cosine of 60°
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

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if self.divisor < 1 or self.settle < 0.0:
            raise SimulationError(
                f'The divisor of the sampling must be at least 1 and the settling time at least '
                f'0 s, not {self.divisor} and {self.settle} s.',
                kind='sampling',
                divisor=self.divisor,
                settle=self.settle,
            )

    @classmethod
    def at_rate(cls, rate: float, physics: Physics) -> 'Sampling':
        """Sample at a rate [Hz].

        Raises:
            SimulationError: if the rate does not divide that of the physics.
        """
        steps = 1.0 / (rate * physics.time_step) if rate > 0.0 else 0.0
        divisor = round(steps)
        if divisor < 1 or abs(steps - divisor) > 1e-9 * divisor:
            raise SimulationError(
                f'A sensor rate of {rate:g} Hz does not divide the rate of the physics, '
                f'{1.0 / physics.time_step:g} Hz; choose that rate or an integer divisor of it.',
                kind='rate_divides_not',
                rate=rate,
                physics_rate=1.0 / physics.time_step,
            )
        return cls(divisor=divisor)


def simulate(
    plan: MotionPlan,
    plant: MujocoRobot,
    *,
    sampling: Sampling | None = None,
    pushes: Sequence[Push] = (),
    feedback: AnkleFeedback | None = None,
    control: Control | None = None,
    progress: Callable[[float], None] | None = None,
) -> SimulatedRun:
    """Execute a plan.

    Args:
        plan: what the servos are to follow; with feed-forward torques if it has any.
        plant: the robot.
        sampling: when samples are taken.
        pushes: forces on the robot.
        feedback: of the tilt of the root to the ankles; none if None.
        control: gives the set points in place of the plan; the plan's if None.
        progress: is called now and then with the part that is done, 0 … 1.

    Returns:
        Ideal sensor signals and the truth. If the robot falls, the run ends there and says so.

    Raises:
        MotionError: with feedback, if a leg of the robot has not the geometry of `leg_ik`.
        SimulationError: if the plan is for another robot or the simulation diverges.
        UnknownNameError: if a push names an unknown link.
    """
    if plan.joint_names != plant.robot.joint_names:
        raise SimulationError(
            f"The plan '{plan.name}' is for other joints ({', '.join(plan.joint_names)}) than the "
            f"robot '{plant.robot.name}' has ({', '.join(plant.robot.joint_names)}).",
            kind='other_joints',
            plan=plan.name,
            robot=plant.robot.name,
        )
    execution = Execution(plan, plant, sampling, pushes, feedback, control)
    return execution.advance(execution.steps, progress)


class Execution:
    """Executes a plan in pieces, or as a whole; arguments as of `simulate`.

    Attributes:
        steps: of the physics, of the whole plan.
        is_over: whether the plan has been executed, or the robot fell.
    """

    def __init__(
        self,
        plan: MotionPlan,
        plant: MujocoRobot,
        sampling: Sampling | None = None,
        pushes: Sequence[Push] = (),
        feedback: AnkleFeedback | None = None,
        control: Control | None = None,
    ) -> None:
        self.plan, self.plant, self.sampling = plan, plant, sampling or Sampling()
        self.data = mujoco.MjData(plant.model)
        time_step = plant.physics.time_step
        self.steps = round(plan.duration / time_step) + 1
        self.ctrl = self._controls()
        self.pushes = [(plant.body_of(push.link), *push.steps(time_step), push) for push in pushes]
        self.control = control
        self.ankles = AnkleController(feedback, plan, plant) if feedback else None
        self.fall = ''
        self.lowest = float(self._above_ground(plan.root.position).min())
        self._next = 0
        self._settle(round(self.sampling.settle / time_step))

    @property
    def is_over(self) -> bool:
        """Whether the plan has been executed, or the robot fell."""
        return self._next >= self.steps or bool(self.fall)

    def _controls(self) -> Array:
        """Set points (steps, n) of the servos: q_ref + (kv q̇_ref + τ_ff) / kp."""
        times = self.plant.physics.time_step * np.arange(self.steps, dtype=np.float64)
        q, qd, feed_forward = self.plan.references(times)
        kp = np.array([servo.kp for servo in self.plant.servos])
        kv = np.array([servo.kv for servo in self.plant.servos])
        controls: Array = q + (kv * qd + feed_forward) / kp
        return controls

    def _settle(self, steps: int) -> None:
        """Put the robot into the first posture and let it settle."""
        model, data, plant = self.plant.model, self.data, self.plant
        data.qpos[:3] = self.plan.root.position[0]
        mujoco.mju_mat2Quat(data.qpos[3:7], self.plan.root.rotation[0].ravel())
        data.qpos[plant.q_columns] = self.plan.q[0]
        data.ctrl[plant.ctrl_columns] = self.ctrl[0]
        for step in range(-steps, 0):
            if self.control:
                data.ctrl[plant.ctrl_columns] = self._set_points(step)
            mujoco.mj_step(model, data)
        if self.ankles:
            mujoco.mj_forward(model, data)

    def advance(self, steps: int, progress: Callable[[float], None] | None = None) -> SimulatedRun:
        """Execute the next steps of the physics; return the samples that are due in them.

        Args:
            steps: how many; fewer are executed at the end of the plan and at a fall.
            progress: is called now and then with the part of the plan that is done, 0 … 1.
        """
        divisor, step_time = self.sampling.divisor, self.plant.physics.time_step
        samples, first = StepSamples.empty(self.plant, -(-steps // divisor)), self._next
        end = min(first + steps, self.steps)
        while self._next < end and not self.fall:
            step, self._next = self._next, self._next + 1
            self.data.ctrl[self.plant.ctrl_columns] = self._set_points(step)
            self._push(step)
            if step % divisor == 0:
                samples.take(self.plant, self.data)
                self.fall = self._fallen(step)
            else:
                mujoco.mj_step(self.plant.model, self.data)
            if progress and not self.fall and step % _REPORT_EVERY == 0:
                progress(step / self.steps)
        if progress and not self.fall:
            progress(1.0)
        period = round(step_time * NANOSECONDS) * divisor
        count = -(-first // divisor) + np.arange(samples.count, dtype=np.int64)
        stamps: Stamps = self.sampling.start + period * count
        return simulated_run(samples.filled(), self.plant, self.plan.name, stamps, self.fall)

    def _set_points(self, step: int) -> Array:
        if self.control:
            return self.control(step * self.plant.physics.time_step, self.data)
        set_points: Array = self.ctrl[step]
        if self.ankles:
            time = step * self.plant.physics.time_step
            set_points = set_points + self.ankles.correction(time, self.data)
        return set_points

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
        if diverged(data):
            raise SimulationError(
                f'The simulation diverged at {time:.3f} s.', kind='diverged', time=time
            )
        height = float(self._above_ground(data.qpos[:3]))
        upright = data.xmat[1, 8]
        place = f"'{self.plant.robot.root}'"
        if upright < _UPRIGHT:
            tilt = np.degrees(np.arccos(upright))
            return f'The robot fell at {time:.3f} s: {place} is tilted by {tilt:.0f}°.'
        if height < _LOWEST_ROOT * self.lowest:
            return (
                f'The robot fell at {time:.3f} s: {place} is {height:.2f} m above the ground; the '
                f'plan never goes below {self.lowest:.2f} m.'
            )
        return ''

    def _above_ground(self, places: Array) -> Array:
        """Heights (…) of places (…, 3) of the world above the ground [m]."""
        return places[..., 2] - self.plant.terrain.height(places[..., :2])
