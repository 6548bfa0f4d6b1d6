"""The reference plant: robot and seesaw as one constrained system.

Accelerations, foot wrenches and the wrench of the ground are the solution of the equations of
motion (Nava et al., eq. 25) and of the constraints differentiated twice: a Karush–Kuhn–Tucker
system. Feet do not slip or lift, and the board rolls without slipping; contacts as they are
are MuJoCo's matter.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space

from izmp_dynamics.base.conventions import GRAVITY, Array, cross
from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.base.rotations import from_matrices
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_lab.seesaw.balancing_robot import BalancingRobot
from izmp_lab.seesaw.board import Seesaw, stance
from izmp_lab.seesaw.coupled import CoupledTerms, RigidBody
from izmp_lab.seesaw.state import BalanceState, RigidState

_CORRECTION = 0.1
"""Rate at which errors of the constraints are corrected, times the step of time (Baumgarte)."""

_FASTEST = 1e3
"""A joint that is faster has left what can be simulated [rad/s]."""


@dataclass(frozen=True)
class Accelerations:
    """Solution of the constrained equations of motion.

    Attributes:
        root: (6,) acceleration of the root's origin, angular acceleration; world axes.
        joints: (n,) [rad/s²].
        board: (6,) the same as `root`, of the board.
        foot_wrenches: (2, 6) of the board on the feet, world axes, about the soles.
        ground: (5,) force of the ground on the board, moments about world y, z; at the contact.
    """

    root: Array
    joints: Array
    board: Array
    foot_wrenches: Array
    ground: Array


class KktPlant:
    """Integrates the constrained dynamics by the midpoint rule; see `SeesawPlant`."""

    def __init__(
        self,
        robot: BalancingRobot,
        seesaw: Seesaw,
        time_step: float = 0.002,
        gravity: float = GRAVITY,
    ) -> None:
        self.robot, self.seesaw, self.time_step, self.gravity = robot, seesaw, time_step, gravity
        self.rigid = RigidBody(robot, gravity)
        self.reset(stance(robot, seesaw))

    def reset(self, state: BalanceState) -> None:
        """Begin from a state that meets the constraints."""
        self.state = state
        axis = self._axis(state.board)
        self.origin = np.array([axis[0], axis[1] + self.seesaw.radius * state.angle])
        self.foot_wrenches: Array = np.zeros((2, 6))

    def step(self, torques: Array, duration: float, push: Array | None = None) -> BalanceState:
        """Hold the torques for a while; see `SeesawPlant.step`."""
        for _ in range(round(duration / self.time_step)):
            try:
                with np.errstate(over='ignore', invalid='ignore'):
                    state, wrenches = self._advanced(torques, push)
            except (ValueError, np.linalg.LinAlgError) as error:
                raise self._diverged() from error
            self._check(state)
            self.state, self.foot_wrenches = state, wrenches
        return self.state

    def _advanced(self, torques: Array, push: Array | None) -> tuple[BalanceState, Array]:
        start, half_step = self.state, 0.5 * self.time_step
        motion = self.motion(start, torques, push, start.qd, half_step)
        half = _moved(start, start, motion, half_step)
        middle = self.motion(half, torques, push, start.qd, half_step)
        return _moved(start, half, middle, self.time_step), middle.foot_wrenches

    @property
    def cop(self) -> Array:
        """Centre of pressure of both soles, in the board's frame (3,) [m]."""
        board = self.state.board
        force, moment = np.zeros(3), np.zeros(3)
        for side, wrench in zip((1, -1), self.foot_wrenches, strict=True):
            lever = board.rotation @ self.seesaw.sole_in_board(side)
            force += wrench[:3]
            moment += wrench[3:] + cross(lever, wrench[:3])
        R, up = board.rotation, np.array([0.0, 0.0, 1.0])
        wrench = ContactWrench(R.T @ force, R.T @ moment)
        return zero_moment_point(wrench, up, self.seesaw.top * up, 0.0)

    def motion(
        self,
        state: BalanceState,
        torques: Array,
        push: Array | None = None,
        damped: Array | None = None,
        ahead: float = 0.0,
    ) -> Accelerations:
        """Solve the equations of motion at a state.

        Args:
            state: the state.
            torques: (n,) of the joints [N·m].
            push: (3,) force on the torso, in world axes [N].
            damped: (n,) velocities that the joints' friction acts on; those of the state if None.
            ahead: the friction acts on the velocities that they become in this time [s]; small
                links make friction stiff, and this keeps the integration stable.
        """
        terms = CoupledTerms.at(self.rigid, self.seesaw, state, self.gravity)
        damping = self.robot.damping
        force = np.concatenate([-terms.body.h, -terms.board.h])
        joints = slice(6, len(terms.body.h))
        force[joints] += torques - damping * (state.qd if damped is None else damped)
        if push is not None:
            force[: joints.stop] += self.rigid.point_jacobian(state, self.robot.torso).T @ push
        inertia = terms.body.M.copy()
        inertia[joints, joints] += np.diag(ahead * damping)
        acceleration, wrenches = self._solve(state, terms, inertia, force)
        on_board = acceleration[joints.stop :]  # of ν_s, in the board's axes
        board, R = state.board, state.board.rotation
        linear = R @ on_board[:3] + cross(board.angular_velocity, board.velocity)
        return Accelerations(
            root=acceleration[:6],
            joints=acceleration[joints],
            board=np.concatenate([linear, R @ on_board[3:]]),
            foot_wrenches=wrenches[:12].reshape(2, 6),
            ground=wrenches[12:],
        )

    def _solve(
        self, state: BalanceState, terms: CoupledTerms, inertia: Array, force: Array
    ) -> tuple[Array, Array]:
        """Solve for (ν̇, ν̇_s) and the wrenches (17,) of the constraints."""
        J, size, board = terms.constraint_jacobian, len(inertia), terms.board
        factor, of_board = cho_factor(inertia), np.diag(board.M)
        inverse_J = np.empty(J.T.shape)  # M⁻¹ Jᵀ of the whole system
        inverse_J[:size] = cho_solve(factor, J[:, :size].T)
        inverse_J[size:] = J[:, size:].T / of_board[:, None]
        velocity = np.concatenate([state.root.twist, state.qd, board.nu])
        correction = self._correction(J @ velocity, self.constraint_error(state, terms))
        wanted = -terms.constraint_bias - correction
        wrenches = np.linalg.solve(J @ inverse_J, wanted - inverse_J.T @ force)
        free = np.concatenate([cho_solve(factor, force[:size]), force[size:] / of_board])
        return free + inverse_J @ wrenches, wrenches

    def constraint_error(self, state: BalanceState, terms: CoupledTerms | None = None) -> Array:
        """Return by how much the constraints are violated (17,) [m], [rad].

        Position and orientation of the left and of the right sole from their places on the board;
        axis of the cylinder from where rolling takes it; rotation of the board about y, z.
        """
        terms = terms or CoupledTerms.at(self.rigid, self.seesaw, state, self.gravity)
        board, body = state.board, terms.body
        rows = []
        for side, p, R in zip((1, -1), body.p_soles, body.R_soles, strict=True):
            rows.append(p - board.position - board.rotation @ self.seesaw.sole_in_board(side))
            rows.append(from_matrices(R @ board.rotation.T).as_rotvec())
        x, y = self.origin
        rolled = np.array([x, y - self.seesaw.radius * state.angle, self.seesaw.radius])
        tilt = from_matrices(board.rotation).as_rotvec()[1:]
        return np.concatenate([*rows, self._axis(board) - rolled, tilt])

    def _correction(self, velocity: Array, error: Array) -> Array:
        rate = _CORRECTION / self.time_step
        return 2.0 * rate * velocity + rate**2 * error

    def _axis(self, board: RigidState) -> Array:
        """Return the axis of the cylinder, above the board's frame, in the world (3,) [m]."""
        return board.position + board.rotation @ [0.0, 0.0, self.seesaw.axis_height]

    def _check(self, state: BalanceState) -> None:
        if not state.finite or np.abs(state.qd).max() > _FASTEST:
            raise self._diverged()
        if abs(state.angle) > self.seesaw.largest_angle:
            raise SimulationError(
                f'The board tipped over at {state.time:.3f} s: its edge meets the ground at '
                f'{math.degrees(self.seesaw.largest_angle):.0f}°.',
                kind='tipped_over',
                time=state.time,
            )

    def _diverged(self) -> SimulationError:
        return SimulationError(
            f'The simulation diverged at {self.state.time:.3f} s.',
            kind='diverged',
            time=self.state.time,
        )


