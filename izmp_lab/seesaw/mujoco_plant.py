"""The plant with real contacts, MuJoCo, and the recording of its runs."""

import dataclasses
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, frozen
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw, stance
from izmp_lab.seesaw.mujoco_spec import (
    SensedRobot,
    board_of,
    build_seesaw,
    seesaw_physics,
    sensed_robot,
)
from izmp_lab.seesaw.state import BalanceState, RigidState
from izmp_lab.simulation.mujoco.model import MujocoRobot
from izmp_lab.simulation.mujoco.plant import Sampling
from izmp_lab.simulation.mujoco.signals import StepSamples, simulated_run, take_contacts
from izmp_lab.simulation.mujoco.spec import diverged, mujoco
from izmp_lab.simulation.physics import Physics
from izmp_lab.simulation.recording import record
from izmp_lab.simulation.simulated_run import SimulatedRun

_LOWEST_ROOT = 0.6
"""A root that is lower, against its height at first, has fallen [-]."""

Observer = Callable[['MujocoSeesaw'], None]
"""Is called in place of each step of the physics, and has to make it with `mj_step`."""


class MujocoSeesaw:
    """A `seesaw.plant.SeesawPlant`.

    Args:
        robot: the robot.
        seesaw: the board.
        physics: of the contacts; `seesaw_physics` if None.
        observer: makes the steps of the physics and samples them; nothing is sampled if None.

    Attributes:
        sensed: the robot with its sensors.
        plant: the compiled model.
        data: mujoco.MjData.
    """

    def __init__(
        self,
        robot: BalancingRobot,
        seesaw: Seesaw,
        physics: Physics | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.robot, self.seesaw = robot, seesaw
        self.sensed: SensedRobot = sensed_robot(robot, seesaw)
        physics = physics or seesaw_physics(seesaw)
        plant = build_seesaw(robot, self.sensed.urdf, self.sensed.file, seesaw, physics)
        if plant.robot.joint_names != robot.model.joint_names:
            raise SimulationError(
                f"The sensors of '{robot.name}' change the order of its joints.",
                kind='joint_order',
                robot=robot.name,
            )
        self.plant: MujocoRobot = dataclasses.replace(plant, board=board_of(plant.model, seesaw))
        self.data: Any = mujoco.MjData(plant.model)
        self._observer = observer
        self._torso = self.plant.body_of(robot.torso)
        self.reset(stance(robot, seesaw))

    @property
    def time_step(self) -> float:
        """Step of the physics [s]."""
        return self.plant.physics.time_step

    def reset(self, state: BalanceState) -> None:
        """Begin from a state."""
        plant, data = self.plant, self.data
        mujoco.mj_resetData(plant.model, data)
        _place(data, 0, 0, state.root)
        _place(data, self._board.q_column, self._board.v_column, state.board)
        data.qpos[plant.q_columns], data.qvel[plant.v_columns] = state.q, state.qd
        mujoco.mj_forward(plant.model, data)
        self._time, self._height = state.time, float(state.root.position[2])

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Hold the torques for a while; see `SeesawPlant.step`."""
        steps = round(duration / self.time_step)
        if steps < 1 or abs(steps * self.time_step - duration) > 1e-9:
            raise SimulationError(
                f'{duration:g} s is not a whole number of steps of {self.time_step:g} s.',
                kind='duration_not_whole_steps',
                duration=duration,
                time_step=self.time_step,
            )
        self.data.ctrl[self.plant.ctrl_columns] = torques
        self.data.xfrc_applied[self._torso, :3] = 0.0 if push is None else push
        for _ in range(steps):
            if self._observer is None:
                mujoco.mj_step(self.plant.model, self.data)
            else:
                self._observer(self)
            if diverged(self.data):
                raise SimulationError(
                    f'The simulation diverged at {self._time:.3f} s.',
                    kind='diverged',
                    time=self._time,
                )
        self._time += duration
        self._check()
        return self.state

    def _check(self) -> None:
        height = float(self.data.qpos[2])
        if height < _LOWEST_ROOT * self._height:
            root = self.robot.model.root
            raise SimulationError(
                f"The robot fell at {self._time:.2f} s: '{root}' is {height:.2f} m above the "
                f'ground, at first it was {self._height:.2f} m.',
                kind='fell',
                time=self._time,
                link=root,
                height=height,
            )

    @property
    def state(self) -> BalanceState:
        """The present state."""
        plant, data = self.plant, self.data
        return BalanceState(
            self._time,
            _state(data, 0, 0),
            data.qpos[plant.q_columns],
            data.qvel[plant.v_columns],
            _state(data, self._board.q_column, self._board.v_column),
        )

    @property
    def foot_wrenches(self) -> Array:
        """(2, 6) left, right: force and moment in world axes about the sole's origin."""
        wrenches = self._ground()
        for wrench, sole in zip(wrenches, self.robot.soles, strict=True):
            origin = self.data.site(sole).xpos
            wrench[3:] -= np.cross(origin, wrench[:3])
        return frozen(wrenches)

    @property
    def cop(self) -> Array:
        """Centre of pressure of both soles on the plate, in the board's frame (3,) [m].

        NaN while the feet are in the air.
        """
        body, height = self._board.body, self._board.height
        R = self.data.xmat[body].reshape(3, 3)
        wrench = ContactWrench.from_array(self._ground().sum(axis=0))
        in_board = wrench.seen_from(R, self.data.xpos[body])
        normal = np.array([0.0, 0.0, 1.0])
        return zero_moment_point(in_board, normal, height * normal, 1.0)

    @property
    def _board(self) -> Any:
        return self.plant.board

    def _ground(self) -> Array:
        """(2, 6) what the board exerts on the feet, about the world's origin, at the last step."""
        ground = np.zeros((2, 6))
        take_contacts(self.plant, self.data, ground)
        return ground


def _place(data: Any, q: int, v: int, state: RigidState) -> None:
    data.qpos[q : q + 3] = state.position
    data.qpos[q + 3 : q + 7] = np.roll(from_matrices(state.rotation).as_quat(), 1)
    data.qvel[v : v + 3] = state.velocity
    data.qvel[v + 3 : v + 6] = state.rotation.T @ state.angular_velocity


def _state(data: Any, q: int, v: int) -> RigidState:
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, data.qpos[q + 3 : q + 7])
    R = rotation.reshape(3, 3)
    return RigidState(data.qpos[q : q + 3], R, data.qvel[v : v + 3], R @ data.qvel[v + 3 : v + 6])


