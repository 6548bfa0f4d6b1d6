"""The sway plan: smooth, at rest at both ends, soles where they were, errors in sentences."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.errors import MotionError, ShapeError, UnknownNameError
from izmp_dynamics.model.robot_model import load_model
from izmp_lab.walking.sway import SwayParameters, plan_sway

from ..raising import raising

URDF = Path(__file__).parents[2] / 'robots/biped31/biped31.urdf'


@pytest.fixture(scope='module')
def plan(model):
    return plan_sway(model)


def test_starts_and_ends_at_rest_in_the_same_posture(plan):
    standing = plan.times <= 0.5
    for rows in (plan.qd, plan.qdd, plan.root.velocity, plan.root.angular_velocity):
        assert np.abs(rows[[0, -1]]).max() < 1e-9
    assert np.abs(plan.q[standing] - plan.q[0]).max() < 1e-12
    assert np.abs(plan.q[-1] - plan.q[0]).max() < 1e-12


def test_acceleration_is_continuous(model):
    """The largest step of q̈ between rows shrinks with the time step, as it would not at a jump."""
    coarse = np.abs(np.diff(plan_sway(model, time_step=0.004).qdd, axis=0)).max()
    fine = np.abs(np.diff(plan_sway(model, time_step=0.001).qdd, axis=0)).max()
    assert fine < 0.3 * coarse


def test_soles_stay_flat_where_they_are(model, plan):
    for foot in plan.feet:
        root_R_sole, p_in_root = model.frame_pose(foot.sole, plan.q)
        world_R_sole = plan.root.rotation @ root_R_sole
        p = plan.root.position + np.einsum('tij,tj->ti', plan.root.rotation, p_in_root)
        assert np.abs(world_R_sole - np.eye(3)).max() < 1e-12
        assert np.abs(p - foot.position).max() < 1e-12
        assert np.array_equal(foot.position[0], [0.0, np.sign(foot.position[0, 1]) * 0.08, 0.0])
        assert foot.contact.all()


def test_weight_shifts_and_squats_as_far_as_asked(model):
    parameters = SwayParameters(lateral=0.03, fore_aft=0.02, squat=0.06, squat_back=0.0)
    plan = plan_sway(model, parameters)
    offset = plan.root.position - plan.root.position[0]
    assert 0.02 < offset[:, 1].max() <= 0.03
    assert 0.02 < -offset[:, 1].min() <= 0.03
    assert 0.013 < offset[:, 0].max() <= 0.02
    assert offset[:, 2].min() == pytest.approx(-0.06, abs=1e-9)
    assert offset[:, 2].max() == pytest.approx(0.0, abs=1e-12)


def test_com_stands_ahead_of_the_ankles_as_asked(model):
    plan = plan_sway(model, SwayParameters(ahead=0.02))
    assert plan.com[0, :2] == pytest.approx([0.02, 0.0], abs=1e-12)


def test_derivatives_agree_with_difference_quotients(plan):
    dt = plan.time_step
    assert np.abs((plan.q[2:] - plan.q[:-2]) / (2 * dt) - plan.qd[1:-1]).max() < 1e-3
    assert np.abs((plan.qd[2:] - plan.qd[:-2]) / (2 * dt) - plan.qdd[1:-1]).max() < 1e-2
    root = plan.root
    assert np.abs(np.gradient(root.position, dt, axis=0) - root.velocity)[1:-1].max() < 1e-4
    turns = Rotation.from_matrix(np.swapaxes(root.rotation[:-2], 1, 2) @ root.rotation[2:])
    omega = turns.as_rotvec() / (2 * dt)
    assert np.abs(omega - root.angular_velocity[1:-1]).max() < 1e-4
    quotient = (root.angular_velocity[2:] - root.angular_velocity[:-2]) / (2 * dt)
    assert np.abs(quotient - root.angular_acceleration[1:-1]).max() < 1e-3


def test_references_are_exact_at_the_rows_and_held_outside(plan):
    torque = np.sin(plan.q)
    plan = plan.with_feed_forward(torque, np.zeros((len(plan), 3)))
    q, qd, feed_forward = plan.references(plan.times)
    assert np.abs(q - plan.q).max() < 1e-15
    assert np.array_equal(qd, plan.qd)
    assert np.array_equal(feed_forward, torque)
    q, qd, feed_forward = plan.references(np.array([-1.0, plan.duration + 1.0]))
    assert np.abs(q - plan.q[[0, -1]]).max() < 1e-15
    assert not qd.any()
    assert np.array_equal(feed_forward, torque[[0, -1]])


@pytest.mark.parametrize(
    ('parameters', 'kind', 'data'),
    [
        (SwayParameters(lateral=0.4), 'leg_too_short', {'sole': 'l_sole'}),
        (SwayParameters(squat=0.9), 'squat_too_deep', {'squat': 0.9}),
        (SwayParameters(squat=0.6), 'joint_limit', {'joint': 'l_knee', 'quantity': 'position'}),
        (SwayParameters(squat=0.4, squat_time=0.3), 'joint_limit', {'quantity': 'velocity'}),
    ],
)
def test_an_impossible_sway_is_refused_in_a_sentence(model, parameters, kind, data):
    with raising(MotionError, kind, **data):
        plan_sway(model, parameters)


def test_a_robot_without_such_arms_or_soles_is_refused():
    with raising(UnknownNameError, 'unknown_name', name='l_shoulder_pitch'):
        plan_sway(load_model(URDF.parents[1] / 'itu_biped/itu_biped.urdf'))
    with raising(UnknownNameError, 'unknown_name', name='l_sole'):
        plan_sway(load_model(URDF.read_text(encoding='utf-8').replace('l_sole', 'left_sole')))


def test_a_plan_refuses_wrong_shapes_and_numbers(plan):
    with raising(ShapeError, 'shape', name='qdd'):
        dataclasses.replace(plan, qdd=plan.qdd[:-1])
    with raising(MotionError, 'not_finite', array='feed_forward'):
        plan.with_feed_forward(np.full_like(plan.q, np.nan), np.zeros((len(plan), 3)))
    with raising(ShapeError, 'shape', name='velocity'):
        dataclasses.replace(plan.root, velocity=np.zeros((3, 3)))
