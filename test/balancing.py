"""Robots on the seesaw in states that meet the constraints, for many tests."""

import numpy as np
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

from izmp_dynamics.seesaw.balancing_robot import load_balancing_robot
from izmp_dynamics.seesaw.board import Seesaw
from izmp_dynamics.seesaw.coupled import CoupledTerms
from izmp_dynamics.seesaw.kkt_plant import KktPlant
from izmp_dynamics.seesaw.stance import stance
from izmp_dynamics.seesaw.state import BalanceState, RigidState


def plant_of(robot='icub', **changes):
    """Return the KKT plant of a robot, some of whose attributes are changed."""
    import dataclasses

    return KktPlant(dataclasses.replace(load_balancing_robot(robot), **changes), Seesaw(), 0.001)


def moving_state(plant, seed, shift=0.1, speed=0.5):
    """Return a random state of a plant whose board is tilted and everything moves.

    The feet are led back to the board by Newton's method over all coordinates but the board's.
    """
    rng = np.random.default_rng(seed)
    rest = stance(plant.robot, plant.seesaw)
    board = plant.seesaw.rolled(rng.uniform(-0.2, 0.2))
    state = BalanceState(
        0.0, rest.root, rest.q + shift * rng.uniform(-1, 1, len(rest.q)), rest.qd, board
    )
    for _ in range(30):
        error = plant.constraint_error(state)[:12]
        J = plant.rigid.terms(state).J
        step = -np.linalg.lstsq(J, error, rcond=None)[0]
        state = shifted(state, step)
    assert np.abs(plant.constraint_error(state)).max() < 1e-9
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


def shifted(state, step):
    """Move the robot by a small step (6 + n,)."""
    turn = Rotation.from_rotvec(step[3:6]).as_matrix()
    root = RigidState.at_rest(state.root.position + step[:3], turn @ state.root.rotation)
    return BalanceState(state.time, root, state.q + step[6:], state.qd, state.board)


def advanced(state, motion, duration):
    """Follow velocities and accelerations of a state for a very short time, of second order."""
    return BalanceState(
        state.time + duration,
        _advanced(state.root, motion.root, duration),
        state.q + duration * state.qd + 0.5 * duration**2 * motion.joints,
        state.qd + duration * motion.joints,
        _advanced(state.board, motion.board, duration),
    )


def _advanced(body, acceleration, duration):
    turn = duration * body.angular_velocity + 0.5 * duration**2 * acceleration[3:]
    return RigidState(
        body.position + duration * body.velocity + 0.5 * duration**2 * acceleration[:3],
        Rotation.from_rotvec(turn).as_matrix() @ body.rotation,
        body.velocity + duration * acceleration[:3],
        body.angular_velocity + duration * acceleration[3:],
    )


def rate(quantity, state, motion, step=1e-6):
    """Differentiate quantity(state) along a motion by a central difference."""
    ahead, behind = (quantity(advanced(state, motion, side * step)) for side in (1, -1))
    return (ahead - behind) / (2.0 * step)


def terms_of(plant, state):
    """Return the coupled terms at a state."""
    return CoupledTerms.at(plant.rigid, plant.seesaw, state, plant.gravity)
