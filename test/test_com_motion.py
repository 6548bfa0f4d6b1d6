"""The motion of the centre of mass against the ground, and the fall alarm on a simulated robot."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the sway is simulated with MuJoCo')

from izmp_dynamics.dynamics.com_motion import ComMotion
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay.evaluate import evaluate_bag

from .replayed import evaluate_log


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
    given = run.truth.root.angular_velocity, run.q, run.truth.qd, corners, up
    return run, ComMotion(model, soles), given


def test_the_velocity_is_that_in_the_world(motion):
    run, stage, given = motion
    com, velocity = stage.batch(*given, np.ones((len(run), 2)))
    root = run.truth.root
    in_world = np.einsum('tij,tj->ti', root.rotation, com) + root.position
    np.testing.assert_allclose(in_world, run.truth.com, atol=1e-9)
    found = np.einsum('tij,tj->ti', root.rotation, velocity)
    true = np.gradient(run.truth.com, 1e-9 * np.diff(run.stamps[:2])[0], axis=0)
    error = (found - true)[2:-2]
    assert np.abs(true).max() > 0.1  # [m/s]; the soles creep by less than a tenth of that
    assert np.sqrt((error**2).mean()) < 0.005


def test_any_foot_that_stands_shows_it_and_none_does_not(motion):
    run, stage, given = motion
    both, left, right = (
        stage.batch(*given, np.tile(loads, (len(run), 1)))[1]
        for loads in ([1.0, 1.0], [1.0, 0.0], [0.0, 1.0])
    )
    np.testing.assert_allclose(both, 0.5 * (left + right), atol=1e-12)
    assert np.isnan(stage.batch(*given, np.zeros((len(run), 2)))[1]).all()


def test_a_robot_that_sways_is_not_about_to_fall(sway, biped31):
    results, _ = evaluate_log(sway[1], biped31)
    known = np.isfinite(results.fall.probability)
    assert known.mean() > 0.99
    assert results.fall.probability[known].max() < 0.01
    assert not results.fall.alarm.any()


def test_the_replay_has_columns_of_it(sway, biped31):
    evaluation = evaluate_bag(sway[1], biped31)
    table = evaluation.to_dataframe()
    np.testing.assert_array_equal(table['fall.probability'], evaluation.fall_probability)
    assert not table['fall.alarm'].any()
