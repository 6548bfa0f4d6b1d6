"""The closed loop on the seesaw: a controller at 100 Hz and a plant, reference and pushes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Protocol

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import SimulationError
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.state import BalanceState
from izmp_lab.simulation.physics import DIRECTIONS, Shove


class SeesawPlant(Protocol):
    """A robot on a seesaw that takes joint torques.

    Damping and rotor inertia of the joints are those of the robot, whatever the plant.
    """

    @property
    def robot(self) -> BalancingRobot:
        """The robot."""

    @property
    def seesaw(self) -> Seesaw:
        """The board."""

    @property
    def time_step(self) -> float:
        """Step of the physics [s]."""

    @property
    def state(self) -> BalanceState:
        """The present state."""

    @property
    def foot_wrenches(self) -> Array:
        """What the board exerts on the feet in the last step of the physics (2, 6) [N], [N·m].

        Left, right; force, moment in world axes about the origin of the sole.
        """

    @property
    def cop(self) -> Array:
        """Centre of pressure of both soles on the plate, in the board's frame (3,) [m]."""

    def reset(self, state: BalanceState) -> None:
        """Begin from a state."""

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Hold the torques for a while.

        Args:
            torques: (n,) in the order of the robot's joints [N·m].
            duration: a whole number of steps of the physics [s].
            push: (3,) force in world axes at the centre of mass of the body that carries the
                robot's torso link [N]; none if None.

        Returns:
            The state after it.

        Raises:
            SimulationError: if the simulation diverges.
        """


TICK = 0.01
"""Period of the controller [s]: 100 Hz (Nava et al., sect. V-A)."""

_REPORT_EVERY = 20


@dataclass(frozen=True)
class SeesawRun:
    """What happened, tick by tick; every row belongs to the beginning of its tick.

    Attributes:
        times: (T,) [s].
        angle: (T,) of the board [rad].
        com: (T, 3) of the robot in the world [m].
        com_reference: (T, 3) [m].
        momentum_error: (T, 6) linear, angular momentum less what is wanted; angular that of the
            whole system for the mixed controller [kg·m/s], [kg·m²/s].
        torques: (T, n) [N·m].
        q: (T, n) joint positions [rad].
        wrenches: (T, 2, 6) on the feet, as the controller expects them, world axes [N], [N·m].
        solved: (T,) whether the controller found a solution; else it held the last torques.
        effort: (T,) time that the controller took [s].
        fall: how it ended before its time, in a sentence; empty if the robot stands.
    """

    times: Array
    angle: Array
    com: Array
    com_reference: Array
    momentum_error: Array
    torques: Array
    q: Array
    wrenches: Array
    solved: npt.NDArray[np.bool_]
    effort: Array
    fall: str

    def lateral_rmse(self, since: float = 0.0) -> float:
        """Root of the mean square of the lateral error of the CoM from a time on [m]."""
        error = (self.com - self.com_reference)[self.times >= since, 1]
        return float(np.sqrt(np.mean(error**2)))

    def largest_angle(self, since: float = 0.0) -> float:
        """Largest |θ| from a time on [rad]."""
        return float(np.abs(self.angle[self.times >= since]).max())

    @property
    def unsolved(self) -> int:
        """Number of ticks without a solution."""
        return int((~self.solved).sum())


def balance_on_seesaw(
    plant: SeesawPlant,
    controller: MomentumController,
    duration: float = 60.0,
    pushes: Sequence[Shove] = (),
    progress: Callable[[float], None] | None = None,
) -> SeesawRun:
    """Let a controller balance a robot, from the plant's present state.

    Args:
        plant: robot and board.
        controller: for the same robot and board.
        duration: [s].
        pushes: on the robot's torso; their link does not count. A push that does not fill a tick
            acts during the whole tick with the same impulse.
        progress: is called now and then with the part that is done, 0 … 1.

    Returns:
        The run; shorter than wanted if the robot fell, and `fall` says how.

    Raises:
        SimulationError: if the duration is not positive, or a push does not end within it.
    """
    ticks = ticks_of(duration, pushes)
    controller.reset(plant.state)
    log: list[tuple[object, ...]] = []
    fall = ''
    for tick in range(ticks):
        state = plant.state
        begin = perf_counter()
        command = controller.command(state)
        effort = perf_counter() - begin
        log.append(
            (
                state.time, state.angle, command.com, command.com_reference,
                command.momentum_error, command.torques, state.q, command.wrenches,
                command.solved, effort,
            )
        )  # fmt: skip
        fall = step_or_fall(plant, command.torques, push_during(pushes, tick))
        if fall:
            break
        if progress and tick % _REPORT_EVERY == 0:
            progress(tick / ticks)
    if progress:
        progress(1.0)
    names = [item.name for item in fields(SeesawRun)][:-1]
    columns = (np.array(column) for column in zip(*log, strict=True))
    return SeesawRun(**dict(zip(names, columns, strict=True)), fall=fall)


def ticks_of(duration: float, pushes: Sequence[Shove]) -> int:
    """Number of ticks of a run; raise a SimulationError as `balance_on_seesaw` does."""
    ticks = round(duration / TICK) if 0.0 < duration < 1e6 else 0
    if ticks < 1:
        raise SimulationError(
            f'The duration of a run is {TICK:g} s to 1e6 s, not {duration:g} s.',
            kind='duration',
            duration=duration,
        )
    for push in pushes:
        if push.start + push.duration > duration + 1e-9:
            raise SimulationError(
                f'The push of {push.force:g} N ends at {push.start + push.duration:g} s; the run '
                f'takes {duration:g} s.',
                kind='push_outside_run',
                end=push.start + push.duration,
                duration=duration,
            )
    return ticks


def step_or_fall(plant: SeesawPlant, torques: Array, push: Array | None) -> str:
    """Make a tick; say how the robot fell, '' if it stands."""
    try:
        state = plant.step(torques, TICK, push)
    except SimulationError as error:
        return str(error)
    if abs(state.angle) > plant.seesaw.largest_angle:
        return (
            f'The board tipped over at {state.time:.2f} s: beyond '
            f'{np.degrees(plant.seesaw.largest_angle):.0f}° its edge meets the ground.'
        )
    return ''


def push_during(pushes: Sequence[Shove], tick: int) -> Array | None:
    """Mean force of all pushes during a tick, in the world (3,) [N]; the robot faces x.

    None without a push.
    """
    begin, end = tick * TICK, (tick + 1) * TICK
    force = np.zeros(3)
    for push in pushes:
        overlap = min(end, push.start + push.duration) - max(begin, push.start)
        if overlap > 1e-9:
            force += overlap / TICK * push.force * np.array(DIRECTIONS[push.direction])
    return force if force.any() else None
