"""Robots and boards in full motion that meet all constraints: where equations can be tried."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import Array
from izmp_lab.seesaw.coupled import CoupledTerms
from izmp_lab.seesaw.kkt_plant import KktPlant, Motion
from izmp_lab.seesaw.stance import stance
from izmp_lab.seesaw.state import BalanceState, RigidState

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
    turn = Rotation.from_rotvec(step[3:6]).as_matrix()
    root = RigidState.at_rest(state.root.position + step[:3], turn @ state.root.rotation)
    return BalanceState(state.time, root, state.q + step[6:], state.qd, state.board)


def rate(
    quantity: Callable[[BalanceState], Array],
    state: BalanceState,
    motion: Motion,
    step: float = 1e-6,
) -> Array:
    """Differentiate a quantity along a motion by a central difference of ± `step` [s]."""
    ahead, behind = (quantity(_advanced(state, motion, side * step)) for side in (1, -1))
    change: Array = (ahead - behind) / (2.0 * step)
    return change


def terms_of(plant: KktPlant, state: BalanceState) -> CoupledTerms:
    """Compute the coupled terms of a plant at a state."""
    return CoupledTerms.at(plant.rigid, plant.seesaw, state, plant.gravity)


def _advanced(state: BalanceState, motion: Motion, duration: float) -> BalanceState:
    """Follow velocities and accelerations for a very short time, of second order."""
    return BalanceState(
        state.time + duration,
        _advanced_body(state.root, motion.root, duration),
        state.q + duration * state.qd + 0.5 * duration**2 * motion.joints,
        state.qd + duration * motion.joints,
        _advanced_body(state.board, motion.board, duration),
    )


def _advanced_body(body: RigidState, acceleration: Array, duration: float) -> RigidState:
    turn = duration * body.angular_velocity + 0.5 * duration**2 * acceleration[3:]
    return RigidState(
        body.position + duration * body.velocity + 0.5 * duration**2 * acceleration[:3],
        Rotation.from_rotvec(turn).as_matrix() @ body.rotation,
        body.velocity + duration * acceleration[:3],
        body.angular_velocity + duration * acceleration[3:],
    )