def _moved(
    start: BalanceState, at: BalanceState, motion: Accelerations, duration: float
) -> BalanceState:
    def body(begin: RigidState, now: RigidState, acceleration: Array) -> RigidState:
        return begin.moved(duration * now.twist, begin.twist + duration * acceleration)

    return BalanceState(
        start.time + duration,
        body(start.root, at.root, motion.root),
        start.q + duration * at.qd,
        start.qd + duration * motion.joints,
        body(start.board, at.board, motion.board),
    )


LARGEST_ANGLE = 0.2
"""Of the board [rad]."""

_ROUNDS = 30


def moving_state(
    plant: KktPlant, seed: int, shift: float = 0.1, speed: float = 0.5
) -> BalanceState:
    """Draw a state whose board is tilted and in which everything moves.

    The feet are led back to the board by Newton's method over all coordinates but the board's.

    Args:
        plant: robot and seesaw.
        seed: of the draw.
        shift: largest distance of a joint from the stance before that [rad].
        speed: standard deviation of the generalised velocities [m/s], [rad/s].
    """
    rng = np.random.default_rng(seed)
    rest = stance(plant.robot, plant.seesaw)
    board = plant.seesaw.rolled(rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE))
    q = rest.q + shift * rng.uniform(-1, 1, len(rest.q))
    state = BalanceState(0.0, rest.root, q, rest.qd, board)
    for _ in range(_ROUNDS):
        error = plant.constraint_error(state)[:12]
        step = -np.linalg.pinv(plant.rigid.terms(state).J) @ error
        state = shifted(state, step)
    terms = terms_of(plant, state)
    free = null_space(terms.constraint_jacobian)
    nu = free @ rng.normal(size=free.shape[1]) * speed
    size = len(terms.body.h)
    R = board.rotation
    return BalanceState(
        0.0,
        RigidState(state.root.position, state.root.rotation, nu[:3], nu[3:6]),
        state.q,
        nu[6:size],
        RigidState(board.position, R, R @ nu[size : size + 3], R @ nu[size + 3 :]),
    )


