"""A whole run on the seesaw: check, simulation, recording, summary."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import UnknownNameError
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.closed_loop import TICK, SeesawRun, balance_on_seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.log import LOG, log_text, record_states
from izmp_lab.seesaw.loop_check import LoopCheck, require_stable
from izmp_lab.seesaw.state import BalanceState
from izmp_lab.simulation.shove import Shove

PLANTS = ('mujoco', 'kkt')


@dataclass(frozen=True)
class SeesawOutcome:
    """The outcome of a run.

    Attributes:
        check: of the loop, before it.
        run: the run.
    """

    check: LoopCheck
    run: SeesawRun

    def summary_lines(self) -> list[str]:
        """Say in sentences how it went; not how the robot fell, see `run.fall`."""
        run = self.run
        return [
            f'Check:   stable at {1.0 / self.check.tick:g} Hz; the slowest deviation decays with '
            f'{self.check.time_constant:.1f} s',
            f'Board:   at most {np.degrees(run.largest_angle()):.2f}°, at the end '
            f'{np.degrees(run.angle[-1]):+.3f}°, after {run.times[-1] + TICK:.2f} s',
            f'CoM:     {1e3 * run.lateral_rmse():.2f} mm lateral RMS from its reference',
            f'Control: {len(run.times)} ticks, {run.unsolved} without a solution, '
            f'{1e3 * np.median(run.effort):.2f} ms each (median)',
        ]


def simulate_seesaw(
    robot: BalancingRobot,
    controller: MomentumController,
    bag: Path | None = None,
    *,
    plant: str = 'mujoco',
    duration: float = 60.0,
    pushes: Sequence[Shove] = (),
    storage: str = 'mcap',
    overwrite: bool = False,
    progress: Callable[[float], None] | None = None,
) -> SeesawOutcome:
    """Let a robot balance on the seesaw, from its stance on the level board.

    Args:
        robot: the robot.
        controller: for it.
        bag: folder to record to; nothing is recorded if None. 'mujoco' records all sensors and
            the truth, and a robot file to evaluate them with; 'kkt' the states at 100 Hz.
        plant: one of PLANTS.
        duration: [s].
        pushes: on the torso.
        storage: 'mcap' or 'sqlite3'.
        overwrite: replace an existing bag.
        progress: is called now and then with the part that is simulated, 0 … 1.

    Raises:
        BagError: if the bag exists or cannot be written.
        ModelError: if the loop of controller and robot is unstable, before anything is simulated.
        IzmpError: if it cannot be simulated.
    """
    if plant not in PLANTS:
        raise UnknownNameError('plant', plant, PLANTS)
    if bag is not None:
        BagWriter(bag, storage, overwrite)  # refuses a place that is taken
    check = require_stable(controller, TICK)
    perform = _in_mujoco if plant == 'mujoco' else _with_constraints
    run, write = perform(controller, duration, pushes, progress)
    if bag is not None:
        write(bag, {LOG: log_text(run, robot.model.joint_names)}, storage, overwrite)
    return SeesawOutcome(check, run)


_Write = Callable[[Path, dict[str, str], str, bool], None]


def _in_mujoco(
    controller: MomentumController,
    duration: float,
    pushes: Sequence[Shove],
    progress: Callable[[float], None] | None,
) -> tuple[SeesawRun, _Write]:
    from izmp_lab.seesaw.bag import SeesawRecorder, record_seesaw
    from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw

    recorder = SeesawRecorder()
    plant = MujocoSeesaw(controller.robot, controller.seesaw, observer=recorder)
    run = balance_on_seesaw(plant, controller, duration, pushes, progress)

    def write(bag: Path, files: dict[str, str], storage: str, overwrite: bool) -> None:
        sensed = recorder.run(plant, 'seesaw', run.fall)
        record_seesaw(sensed, plant, bag, files=files, storage=storage, overwrite=overwrite)

    return run, write


def _with_constraints(
    controller: MomentumController,
    duration: float,
    pushes: Sequence[Shove],
    progress: Callable[[float], None] | None,
) -> tuple[SeesawRun, _Write]:
    plant = StatesOfTicks(controller)
    run = balance_on_seesaw(plant, controller, duration, pushes, progress)

    def write(bag: Path, files: dict[str, str], storage: str, overwrite: bool) -> None:
        record_states(
            plant.states, plant.robot, bag, files=files, storage=storage, overwrite=overwrite
        )

    return run, write


class StatesOfTicks(KktPlant):
    """The KKT plant; keeps the states at the beginnings of the ticks."""

    def __init__(self, controller: MomentumController) -> None:
        super().__init__(controller.robot, controller.seesaw, gravity=controller.gravity)
        self.states: list[BalanceState] = []

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Make a tick."""
        self.states.append(self.state)
        return super().step(torques, duration, push)
