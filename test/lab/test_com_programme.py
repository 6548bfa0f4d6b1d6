"""The quadratic programme of one window: the contact equations, the optimum, the conditions."""

import sys

import numpy as np
import pytest

from izmp_dynamics.base.errors import MissingDependencyError
from izmp_lab.walking import quadratic_programme
from izmp_lab.walking.com_programme import Body, ComProgramme, InfeasibleError, UniformSpline
from izmp_lab.walking.course import Course
from izmp_lab.walking.footsteps import Gait, Ramp, StepTiming, plan_footsteps
from izmp_lab.walking.quadratic_programme import solve_qp
from izmp_lab.walking.receding_planner import fit_polygon
from izmp_lab.walking.walk_parameters import MomentumParameters

from ..raising import raising
from .walking import biped31

BODY = Body(27.6, 9.81, 0.75)
TIMES = np.linspace(0.0, 1.6, 161)
INSIDE = TIMES[(TIMES > 0.05) & (TIMES < 1.5)]


@pytest.fixture(scope='module')
def course():
    footsteps = plan_footsteps(biped31(), Gait(6, 0.2, 0.05, 0.16), Ramp(0.0, 0.0))
    return Course(biped31(), footsteps, StepTiming(6, 0.8, 0.25, 1.5, 0.01), 0.04, (0.0, 0.04))


def at_rest(course, time):
    return np.vstack([course.zmp(np.array([time])).point[0, :2], np.zeros((2, 2))])


def torques(programme, control, momentum_rate, contact):
    """τ_x and τ_y (K, 2) about contact points (K, 2), straight from the poster's equations."""
    c, a = (programme.spline.basis(INSIDE, order) @ control for order in (0, 2))
    rate = programme.momentum_spline.basis(INSIDE) @ momentum_rate
    m, g, h = BODY.mass, BODY.gravity, BODY.height
    x = m * g * (c[:, 1] - contact[:, 1]) - m * a[:, 1] * h + rate[:, 0]
    y = -m * g * (c[:, 0] - contact[:, 0]) + m * a[:, 0] * h + rate[:, 1]
    return np.stack([x, y], axis=1)


@pytest.mark.parametrize('point', [(0.0, 0.0), (0.3, -0.2)], ids=str)
def test_the_contact_torques_are_the_wanted_ones_about_any_point(course, point):
    """Up to what a polygon of angular momentum and a cubic spline cannot follow."""
    programme = ComProgramme(BODY, MomentumParameters())
    rate = np.column_stack([2.0 * np.sin(programme.parameters.knots * k) for k in (3, 4, 5)])
    control = programme.solve(course, 0.5, at_rest(course, 0.5), rate)
    contact = np.tile(point, (len(INSIDE), 1))
    wanted = course.zmp(0.5 + INSIDE).point[:, :2]
    arm = wanted - contact
    reference = BODY.weight * np.stack([arm[:, 1], -arm[:, 0]], axis=1)
    error = torques(programme, control, rate, contact) - reference
    assert np.sqrt(np.mean(error**2, axis=0)) / BODY.weight == pytest.approx(0.0, abs=3e-3)


def test_start_and_end_are_as_demanded(course):
    programme = ComProgramme(BODY, MomentumParameters())
    start = at_rest(course, 0.5) + np.array([[0.01, -0.02], [0.02, 0.03], [0.1, -0.05]])
    control = programme.solve(course, 0.5, start, np.zeros((17, 3)))
    first = np.vstack([programme.spline.basis(np.zeros(1), order) for order in range(3)])
    assert first @ control == pytest.approx(start, abs=1e-9)
    end = np.array([1.6])
    omega = np.sqrt(BODY.gravity / BODY.height)
    capture = (programme.spline.basis(end) + programme.spline.basis(end, 1) / omega) @ control
    later = np.arange(0.0, 8.0, 1e-3)
    zmp = course.zmp(2.1 + later).point[:, :2]
    mean = np.sum(omega * np.exp(-omega * later)[:, None] * zmp, axis=0) * 1e-3
    assert capture[0] == pytest.approx(mean, abs=2e-3)


@pytest.mark.parametrize(
    ('changed', 'moved', 'kind'),
    [
        ({}, [[0.0, 0.4], [0.0, 0.0], [0.0, 0.0]], 'zmp_outside_support'),
        ({'friction': 0.01}, [[0.0, 0.0]] * 3, 'friction'),
    ],
    ids=['support', 'friction'],
)
def test_what_cannot_be_is_refused_with_the_reason(course, changed, moved, kind):
    programme = ComProgramme(BODY, MomentumParameters(**changed))
    with raising(InfeasibleError, kind):
        programme.solve(course, 2.0, at_rest(course, 2.0) + np.array(moved), np.zeros((17, 3)))


