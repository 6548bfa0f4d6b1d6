"""The closed-form leg IK against forward kinematics."""

from pathlib import Path

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.leg_ik import Leg

from ..raising import raising

URDF = Path(__file__).parents[2] / 'robots/biped31/biped31.urdf'
SOLES = ('l_sole', 'r_sole')


def random_legs(model, leg, count):
    """Joint positions within the limits, the knee bent and the sole facing the ground."""
    columns = list(leg.columns)
    rng = np.random.default_rng(7)
    q = np.zeros((count, model.dof))
    lower, upper = model.position_lower[columns], model.position_upper[columns]
    q[:, columns] = rng.uniform(lower, upper, (count, 6))
    return q


@pytest.mark.parametrize('sole', SOLES)
def test_closes_on_2000_random_poses(model, sole):
    leg = Leg.of(model, sole)
    q = random_legs(model, leg, 3000)
    root_R_sole, p_sole = model.frame_pose(sole, q)
    p_ankle = p_sole - np.einsum('tij,j->ti', root_R_sole, leg.p_sole_in_foot)
    faces_down = np.einsum('tji,tj->ti', root_R_sole, leg.p_hip_in_root - p_ankle)[:, 2] > 1e-3
    q, root_R_sole, p_sole = q[faces_down], root_R_sole[faces_down], p_sole[faces_down]
    assert len(q) >= 2000

    found = q.copy()
    found[:, list(leg.columns)] = leg.solve(root_R_sole, p_sole)
    R, p = model.frame_pose(sole, found)
    assert np.abs(R - root_R_sole).max() < 1e-12
    assert np.abs(p - p_sole).max() < 1e-12


@pytest.mark.parametrize('sole', SOLES)
def test_finds_the_joint_positions_themselves_in_the_upright_branch(model, sole):
    leg = Leg.of(model, sole)
    columns = list(leg.columns)
    q = np.zeros((500, model.dof))
    rng = np.random.default_rng(3)
    q[:, columns] = rng.uniform(
        [-1, -0.4, -1, 0.05, -1, -0.5], [1, 0.4, 0.5, 2, 0.5, 0.5], (500, 6)
    )
    R, p = model.frame_pose(sole, q)
    assert np.allclose(leg.solve(R, p), q[:, columns], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ('pose', 'kind'),
    [
        ([0.0, 0.08, -1.5], 'leg_too_short'),
        ([0.0, 0.08, -0.13], 'leg_too_long'),
        ([np.nan, 0.08, -0.8], 'not_finite'),
        ([0.0, 0.08, 0.5], 'sole_upwards'),
    ],
)
def test_an_unreachable_pose_is_refused_in_a_sentence(model, pose, kind):
    with raising(MotionError, kind, sole='l_sole'):
        Leg.of(model, 'l_sole').solve(np.eye(3), np.array(pose))


def test_the_sample_that_is_out_of_reach_is_named(model):
    p = np.tile([0.0, 0.08, -0.85], (10, 1))
    p[6, 2] = -1.2
    with raising(MotionError, 'leg_too_short', row=6):
        Leg.of(model, 'l_sole').solve(np.tile(np.eye(3), (10, 1, 1)), p)


def test_other_chains_are_refused_with_the_reason(model):
    with raising(MotionError, 'joint_count', sole='trunk', joints=3):
        Leg.of(model, 'trunk')
    with pytest.raises(UnknownNameError):
        Leg.of(model, 'l_soul')


@pytest.mark.parametrize(
    ('old', 'new', 'kind', 'data'),
    [
        ('xyz="0 0 -0.39"', 'xyz="0.01 0 -0.39"', 'leg_geometry', {'sole': 'l_sole'}),
        ('<axis xyz="0 1 0" />', '<axis xyz="0 -1 0" />', 'joint_axis', {'joint': 'hip pitch'}),
        ('xyz="0 0.08 -0.05"', 'xyz="0 0.08 -0.05" rpy="0.1 0 0"', 'joint_axis',
         {'joint': 'hip yaw'}),
    ],
)  # fmt: skip
def test_a_leg_of_another_build_is_refused_with_the_reason(old, new, kind, data):
    text = URDF.read_text()
    assert old in text
    text = text.replace(f'{old} rpy="0 0 0"', new if 'rpy' in new else f'{new} rpy="0 0 0"')
    other = load_model(text.replace(old, new) if 'axis' in old else text)
    with raising(MotionError, kind, **data):
        Leg.of(other, 'l_sole')
