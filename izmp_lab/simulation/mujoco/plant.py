"""The plant: executes a motion plan in MuJoCo and returns sensor signals and ground truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.simulation.mujoco.feed_forward import AnkleController, AnkleFeedback
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.signals import StepSamples, simulated_run
from izmp_lab.simulation.mujoco.spec import diverged, mujoco
from izmp_lab.simulation.physics import Physics, Push
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.walking.plan import MotionPlan

Control = Callable[[float, Any], Array]
"""Gives the set points of the servos (n,) at a time [s] from mujoco.MjData before the step."""

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
        upright = data.xmat[1].reshape(3, 3)[2, 2]
        place = f"'{self.plant.robot.root}'"
        if upright < np.cos(np.radians(_LARGEST_TILT_DEG)):
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
        heights: Array = places[..., 2] - self.plant.terrain.height(places[..., :2])
        return heights