def shifted(state: BalanceState, step: Array) -> BalanceState:
    """Move the robot by a small step (6 + n,) [m], [rad]; its root is at rest after it."""
    root = state.root.moved(step[:6], np.zeros(6))
    return BalanceState(state.time, root, state.q + step[6:], state.qd, state.board)


def rate(
    quantity: Callable[[BalanceState], Array], state: BalanceState, motion: Accelerations
) -> Array:
    """Differentiate a quantity along a motion by a central difference of ± 1 µs."""
    step = 1e-6
    ahead, behind = (quantity(_advanced(state, motion, side * step)) for side in (1, -1))
    return (ahead - behind) / (2.0 * step)


def terms_of(plant: KktPlant, state: BalanceState) -> CoupledTerms:
    """Compute the coupled terms of a plant at a state."""
    return CoupledTerms.at(plant.rigid, plant.seesaw, state, plant.gravity)


def _advanced(state: BalanceState, motion: Accelerations, duration: float) -> BalanceState:
    def way(velocity: Array, acceleration: Array) -> Array:
        return duration * velocity + 0.5 * duration**2 * acceleration

    def body(now: RigidState, acceleration: Array) -> RigidState:
        return now.moved(way(now.twist, acceleration), now.twist + duration * acceleration)

    return BalanceState(
        state.time + duration,
        body(state.root, motion.root),
        state.q + way(state.qd, motion.joints),
        state.qd + duration * motion.joints,
        body(state.board, motion.board),
    )