def test_the_zmp_is_kept_inside_the_soles_by_the_margin(course):
    """A push to the side, which the wanted ZMP alone would not survive."""
    parameters = MomentumParameters(margin=0.01)
    programme = ComProgramme(BODY, parameters)
    start = at_rest(course, 0.2) + np.array([[0.0, 0.0], [0.0, 0.35], [0.0, 0.0]])
    control = programme.solve(course, 0.2, start, np.zeros((17, 3)))
    times = 0.05 * np.arange(1.0, 33.0)
    zmp = (
        programme.spline.basis(times)
        - BODY.height / BODY.gravity * programme.spline.basis(times, 2)
    ) @ control
    rows, normals, offsets = course.support(0.2 + times)
    room = offsets - np.sum(normals * zmp[rows], axis=1)
    assert room.min() == pytest.approx(0.01, abs=1e-6)


def test_a_polygon_is_fitted_to_a_curve_by_least_squares():
    """What is straight between the corners is kept; a parabola leaves a twelfth at the corners."""
    fit, fine = fit_polygon(16), np.linspace(0.0, 16.0, 33)
    corners = fine[::2]
    assert fit @ (3.0 - 2.0 * fine) == pytest.approx(3.0 - 2.0 * corners)
    left = fit @ fine**2 - corners**2
    assert left[8] == pytest.approx(-1.0 / 6.0, abs=1e-3)


def test_the_support_is_the_hull_of_the_feet_that_carry(course):
    times = np.array([0.5, 1.6, 2.0])  # standing, on both feet, on the left one
    rows, normals, offsets = course.support(times)
    assert np.linalg.norm(normals, axis=1) == pytest.approx(1.0)
    for row, foot in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0)):
        corners = biped31().polygons[foot] + course.footsteps.start[foot].position[:2]
        assert (corners @ normals[rows == row].T <= offsets[rows == row] + 1e-9).all()
    other = course.footsteps.start[1].position[:2]
    assert (normals[rows == 2] @ other > offsets[rows == 2]).any()


def test_what_is_not_finite_is_refused_with_a_sentence(course):
    programme = ComProgramme(BODY, MomentumParameters())
    with raising(InfeasibleError, 'not_finite'):
        programme.solve(course, 2.0, at_rest(course, 2.0), np.full((17, 3), np.nan))


# Uniform B-splines as matrices

CUBIC = UniformSpline(3, 0.1, 16)


def test_derivatives_are_those_of_the_values():
    step = 1e-4
    inside = np.linspace(0.0, 1.6, 97)[2:-2] + 0.01
    for order in (0, 1):
        slope = CUBIC.basis(inside + step, order) - CUBIC.basis(inside - step, order)
        assert slope / (2 * step) == pytest.approx(CUBIC.basis(inside, order + 1), abs=1e-2)


def programme(seed, n=6, m=38):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    P, G = root.T @ root + 1e-3 * np.eye(n), rng.normal(size=(m, n))
    return P, rng.normal(size=n), G, rng.uniform(0.01, 0.5, m)


@pytest.mark.parametrize('seed', range(5))
def test_the_solution_meets_the_optimality_conditions(seed):
    """G x ≤ h, and P x + q + Gᵀ λ = 0 with λ ≥ 0 of active conditions only."""
    P, q, G, h = programme(seed)
    x = solve_qp(P, q, G, h)
    slack = h - G @ x
    active = slack < 1e-9
    assert slack.min() > -1e-9
    assert active.any()
    multipliers, *_ = np.linalg.lstsq(G[active].T, -(P @ x + q), rcond=None)
    assert multipliers.min() > -1e-9
    assert G[active].T @ multipliers == pytest.approx(-(P @ x + q), abs=1e-9)


def test_contradicting_conditions_have_no_solution():
    G = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert solve_qp(np.eye(2), np.zeros(2), G, np.array([-1.0, -1.0])) is None


def test_without_a_solver_the_message_says_what_to_install(monkeypatch):
    quadratic_programme._solver.cache_clear()
    monkeypatch.setitem(sys.modules, 'daqp', None)
    with raising(MissingDependencyError, 'missing_dependency', library='daqp'):
        solve_qp(*programme(1))
