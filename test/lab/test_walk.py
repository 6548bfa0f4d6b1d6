"""Planned walks: laws that every one must obey, and sentences for those that cannot be."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.stability.support_polygon import margins
from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

from ..raising import raising
from .walking import SLOPE_10_DEG, biped31, corners, planned, sole_poses

WALKS = [
    {'speed': 0.3},
    {'speed': 0.15},
    {'slope': SLOPE_10_DEG},
    {'turn_rate': 0.3},
    {'speed': 0.0, 'turn_rate': -0.4},
    {'first_foot': 'left', 'double_support': 0.05},
]


@pytest.fixture(params=WALKS, ids=str)
def walk(request):
    return planned(steps=12, **request.param)


def test_starts_and_ends_at_rest_with_the_feet_side_by_side(walk):
    plan = walk.plan
    for rows in (plan.qd, plan.qdd, plan.root.velocity, plan.root.angular_velocity):
        assert np.abs(rows[[0, -1]]).max() < 1e-9
    upright = plan.root.rotation[-1]
    apart = upright.T @ (plan.feet[LEFT].position[-1] - plan.feet[RIGHT].position[-1])
    assert apart == pytest.approx([0.0, 0.16, 0.0], abs=1e-9)


def test_it_goes_as_far_as_asked(walk):
    asked = walk.parameters.speed * walk.parameters.step_time
    lengths = np.diff([0.0, *(hold.along * asked for hold in walk.footsteps.steps)])
    assert lengths.max() <= max(asked, 2 * asked) + 0.15
    if walk.ramp.slope == 0.0:
        assert lengths[:-1] == pytest.approx(np.full(11, asked))


def test_joints_put_the_soles_where_the_plan_says(walk):
    plan = walk.plan
    for foot in (LEFT, RIGHT):
        R, p = sole_poses(biped31(), plan.q, plan.root.position, plan.root.rotation, foot)
        assert np.abs(R - plan.feet[foot].rotation).max() <= 1e-12
        assert np.abs(p - plan.feet[foot].position).max() <= 1e-12


def test_zmp_of_all_bodies_stays_inside_the_support_polygon(walk):
    """Seen along the ground normal; by more than 2 cm but while the weight changes feet."""
    plan = walk.plan
    soles = tuple(
        corners(foot, polygon) for foot, polygon in zip(plan.feet, biped31().polygons, strict=True)
    )
    contact = np.stack([foot.contact for foot in plan.feet], axis=1)
    (margin,) = margins((plan.zmp,), soles, contact, walk.zmp_reference.normal)
    assert np.nanmin(margin) > 0.02


def test_torques_stay_within_the_limits_and_are_continuous(walk):
    torque, effort = walk.plan.feed_forward, biped31().model.effort_limit
    assert (np.abs(torque) < effort).all()
    assert np.abs(np.diff(torque, axis=0)).max() < 5.0


def test_accelerations_of_com_and_joints_are_continuous():
    """The largest step of an acceleration between rows shrinks with the time step."""
    jumps = []
    for time_step in (0.004, 0.001):
        plan = planned(steps=4, time_step=time_step).plan
        com = np.diff(plan.com, 2, axis=0) / time_step**2
        jumps.append([np.abs(np.diff(rows, axis=0)).max() for rows in (com, plan.qdd)])
    assert (np.array(jumps[1]) < 0.4 * np.array(jumps[0])).all()


def test_left_and_right_are_mirror_images():
    right, left = (planned(steps=4, first_foot=foot).plan for foot in ('right', 'left'))
    mirrored = np.array([-1, -1, 1, 1, 1, -1])
    legs = [list(leg.columns) for leg in biped31().legs]
    for own, other in (legs, legs[::-1]):
        assert np.abs(right.q[:, own] - mirrored * left.q[:, other]).max() < 1e-5
    assert np.abs(right.com - left.com * [1, -1, 1]).max() < 1e-6


def test_knee_that_would_stretch_is_refused_naming_step_joint_and_value():
    with raising(MotionError, 'knee_stretches', step=2, joint='l_knee') as caught:
        planned(speed=0.9)
    assert caught.value.data['longest'] == pytest.approx(0.78)
    assert caught.value.data['distance'] > 0.78
    with raising(MotionError, 'knee_stretches', step=0):
        planned(com_height=0.9)


def limited(**limits):
    """biped31 with other limits of all joints."""
    model = biped31().model
    changed = {name: np.full(model.dof, value) for name, value in limits.items()}
    return dataclasses.replace(biped31(), model=dataclasses.replace(model, **changed))


@pytest.mark.parametrize(
    ('limit', 'quantity', 'most'),
    [
        ({'velocity_limit': 2.0}, 'velocity', 2.0),
        ({'position_upper': 0.9}, 'position', 0.9),
        ({'effort_limit': 25.0}, 'torque', 25.0),
    ],
)
def test_limits_are_kept_naming_step_joint_and_value(limit, quantity, most):
    with raising(MotionError, 'joint_limit', quantity=quantity, step=1) as refusal:
        plan_walk(limited(**limit), WalkParameters(steps=4))
    data = refusal.value.data
    assert data['joint'] in biped31().model.joint_names
    assert most < abs(data['value']) < 1.2 * most
    assert 1.0 < data['time'] < 2.0


def test_zmp_outside_the_sole_is_refused():
    with raising(MotionError, 'zmp_outside_sole', ahead=0.2, foot='left'):
        planned(zmp_travel=(0.0, 0.2))


@pytest.mark.parametrize(
    ('parameters', 'kind', 'data'),
    [
        ({'speed': -0.1}, 'out_of_range', {'parameter': 'speed', 'lower': 0.0, 'upper': 2.0}),
        ({'steps': 0}, 'out_of_range', {'parameter': 'steps', 'value': 0, 'upper': 1000}),
        ({'com_height': float('nan')}, 'out_of_range', {'parameter': 'com_height'}),
        (
            {'first_foot': 'both'},
            'unknown_choice',
            {'parameter': 'first_foot', 'valid': ('left', 'right')},
        ),
        ({'slope': 0.7}, 'out_of_range', {'parameter': 'slope'}),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, kind, data):
    with raising(MotionError, kind, **data):
        WalkParameters(**parameters)
