"""Converging CoG: closure, both forms, and its compiled leg against the readable one."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, ShapeError
from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.converging_cog import Convergence, converge_cog
from izmp_lab.walking.leg_ik import packed_leg, solve_leg
from izmp_lab.walking.plan import PlannedFoot

from ..raising import raising
from .walking import SLOPE_10_DEG, biped31, planned, sole_poses

POSES = 2000


def random_task(rng):
    """Wanted CoG, soles and pelvis orientations, all reachable, far from each other."""
    yaw = rng.uniform(-0.3, 0.3, POSES)
    R = np.zeros((POSES, 3, 3))
    R[:, 0, 0] = R[:, 1, 1] = np.cos(yaw)
    R[:, 1, 0], R[:, 0, 1], R[:, 2, 2] = np.sin(yaw), -np.sin(yaw), 1.0
    com = rng.uniform([-0.08, -0.08, 0.65], [0.08, 0.08, 0.75], (POSES, 3))
    soles = [
        rng.uniform([-0.15, side * 0.1 - 0.03, 0.0], [0.15, side * 0.1 + 0.03, 0.05], (POSES, 3))
        for side in (1, -1)
    ]
    feet = tuple(
        PlannedFoot(leg.sole, position, R, np.ones(POSES, dtype=bool))
        for leg, position in zip(biped31().legs, soles, strict=True)
    )
    return com, feet, R


@pytest.fixture(scope='module')
def task():
    return random_task(np.random.default_rng(11))


def converge(task, convergence=None, rows=slice(None)):
    com, R = task[0][rows], task[2][rows]
    feet = tuple(foot[rows] for foot in task[1])
    return converge_cog(biped31(), com, feet, R, start=com[0], convergence=convergence)


def walk_task(**parameters):
    walk = planned(**parameters)
    return walk.plan.com, walk.plan.feet, walk.plan.root.rotation


def check_closure(task, poses):
    """The soles are where they were wanted, by forward kinematics."""
    _, feet, R = task
    for foot in (LEFT, RIGHT):
        world_R_sole, p = sole_poses(biped31(), poses.q, poses.root, R, foot)
        assert np.abs(world_R_sole - feet[foot].rotation).max() <= 1e-12
        assert np.abs(p - feet[foot].position).max() <= 1e-12


def cog_error(task, poses):
    com, _, R = task
    cog = poses.root + np.einsum('tij,tj->ti', R, biped31().model.com(poses.q))
    return np.linalg.norm(cog - com, axis=1)


@pytest.mark.parametrize('convergence', [None, Convergence.as_in_paper()], ids=['exact', 'paper'])
def test_closes_on_2000_unrelated_poses(task, convergence):
    poses = converge(task, convergence)
    check_closure(task, poses)
    tolerance = 1e-9 if convergence is None else 1e-3
    error = cog_error(task, poses)
    assert error.max() <= tolerance + 1e-14
    assert np.abs(error - poses.residual).max() < 1e-12


def test_exact_form_needs_at_most_10_iterations_even_between_unrelated_poses(task):
    assert converge(task).iterations.max() <= 10


@pytest.mark.parametrize('walk', [{'speed': 0.3}, {'speed': 0.15}, {'slope': SLOPE_10_DEG}])
def test_along_a_walk_both_forms_keep_to_their_iterations(walk):
    task = walk_task(steps=12, **walk)
    paper = converge(task, Convergence.as_in_paper())
    assert cog_error(task, paper).max() <= 1e-3
    assert paper.iterations.mean() <= 3.0
    exact = converge(task)
    assert cog_error(task, exact).max() <= 1e-9 + 1e-14
    assert exact.iterations.mean() <= 3.0
    assert exact.iterations.max() <= 10
    check_closure(task, exact)


def test_paper_form_moves_by_beta_along_the_error(task):
    """With β of 1 mm each iteration removes at most about 1 mm of the error."""
    poses = converge(task, Convergence.as_in_paper(), slice(1))
    start = converge(task, Convergence(step=1e-3, tolerance=1.0), slice(1))
    assert poses.iterations[0] * 1e-3 >= 0.9 * np.linalg.norm(poses.root - start.root)
    assert poses.iterations[0] >= 10


def test_only_the_legs_move(task):
    biped, poses = biped31(), converge(task)
    upper = np.setdiff1d(np.arange(biped.model.dof), biped.leg_columns)
    assert (poses.q[:, upper] == biped.posture[upper]).all()


def test_a_leg_that_is_too_short_is_reported_not_hidden():
    com, feet, R = random_task(np.random.default_rng(1))
    com[700:, 2] += 0.4
    poses = converge_cog(biped31(), com, feet, R, start=com[0])
    assert poses.unreachable(biped31())[0] == 700
    assert poses.reach[700].max() > 0.78


def test_impossible_tolerances_are_refused(task):
    with raising(MotionError, 'cog_not_reached', tolerance=1e-6):
        converge(task, Convergence(step=0.01, tolerance=1e-6), slice(3))


def test_lengths_must_fit(task):
    com, feet, R = task
    with raising(ShapeError, 'shape', name='world_R_root'):
        converge_cog(biped31(), com, feet, R[1:], start=com[0])
    with raising(ShapeError, 'shape', name='l_sole'):
        converge_cog(biped31(), com[1:], feet, R[1:], start=com[0])


def test_compiled_leg_stretches_towards_what_it_cannot_reach():
    leg, angles = biped31().legs[LEFT], np.empty(6)
    assert solve_leg(packed_leg(leg), np.eye(3), np.array([0.0, 0.08, -1.5]), angles) == (
        pytest.approx(1.37)
    )
    assert angles == pytest.approx(np.zeros(6))
    assert solve_leg(packed_leg(leg), np.eye(3), np.array([0.0, 0.08, 0.5]), angles) < 0.0
