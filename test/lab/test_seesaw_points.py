"""Where the ZMP is on a moving board, and what those miss who take it for a world at rest."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the runs are simulated with MuJoCo')

from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import SimulationError
from izmp_lab.seesaw.study.izmp import ASSUMPTIONS, points_on_board, seen_from
from izmp_lab.walking.plan import RootMotion

from ..raising import raising
from .seesaw_shake import pushed, shake

STEP = 0.001


@pytest.fixture(scope='module')
def shaken():
    return shake()


def points(shaken, run):
    plant = shaken.plant
    gravity = plant.sensed.file.gravity
    return points_on_board(run, plant.robot.model, plant.seesaw.top, gravity)


def wandering(seed):
    """A body that moves smoothly for a second, from rest to rest."""
    rng = np.random.default_rng(seed)
    time = np.arange(0.0, 1.0 + STEP, STEP)
    bump = (np.sin(np.pi * time) ** 4)[:, None]
    turns, places = rng.normal(size=(2, 3))
    rotation = Rotation.from_rotvec(bump * turns) * Rotation.from_rotvec(rng.normal(size=3))
    return RootMotion.from_poses(bump * places + rng.normal(size=3), rotation.as_matrix(), STEP)


def test_motion_against_a_moving_ground_is_the_derivative_of_the_pose_against_it():
    ground, root = wandering(1), wandering(2)
    relative = seen_from(ground, root)
    into = np.swapaxes(ground.rotation, 1, 2)
    place = np.einsum('tij,tj->ti', into, root.position - ground.position)
    expected = RootMotion.from_poses(place, into @ root.rotation, STEP)
    for field in dataclasses.fields(RootMotion):
        one, other = (getattr(motion, field.name) for motion in (relative, expected))
        np.testing.assert_allclose(one, other, atol=2e-3)


def test_only_who_knows_that_the_board_moves_finds_the_centre_of_pressure(shaken):
    run = shaken.run
    found = points(shaken, run)
    assert found.keys() == ASSUMPTIONS.keys()
    rows = ~pushed(run) & np.isfinite(run.truth.cop[:, 0])
    error = {
        name: np.linalg.norm(place - run.cop_in_ground(), axis=1)[rows]
        for name, place in found.items()
    }
    assert error['moving'].max() < 1e-9
    assert all(error[name].max() > 1e-3 for name in ('level', 'board_still', 'gravity'))


def test_on_a_board_that_stays_level_all_who_count_the_motion_agree(shaken):
    run = shaken.run
    count, zero = len(run), np.zeros((len(run), 3))
    still = RootMotion(
        np.tile([0.0, 0.0, shaken.plant.seesaw.com_height], (count, 1)),
        np.tile(np.eye(3), (count, 1, 1)),
        zero, zero, zero, zero,
    )  # fmt: skip
    found = points(shaken, dataclasses.replace(run, ground=still))
    for name in ('level', 'level_seen', 'board_still'):
        np.testing.assert_allclose(found[name], found['moving'], atol=1e-9)


def test_a_ground_that_does_not_move_is_refused(shaken):
    with raising(SimulationError, 'ground_at_rest'):
        points(shaken, dataclasses.replace(shaken.run, ground=None))
