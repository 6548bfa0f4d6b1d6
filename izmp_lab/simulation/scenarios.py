"""Whole simulations, from a robot file to a recording."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from izmp_dynamics.base.conventions import Array, Indices, seconds
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import AnkleFeedback, Sampling, simulate, with_feed_forward
from izmp_lab.simulation.noisy_signals import SensorErrors, SensorNoise, add_noise, with_errors
from izmp_lab.simulation.physics import Physics, Push, Shove
from izmp_lab.simulation.recording import check_recordable, record
from izmp_lab.simulation.simulated_run import SimulatedRun
from izmp_lab.simulation.terrain import Flat, Slope, Terrain, Uneven
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.sway import SwayParameters, plan_sway
from izmp_lab.walking.walk import PlannedWalk, plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters


def simulate_sway(
    file: RobotFile,
    bag: str | PathLike[str] | None = None,
    *,
    parameters: SwayParameters | None = None,
    sampling: Sampling | None = None,
    pushes: Sequence[Push] = (),
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SimulatedRun:
    """Let a robot stand, shift its weight and squat.

    Args:
        file: the robot file, e.g. that of biped31.
        bag: folder to record to; nothing is recorded if None.
        parameters: how far and how fast.
        sampling: the sensor rate.
        pushes: forces on the robot.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Returns:
        The run. If the robot fell, the bag is kept, its metadata say so, and so does `run.fall`.

    Raises:
        BagError: if the bag exists or cannot be written.
        IzmpError: if the robot cannot be simulated or the motion not be planned.
    """
    if bag is not None:
        check_recordable(file, bag, storage, overwrite)
    plant = build_mujoco(file)
    plan = plan_sway(plant.robot, parameters, time_step=plant.physics.time_step)
    plan = with_feed_forward(plan, plant)
    run = simulate(plan, plant, sampling=sampling, pushes=pushes, progress=progress)
    if bag is not None:
        record(run, file, bag, storage=storage, overwrite=overwrite)
    return run


@dataclass(frozen=True)
class SimulatedWalk:
    """A planned walk and its simulation.

    Attributes:
        planned: the plan.
        terrain: the ground.
        run: the execution; shorter than the plan if the robot fell.
    """

    planned: PlannedWalk
    terrain: Terrain
    run: SimulatedRun

    @property
    def off_course(self) -> Array:
        """Where the root is at the end, against the plan [m]: (3,) ahead, to the left, up."""
        row = self._rows[-1]
        plan = self.planned.plan.root
        ahead = plan.rotation[row, :, 0] * [1.0, 1.0, 0.0]
        ahead /= np.linalg.norm(ahead)
        left = np.cross([0.0, 0.0, 1.0], ahead)
        off = self.run.truth.root.position[-1] - plan.position[row]
        return np.array([ahead @ off, left @ off, off[2]])

    @property
    def cop_rms(self) -> Array:
        """Root of the mean square of the CoP less the planned ZMP, in x and y (2,) [m]."""
        assert self.planned.plan.zmp is not None
        error = (self.run.truth.cop - self.planned.plan.zmp[self._rows])[:, :2]
        rms: Array = np.sqrt(np.nanmean(error**2, axis=0))
        return rms

    def summary_lines(self) -> list[str]:
        """Summarise the walk in sentences; for how it fell see `run.fall`."""
        parameters, plan = self.planned.parameters, self.planned.plan
        lasted = f'; fell after {seconds(self.run.stamps)[-1]:.2f} s' if self.run.fall else ''
        lines = [
            f'Walk:    {parameters.steps} steps at {parameters.speed:g} m/s, '
            f'{plan.duration:.2f} s{lasted}'
        ]
        if not self.run.fall:
            ahead, left, _ = np.round(1e3 * self.off_course, 1) + 0.0  # no -0.0
            x, y = 1e3 * self.cop_rms
            lines.append(f'Course:  {ahead:+.1f} mm ahead, {left:+.1f} mm to the left of the plan')
            lines.append(f'CoP:     {x:.1f} mm (x), {y:.1f} mm (y) RMS from the planned ZMP')
        return lines

    @property
    def _rows(self) -> Indices:
        """(T,) rows of the plan that belong to the instants of the run."""
        rows = np.round(seconds(self.run.stamps) / self.planned.plan.time_step).astype(np.int64)
        return np.minimum(rows, len(self.planned.plan) - 1)


def simulate_walk(
    file: RobotFile,
    bag: str | PathLike[str] | None = None,
    *,
    parameters: WalkParameters | None = None,
    terrain: Terrain | None = None,
    physics: Physics | None = None,
    sampling: Sampling | None = None,
    pushes: Sequence[Shove] = (),
    feedback: AnkleFeedback | None = None,
    noise: SensorNoise | None = None,
    encoder_bits: int | None = None,
    seed: int = 0,
    files: Mapping[str, str] | None = None,
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SimulatedWalk:
    """Let a robot walk.

    Args:
        file: the robot file, e.g. that of biped31.
        bag: folder to record to; nothing is recorded if None.
        parameters: how it walks.
        terrain: the ground; that of the plan, level or a ramp, if None.
        physics: the physics.
        sampling: the sensor rate.
        pushes: pushes on the way.
        feedback: of the root's tilt to the ankles; none if None.
        noise: noise of IMU, accelerometers and units on other links, on copies of their signals;
            none if None.
        encoder_bits: joint positions are recorded in steps of 2π / 2^bits; exact if None.
        seed: of the noise.
        files: name → text of further files in the folder of the bag.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Returns:
        Plan and run. If the robot fell, the bag is kept, its metadata say so, and so does
        `run.fall`.

    Raises:
        BagError: if the bag exists or cannot be written.
        MotionError: if the robot cannot walk like that; the message names step, joint and value.
        IzmpError: if the robot cannot be simulated.
    """
    if bag is not None:
        check_recordable(file, bag, storage, overwrite)
    if seed < 0:
        raise SimulationError(
            f'The seed of the noise must be 0 or more, not {seed}.', kind='seed', seed=seed
        )
    planned = plan_walk(Biped.of(file), parameters)
    plan = planned.plan
    terrain = terrain or (Slope(planned.ramp) if planned.ramp.slope > 0.0 else Flat())
    _check_extent(planned, terrain)
    forces = [shove.push(plan) for shove in pushes]
    plant = build_mujoco(file, physics, terrain=terrain)
    run = simulate(
        plan, plant, sampling=sampling, pushes=forces, feedback=feedback, progress=progress
    )
    if bag is not None:
        noisy = add_noise(run, file, noise, seed) if noise else None
        measured = with_errors(run, file, SensorErrors(encoder_bits=encoder_bits))
        record(measured, file, bag, noisy=noisy, files=files, storage=storage, overwrite=overwrite)
    return SimulatedWalk(planned, terrain, run)


def _check_extent(planned: PlannedWalk, terrain: Terrain) -> None:
    if not isinstance(terrain, Uneven):
        return
    farthest = max(np.abs(hold.position[:2]).max() for hold in planned.footsteps.steps)
    if farthest > terrain.half_size - 1.0:
        raise SimulationError(
            f'The walk goes {farthest:.1f} m far; the uneven ground ends at '
            f'{terrain.half_size:.1f} m, of which 1 m is kept free.',
            kind='leaves_terrain',
            farthest=farthest,
            half_size=terrain.half_size,
        )
