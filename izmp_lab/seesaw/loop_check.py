"""The check before a simulation: is the loop of sampled controller and robot stable at all?

The controller holds its torques for a tick. A joint with little friction that moves a light link
overshoots in that time: with damping d of the posture and inertia I, it is unstable once d T / I
exceeds 2. The loop is linearised about the stance, on the motions that feet and board allow; it is
stable if all eigenvalues of a tick are below 1 in magnitude.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import null_space

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ModelError
from izmp_dynamics.base.rotations import from_matrices
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.coupled import CoupledTerms
from izmp_lab.seesaw.kkt_plant import KktPlant
from izmp_lab.seesaw.state import BalanceState, RigidState

_SMALL = 1e-5
"""Deviation for the difference quotients [m], [rad], [m/s], [rad/s]."""

_STEPS_PER_TICK = 5

_FAST = 1.1
"""Growth per tick beyond which a time constant says less [-]."""

_SOME_FRICTION = 0.1
"""Of a joint without friction when it gets more [N·m·s/rad]."""


@dataclass(frozen=True)
class LoopCheck:
    """What a tick makes of small deviations.

    Attributes:
        tick: period of the controller [s].
        growth: factor by which the least stable deviation grows per tick; stable below 1.
        joint: the joint that moves most in it.
    """

    tick: float
    growth: float
    joint: str

    @property
    def stable(self) -> bool:
        """Whether every small deviation dies out."""
        return self.growth < 1.0

    @property
    def time_constant(self) -> float:
        """Time in which the slowest deviation changes by the factor e [s]."""
        return float(self.tick / abs(np.log(self.growth)))


def check_loop(controller: MomentumController, tick: float) -> LoopCheck:
    """Linearise a controller, its reference at rest, and the KKT plant about the stance."""
    robot, seesaw = controller.robot, controller.seesaw
    resting = MomentumController(
        robot, seesaw, controller.kind, controller.gains, gravity=controller.gravity
    )
    loop = _Loop(robot, seesaw, resting, tick)
    values, vectors = np.linalg.eig(loop.transition())
    worst = int(np.argmax(np.abs(values)))
    size = vectors.shape[0] // 2
    joints = np.abs(loop.allowed[6:-6] @ vectors[:size, worst])
    joint = robot.model.joint_names[int(np.argmax(joints))]
    return LoopCheck(tick, float(np.abs(values[worst])), joint)


def require_stable(controller: MomentumController, tick: float) -> LoopCheck:
    """Do the check.

    Raises:
        ModelError: if the loop is unstable; the message names joint and remedy.
    """
    check = check_loop(controller, tick)
    if check.stable:
        return check
    robot = controller.robot
    damping = robot.damping[robot.model.joint_names.index(check.joint)]
    remedy, sentence = _remedy(controller, check)
    raise ModelError(
        f"'{robot.name}' cannot balance: with the torques held for {1e3 * tick:g} ms, deviations "
        f"{_pace(check)}, most of all in joint '{check.joint}' (joint damping {damping:g} "
        f'N·m·s/rad). {sentence}',
        kind='loop_unstable',
        robot=robot.name,
        joint=check.joint,
        growth=check.growth,
        damping=float(damping),
        remedy=remedy,
    )


def _pace(check: LoopCheck) -> str:
    """Say how fast deviations grow: per tick, or in seconds if that says more."""
    if check.growth > _FAST:
        return f'grow {check.growth:.3g}-fold per tick'
    return f'grow with a time constant of {check.time_constant:.2g} s'


def _remedy(controller: MomentumController, check: LoopCheck) -> tuple[str, str]:
    """Say what would help, in a word and in a sentence: tries half and twice the friction."""
    more = (
        'more_friction',
        f'Torque control at {1.0 / check.tick:g} Hz needs more friction in the joints; iCub in '
        'Gazebo has 1 N·m·s/rad.',
        2.0,
    )
    less = (
        'less_friction',
        'The friction, which the controller does not know of, works against it: make it less; '
        'iCub in Gazebo has 1 N·m·s/rad.',
        0.5,
    )
    # What the sampling does is fast, what friction does is slow: the likelier one first.
    for remedy, sentence, factor in (more, less) if check.growth > _FAST else (less, more):
        if _with_friction(controller, factor, check.tick).growth < check.growth:
            return remedy, sentence
    return 'other_gains', 'Neither half nor twice the friction helps: choose other gains.'


def _with_friction(controller: MomentumController, factor: float, tick: float) -> LoopCheck:
    """Check the loop with so many times the friction; a joint that has none gets some."""
    robot = controller.robot
    damping = robot.damping * factor
    if factor > 1.0:
        damping = np.maximum(damping, _SOME_FRICTION)
    changed = MomentumController(
        replace(robot, damping=damping),
        controller.seesaw,
        controller.kind,
        controller.gains,
        gravity=controller.gravity,
    )
    return check_loop(changed, tick)


class _Loop:
    """A tick as a function of the deviation from the stance."""

    def __init__(
        self, robot: BalancingRobot, seesaw: Seesaw, controller: MomentumController, tick: float
    ) -> None:
        self.plant = KktPlant(robot, seesaw, tick / _STEPS_PER_TICK, controller.gravity)
        self.controller, self.tick = controller, tick
        self.rest, self.origin = self.plant.state, self.plant.origin
        terms = CoupledTerms.at(self.plant.rigid, seesaw, self.rest, controller.gravity)
        self.allowed = null_space(terms.constraint_jacobian)

    def transition(self) -> Array:
        """(2 m, 2 m): deviations of position and velocity along `allowed`, before and after."""
        size = self.allowed.shape[1]
        columns = []
        for deviation in _SMALL * np.eye(2 * size):
            change = self._after(deviation) - self._after(-deviation)
            columns.append(change / (2.0 * _SMALL))
        return np.stack(columns, axis=1)

    def _after(self, deviation: Array) -> Array:
        size = self.allowed.shape[1]
        shift, velocity = self.allowed @ deviation[:size], self.allowed @ deviation[size:]
        self.plant.reset(_deviated(self.rest, shift, velocity))
        self.plant.origin = self.origin
        command = self.controller.command(self.plant.state)
        state = self.plant.step(command.torques, self.tick)
        shift, velocity = _deviation(self.rest, state)
        return np.concatenate([self.allowed.T @ shift, self.allowed.T @ velocity])


def _deviated(rest: BalanceState, shift: Array, velocity: Array) -> BalanceState:
    return BalanceState(
        rest.time,
        rest.root.moved(shift[:6], velocity[:6]),
        rest.q + shift[6:-6],
        velocity[6:-6],
        rest.board.moved(shift[-6:], velocity[-6:]),
    )


def _deviation(rest: BalanceState, state: BalanceState) -> tuple[Array, Array]:
    root, board = _pose_of(rest.root, state.root), _pose_of(rest.board, state.board)
    shift = np.concatenate([root[0], state.q - rest.q, board[0]])
    return shift, np.concatenate([root[1], state.qd, board[1]])


def _pose_of(rest: RigidState, state: RigidState) -> tuple[Array, Array]:
    turn = from_matrices(state.rotation @ rest.rotation.T).as_rotvec()
    shift = np.concatenate([state.position - rest.position, turn])
    return shift, state.twist
