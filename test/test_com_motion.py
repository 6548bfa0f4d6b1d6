"""The motion of the centre of mass against the ground, and the fall alarm on a simulated robot."""

import numpy as np
import pytest

from izmp_dynamics.dynamics.com_motion import ComMotion
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.stability.ground_plane import joined_corners

from .recorded import evaluate_log


@pytest.fixture(scope='module')
def motion(sway, biped31):
    """The sway: its run, and what `ComMotion` needs of it."""
    run, model = sway[0], load_model(biped31.urdf_path, biped31.root)
    soles = [foot.sole for foot in biped31.feet]
    up = run.truth.root.rotation[:, 2]
    corners = []
    for foot in biped31.feet:
        R, p = model.frame_pose(foot.sole, run.q)
        corners.append(p[:, None] + np.einsum('tij,vj->tvi', R[:, :, :2], np.array(foot.polygon)))
    joints = run.q, run.truth.qd, run.truth.qdd
    joined = joined_corners(tuple(corners))
    moving = (np.array(each, order='C') for each in (run.truth.root.angular_velocity, *joints))
    given = *moving, *joined, np.ascontiguousarray(up)  # of the types for which it is compiled
    return run, ComMotion(model, soles), given


def evaluate(motion, loaded, forces=(np.nan, np.nan)):
    """What is found if these feet stand, and with these forces, all the time."""
    run, stage, given = motion
    return stage.batch(*given, *(np.tile(each, (len(run), 1)) for each in (loaded, forces)))


def test_the_velocity_is_that_in_the_world(motion):
    run = motion[0]
    com, velocity, _ = evaluate(motion, [True, True])
    root = run.truth.root
    in_world = np.einsum('tij,tj->ti', root.rotation, com) + root.position
    np.testing.assert_allclose(in_world, run.truth.com, atol=1e-9)
    found = np.einsum('tij,tj->ti', root.rotation, velocity)
    true = np.gradient(run.truth.com, 1e-9 * np.diff(run.stamps[:2])[0], axis=0)
    error = (found - true)[2:-2]
    assert np.abs(true).max() > 0.1  # [m/s]; the soles creep by less than a tenth of that
    assert np.sqrt((error**2).mean()) < 0.005


def test_any_foot_that_stands_shows_it_and_none_does_not(motion):
    both, left, right = (
        evaluate(motion, loaded) for loaded in ([True, True], [True, False], [False, True])
    )
    for k in (1, 2):
        np.testing.assert_allclose(both[k], 0.5 * (left[k] + right[k]), atol=1e-12)
        assert np.isnan(evaluate(motion, [False, False])[k]).all()


def test_feet_count_by_their_forces_where_all_are_known(motion):
    left, right = (evaluate(motion, loaded)[1] for loaded in ([True, False], [False, True]))
    found = evaluate(motion, [True, True], [300.0, 100.0])[1]
    np.testing.assert_allclose(found, 0.75 * left + 0.25 * right, atol=1e-12)
    one_unknown = evaluate(motion, [True, True], [300.0, np.nan])[1]
    np.testing.assert_array_equal(one_unknown, evaluate(motion, [True, True])[1])


def test_the_part_by_the_accelerations_is_the_velocity_with_them_in_the_place_of_velocities(
    motion,
):
    run, stage, (omega, q, qd, qdd, *rest) = motion
    on = np.ones((len(run), 2), dtype=bool), np.full((len(run), 2), np.nan)
    still = stage.batch(np.zeros_like(omega), q, qdd, qd, *rest, *on)
    np.testing.assert_array_equal(evaluate(motion, [True, True])[2], still[1])


def test_a_robot_that_sways_is_not_about_to_fall(sway, biped31):
    results, _ = evaluate_log(sway[1], biped31)
    known = np.isfinite(results.fall.probability)
    assert known.mean() > 0.99
    assert results.fall.probability[known].max() < 0.01
    assert not results.fall.alarm.any()
