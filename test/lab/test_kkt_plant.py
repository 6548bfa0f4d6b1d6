"""Robot and seesaw as one system: laws of mechanics along its motion, errata of the paper."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import MotionError, SimulationError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_lab.seesaw.board import Seesaw, board_terms, stance
from izmp_lab.seesaw.kkt_plant import moving_state, rate, terms_of
from izmp_lab.seesaw.study.tasks import equations
from izmp_lab.simulation.mujoco.spec import mass_moments

from ..raising import raising
from .balancing import plant_of

SEEDS = range(4)
PUSH = np.array([20.0, 60.0, -30.0])


@pytest.fixture(scope='module')
def plant():
    return plant_of('biped31')


@pytest.fixture(scope='module', params=SEEDS)
def case(plant, request):
    """A state, torques, and the motion that follows, with a push."""
    state = moving_state(plant, request.param)
    torques = 10.0 * np.random.default_rng(request.param).normal(size=len(state.q))
    return state, torques, plant.motion(state, torques, PUSH)


def test_the_constraints_hold_in_acceleration(plant, case):
    state, _, motion = case

    def velocities(at):
        terms = terms_of(plant, at)
        nu = np.concatenate([at.root.velocity, at.root.angular_velocity, at.qd])
        return np.concatenate(
            [
                terms.body.J @ nu - terms.board.J_feet @ terms.board.nu,
                terms.board.J_ground @ terms.board.nu,
            ]
        )

    np.testing.assert_allclose(velocities(state), 0.0, atol=1e-9)
    np.testing.assert_allclose(rate(velocities, state, motion), 0.0, atol=1e-4)


def test_the_feet_carry_what_mr_ad_says(plant, case):
    """The robot's part of the equations, by the recursion of this package over its KDL tree."""
    state, _, motion = case
    R = state.root.rotation
    up = np.array([0.0, 0.0, plant.gravity])
    wrench, _ = MrAd(plant.robot.model).batch(
        (R.T @ (motion.root[:3] + up))[None],
        (R.T @ state.root.angular_velocity)[None],
        (R.T @ motion.root[3:])[None],
        state.q[None],
        state.qd[None],
        motion.joints[None],
    )
    torso = plant.robot.model.mount(plant.robot.torso).body
    total = np.zeros(6)
    soles = terms_of(plant, state).body.p_soles
    forces = [*motion.foot_wrenches, np.concatenate([PUSH, np.zeros(3)])]
    places = [*soles, com_of_body(plant.robot.model, torso, state)]
    for force, place in zip(forces, places, strict=True):
        lever = place - state.root.position
        total += np.concatenate([force[:3], force[3:] + np.cross(lever, force[:3])])
    expected = ContactWrench.from_array(total).transformed(R.T, np.zeros(3))
    np.testing.assert_allclose(wrench.force[0], expected.force, atol=1e-8)
    np.testing.assert_allclose(wrench.moment[0], expected.moment, atol=1e-8)


def com_of_body(model, body, state):
    """Centre of mass of a body, in the world."""
    link = next(name for name in model.frame_names if model.mount(name).body == body)
    mount = model.mount(link)
    R, p = model.frame_pose(link, state.q)
    moments = mass_moments(model, body)
    com = moments.first_moment / moments.mass
    in_link = mount.body_R_frame.T @ (com - mount.p_frame_in_body)
    return state.root.position + state.root.rotation @ (p + R @ in_link)


def test_newton_and_euler_hold_for_the_board(plant, case):
    state, _, motion = case
    seesaw, board = plant.seesaw, state.board
    force, moment = motion.ground[:3].copy(), np.zeros(3)
    force[2] -= seesaw.mass * plant.gravity
    contact = seesaw.contact_point(board) - board.position
    moment += np.cross(contact, motion.ground[:3])
    moment[1:] += motion.ground[3:]
    for side, wrench in zip((1, -1), motion.foot_wrenches, strict=True):
        lever = board.rotation @ seesaw.sole_in_board(side)
        force -= wrench[:3]
        moment -= wrench[3:] + np.cross(lever, wrench[:3])
    inertia = board.rotation @ np.diag(seesaw.inertia) @ board.rotation.T
    omega = board.angular_velocity
    np.testing.assert_allclose(force, seesaw.mass * motion.board[:3], atol=1e-8)
    np.testing.assert_allclose(
        moment, inertia @ motion.board[3:] + np.cross(omega, inertia @ omega), atol=1e-8
    )


def test_energy_changes_by_the_power_of_torques_friction_and_push(plant, case):
    state, torques, motion = case
    model = plant.robot.model
    torso = model.mount(plant.robot.torso).body

    def energy(at):
        omega = at.board.rotation.T @ at.board.angular_velocity
        board = 0.5 * plant.seesaw.mass * at.board.velocity @ at.board.velocity
        board += 0.5 * omega @ (np.array(plant.seesaw.inertia) * omega)
        board += plant.seesaw.mass * plant.gravity * at.board.position[2]
        return plant.rigid.energy(at) + board

    velocity = rate(lambda at: com_of_body(model, torso, at), state, motion)
    power = (torques - plant.robot.damping * state.qd) @ state.qd + PUSH @ velocity
    assert rate(energy, state, motion) == pytest.approx(power, rel=1e-5, abs=1e-4)


def test_the_page_puts_moving_states_into_the_equations():
    errors = equations('biped31', 4)
    assert errors['eq30'].max() < 1e-9
    assert max(errors['eq9'].max(), errors['eq31'].max()) < 1e-3
    assert errors['printed'].max() > 1e-6


def test_the_integration_is_of_second_order(plant):
    start = moving_state(plant, 1, speed=0.3)
    torques = np.zeros(len(start.q))

    def end(step):
        plant.time_step = step
        plant.reset(start)
        return plant.step(torques, 0.032).q

    exact, coarse, fine = (end(step) for step in (0.0005, 0.004, 0.002))
    plant.time_step = 0.001
    ratio = np.linalg.norm(coarse - exact) / np.linalg.norm(fine - exact)
    assert 3.0 < ratio < 6.0


def test_constraints_do_not_drift(plant):
    plant.reset(moving_state(plant, 2, speed=0.3))
    state = plant.step(np.zeros(plant.robot.model.dof), 0.2)
    assert abs(state.angle) > 0.01
    assert np.abs(plant.constraint_error(state)).max() < 1e-5


def test_a_board_that_tips_over_is_refused(plant):
    from izmp_lab.seesaw.state import BalanceState

    rest = stance(plant.robot, plant.seesaw)
    tipped = BalanceState(0.0, rest.root, rest.q, rest.qd, Seesaw().rolled(0.8))
    plant.reset(tipped)
    with pytest.raises(SimulationError) as caught:
        plant.step(np.zeros(len(rest.q)), 0.002)
    assert caught.value.kind in ('tipped_over', 'diverged')


# ---- Geometry of the board, stance of the robots, equations of the board alone ------------------


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
    from izmp_lab.seesaw.balancing_robot import load_balancing_robot

    return load_balancing_robot(request.param)


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
