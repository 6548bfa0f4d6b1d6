"""Geometry of the board, stance of the robots, equations of the board alone."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import MotionError, SimulationError
from izmp_lab.seesaw.board import Seesaw, board_terms, stance

from ..raising import raising
from ..requiring import skip_without

ANGLES = st.floats(-0.7, 0.7)
RATES = st.floats(-3.0, 3.0)


@given(ANGLES, RATES)
def test_the_board_rolls_without_slipping(angle, rate):
    seesaw = Seesaw()
    board = seesaw.rolled(angle, rate)
    contact = seesaw.contact_point(board)
    assert contact[2] == pytest.approx(0.0, abs=1e-12)
    lever = contact - board.position
    slip = board.velocity + np.cross(board.angular_velocity, lever)
    np.testing.assert_allclose(slip, 0.0, atol=1e-12)


@given(ANGLES, RATES)
def test_the_velocity_is_the_rate_of_the_position(angle, rate):
    seesaw, step = Seesaw(), 1e-5
    ahead, behind = (seesaw.rolled(angle + side * step * rate).position for side in (1, -1))
    velocity = seesaw.rolled(angle, rate).velocity
    np.testing.assert_allclose((ahead - behind) / (2.0 * step), velocity, atol=1e-8)


def free_acceleration(seesaw, angle, rate):
    """θ̈ of the board alone, from the Lagrangian with θ as the only coordinate."""
    m, inertia, rho, delta = seesaw.mass, seesaw.inertia[0], seesaw.radius, seesaw.axis_height
    effective = inertia + m * (rho**2 + delta**2 - 2.0 * rho * delta * np.cos(angle))
    force = m * rho * delta * np.sin(angle) * rate**2 + m * GRAVITY * delta * np.sin(angle)
    return -force / effective


def rolling_acceleration(terms, h):
    """(6,) ν̇_s without feet for a bias h̄_s."""
    return -h / np.diag(terms.M)


def h_board(terms, bias=None):
    """h̄_s of eq. 30, as put right."""
    bias = terms.J_ground_dot_nu if bias is None else bias
    inverse = np.diag(1.0 / np.diag(terms.M))
    gamma = terms.J_ground @ inverse @ terms.J_ground.T
    through = terms.J_ground.T @ np.linalg.inv(gamma)
    kept = np.eye(6) - through @ terms.J_ground @ inverse
    return kept @ terms.h + through @ bias


@given(ANGLES, RATES)
def test_the_board_alone_moves_as_its_lagrangian_says(angle, rate):
    seesaw = Seesaw()
    terms = board_terms(seesaw, seesaw.rolled(angle, rate), GRAVITY)
    acceleration = rolling_acceleration(terms, h_board(terms))
    expected = free_acceleration(seesaw, angle, rate)
    assert acceleration[3] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(
        terms.J_ground @ acceleration + terms.J_ground_dot_nu, 0.0, atol=1e-9
    )


def test_the_bias_of_the_rolling_constraint_needs_the_motion_of_the_contact_point():
    """Taken for fixed to the board, the point would let the board accelerate otherwise."""
    seesaw, angle, rate = Seesaw(), 0.2, 1.0
    board = seesaw.rolled(angle, rate)
    terms = board_terms(seesaw, board, GRAVITY)
    fixed = terms.J_ground_dot_nu.copy()
    omega = board.angular_velocity
    fixed[:3] -= np.cross(omega, np.cross(omega, [0.0, 0.0, seesaw.radius]))
    wrong = rolling_acceleration(terms, h_board(terms, fixed))[3]
    assert abs(wrong - free_acceleration(seesaw, angle, rate)) > 0.01


def test_impossible_boards_are_refused():
    with raising(SimulationError, 'board_not_positive'):
        Seesaw(mass=0.0)
    with raising(SimulationError, 'arc_too_high', arc_height=0.5):
        Seesaw(arc_height=0.5)


@pytest.fixture(scope='module', params=['icub', 'biped31'])
def robot(request):
    from izmp_dynamics.base.errors import MissingDependencyError
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot

    try:
        return load_balancing_robot(request.param)
    except MissingDependencyError as error:
        skip_without(error.library, error)


def test_both_soles_lie_in_their_places(robot):
    seesaw = Seesaw()
    state = stance(robot, seesaw)
    for side, sole in zip((1, -1), robot.soles, strict=True):
        R, p = robot.model.frame_pose(sole, state.q)
        place = state.board.position + seesaw.sole_in_board(side)
        np.testing.assert_allclose(
            state.root.position + state.root.rotation @ p, place, atol=1e-10
        )
        np.testing.assert_allclose(state.root.rotation @ R, np.eye(3), atol=1e-10)


def test_the_centre_of_mass_is_above_the_contact_and_amid_the_feet(robot):
    seesaw = Seesaw()
    state = stance(robot, seesaw)
    com = state.root.position + state.root.rotation @ robot.model.com(state.q)
    assert com[1] == pytest.approx(0.0, abs=1e-10)
    assert com[0] == pytest.approx(seesaw.feet_x + robot.foot_box[0].mean(), abs=1e-10)


def test_feet_out_of_reach_are_refused(robot):
    with pytest.raises(MotionError):
        stance(robot, dataclasses.replace(Seesaw(), feet_y=0.9))