RATE = 500.0
"""Rate of the sensors [Hz]."""

_BLOCK = 1000


class SeesawRecorder:
    """Samples a plant at `RATE` while it is stepped; an observer of `MujocoSeesaw`."""

    def __init__(self) -> None:
        self._start = NANOSECONDS
        self._blocks: list[StepSamples] = []
        self._step = 0

    def __call__(self, seesaw: MujocoSeesaw) -> None:
        """Make one step of the physics; take a sample if it is the turn of one."""
        if self._step % self._divisor(seesaw) == 0:
            if not self._blocks or self._blocks[-1].count == _BLOCK:
                self._blocks.append(StepSamples.empty(seesaw.plant, _BLOCK))
            block = self._blocks[-1]
            block.take(seesaw.plant, seesaw.data)
            if diverged(seesaw.data):
                block.count -= 1
        else:
            mujoco.mj_step(seesaw.plant.model, seesaw.data)
        self._step += 1

    def run(self, seesaw: MujocoSeesaw, motion: str, fall: str = '') -> SimulatedRun:
        """Return what was sampled since the last call, as sensors and truth.

        Args:
            seesaw: the plant.
            motion: name of the run.
            fall: how the robot fell; empty if it stands.

        Raises:
            SimulationError: if the rate of the sensors does not divide that of the physics.
        """
        samples = StepSamples.joined([block.filled() for block in self._blocks])
        period = round(self._divisor(seesaw) * seesaw.time_step * NANOSECONDS)
        stamps = self._start + period * np.arange(samples.count, dtype=np.int64)
        self._start, self._blocks = self._start + period * samples.count, []
        return simulated_run(samples, seesaw.plant, motion, stamps, fall)

    def _divisor(self, seesaw: MujocoSeesaw) -> int:
        return Sampling.at_rate(RATE, seesaw.plant.physics).divisor


def record_seesaw(
    run: SimulatedRun,
    seesaw: MujocoSeesaw,
    bag: str | PathLike[str],
    *,
    files: Mapping[str, str] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
) -> None:
    """Write a run as a bag, and in its folder robot.yaml and robot.urdf to evaluate it with.

    Args:
        run: the run.
        seesaw: the plant that it was made with.
        bag: folder that the bag will be.
        files: name → text of further files in it.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.

    Raises:
        BagError: if the bag exists or cannot be written.
    """
    sensed = seesaw.sensed
    record(
        run, sensed.file, bag, urdf=sensed.urdf, files={**sensed.files(), **(files or {})},
        storage=storage, overwrite=overwrite,
    )  # fmt: skip
