"""Whole simulations, from a robot file to a recording."""

from collections.abc import Callable, Sequence
from os import PathLike

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.motion.sway import SwayParameters, plan_sway
from izmp_dynamics.simulation.feed_forward import with_feed_forward
from izmp_dynamics.simulation.mujoco_model import build_mujoco
from izmp_dynamics.simulation.physics import Physics, Push
from izmp_dynamics.simulation.plant import Sampling, simulate
from izmp_dynamics.simulation.recording import record
from izmp_dynamics.simulation.simulated_run import SimulatedRun


def simulate_sway(
    file: RobotFile,
    bag: str | PathLike[str] | None = None,
    *,
    parameters: SwayParameters | None = None,
    physics: Physics | None = None,
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
        physics: the physics.
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
    plant = build_mujoco(file, physics)
    plan = plan_sway(plant.robot, parameters, time_step=plant.physics.time_step)
    plan = with_feed_forward(plan, plant)
    run = simulate(plan, plant, sampling=sampling, pushes=pushes, progress=progress)
    if bag is not None:
        record(run, file, bag, storage=storage, overwrite=overwrite)
    return run
