"""Planned walks: laws that every one must obey, and sentences for those that cannot be."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from izmp_dynamics.base.errors import IzmpError, MotionError, UnknownNameError
from izmp_dynamics.cli.main import main
from izmp_dynamics.stability.support_polygon import margins
from izmp_lab.cli.plan import summary_lines
from izmp_lab.cli.walk_figure import save_walk_figure
from izmp_lab.walking.biped import LEFT, RIGHT, Biped
from izmp_lab.walking.course import plan_sole, swing_pose
from izmp_lab.walking.footsteps import (
    EDGE_CLEARANCE,
    Gait,
    Ramp,
    StepTiming,
    plan_footsteps,
    zmp_knots,
)
from izmp_lab.walking.walk import plan_walk
from izmp_lab.walking.walk_parameters import WalkParameters

from ..raising import raising
from .walking import FILE, SLOPE_10_DEG, biped31, corners, planned, sole_poses

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


def test_command_plans_and_plots(tmp_path, capsys):
    plot = tmp_path / 'plots' / 'plan.png'
    options = ['plan', 'walk', '--speed', '0.25', '--steps', '6', '--plot', str(plot)]
    assert main(options) == 0
    said = capsys.readouterr()
    assert 'Walk:    6 steps of 0.112 m in 0.448 s' in said.out
    assert f'Plot:    {plot}' in said.out
    assert not said.err
    assert imread(plot).std() > 0.1
    assert main([*options, '--quiet']) == 0
    assert not capsys.readouterr().out
    assert main([*options, '--steps', '0']) == 1
    assert '1000' in capsys.readouterr().err


def test_summary_names_the_joints_that_are_nearest_to_their_limits():
    walk, model = planned(steps=6), biped31().model
    lines = '\n'.join(summary_lines(walk, biped31()))
    speed = np.abs(walk.plan.qd).max(axis=0) / model.velocity_limit
    assert (
        f'{100 * speed.max():.0f} % of its limit, at {model.joint_names[speed.argmax()]}' in lines
    )
    torque = np.abs(walk.plan.feed_forward).max(axis=0) / model.effort_limit
    assert f'largest torque {100 * torque.max():.0f} %' in lines
    room = np.minimum(walk.plan.q - model.position_lower, model.position_upper - walk.plan.q)
    room = room.min(axis=0)[np.ptp(walk.plan.q, axis=0) > 0.0].min()
    assert f'{np.degrees(room):.1f}° at ' in lines
    passes = walk.parameters.filter_passes
    assert f'after {passes} passes' in lines


def test_a_plot_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / 'file').touch()
    walk = planned(steps=6)
    for place, kind in (
        ('plan', 'no_file_ending'), ('plan.docx', 'not_written'), ('file/plan.png', 'not_written'),
    ):  # fmt: skip
        with raising(IzmpError, kind, path=tmp_path / place):
            save_walk_figure(walk, biped31(), tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ['file']


def test_left_and_right_come_from_the_hips_not_from_the_order_in_the_file():
    swapped = Biped.of(dataclasses.replace(FILE, feet=tuple(reversed(FILE.feet))))
    for biped in (biped31(), swapped):
        assert biped.legs[LEFT].sole == 'l_sole'
        assert biped.legs[RIGHT].sole == 'r_sole'
        assert biped.hip_width == pytest.approx(0.16)


def test_posture_is_taken_by_name():
    biped = biped31()
    assert biped.posture[biped.model.joint_names.index('l_elbow')] == -0.8
    assert np.count_nonzero(biped.posture) == 6
    with pytest.raises(UnknownNameError, match='l_elbows'):
        Biped.of(FILE, {'l_elbows': 0.1})


def test_one_foot_does_not_walk():
    with pytest.raises(MotionError, match='1 feet'):
        Biped.of(dataclasses.replace(FILE, feet=FILE.feet[:1]))


RAMPS = [Ramp(), *(Ramp(SLOPE_10_DEG, start) for start in (0.45, 0.5, 0.55, 0.6, 0.65))]


def feet(ramp=None, time_step=0.002, turn=0.0):
    footsteps = plan_footsteps(biped31(), Gait(12, 0.134, turn, 0.18), ramp or Ramp())
    timing = StepTiming(12, 0.448, 0.2, 0.5, time_step)
    return (
        footsteps,
        timing,
        [
            plan_sole(leg.sole, foot, footsteps, timing, 0.04)
            for foot, leg in enumerate(biped31().legs)
        ],
    )


@pytest.mark.parametrize('ramp', RAMPS)
def test_soles_stand_still_while_in_contact_and_reach_every_foothold(ramp):
    footsteps, timing, soles = feet(ramp)
    for foot, sole in zip((LEFT, RIGHT), soles, strict=True):
        stays = sole.contact[1:] & sole.contact[:-1]
        moved = np.abs(np.diff(sole.position, axis=0)).max(axis=1)
        turned = np.abs(np.diff(sole.rotation, axis=0)).max(axis=(1, 2))
        assert moved[stays].max() == 0.0
        assert turned[stays].max() == 0.0
        for step, hold in footsteps.track(foot):
            row = np.searchsorted(timing.times, timing.lands(step) + 1e-9)
            assert np.array_equal(sole.position[row], hold.position)
            assert np.array_equal(sole.rotation[row], hold.rotation)


@pytest.mark.parametrize('ramp', RAMPS)
def test_no_corner_goes_below_the_ground(ramp):
    _, _, soles = feet(ramp)
    for sole, polygon in zip(soles, biped31().polygons, strict=True):
        points = corners(sole, polygon)
        clearance = points[..., 2] - ramp.height(points[..., 0])
        assert clearance.min() > -1e-9
        assert np.abs(clearance[sole.contact]).max() < 1e-9


def test_the_middle_of_a_swing_is_as_high_as_asked():
    footsteps, _, _ = feet()
    position, _ = swing_pose(footsteps.start[RIGHT], footsteps.steps[0], np.array([0.5]), 0.04)
    assert position[0, 2] == pytest.approx(0.04)
    assert position[0, 0] == pytest.approx(0.067)


TRAVEL = (0.0, 0.04)


@pytest.fixture(params=[Ramp(), Ramp(SLOPE_10_DEG, 0.6)], ids=['level', 'ramp'])
def ramp(request):
    return request.param


@pytest.fixture
def timing():
    return StepTiming(12, 0.448, 0.2, 1.5, 0.002)


@pytest.fixture
def footsteps(ramp):
    return plan_footsteps(biped31(), Gait(12, 0.134, 0.0, 0.16), ramp)


@pytest.fixture
def zmp(footsteps, timing):
    return zmp_knots(footsteps, timing, TRAVEL).reference(timing.times)


def test_single_support_travels_along_the_stance_sole(zmp, footsteps, timing):
    for step, hold in enumerate(footsteps.steps):
        stance = footsteps.before(step)[1 - hold.foot]
        swing = (timing.times > timing.lifts(step)) & (timing.times < timing.lands(step))
        on_sole = (zmp.point[swing] - stance.position) @ stance.rotation
        assert np.abs(on_sole[:, 1:]).max() < 1e-12
        assert on_sole[:, 0].min() >= TRAVEL[0]
        assert on_sole[:, 0].max() <= TRAVEL[1]
        assert (np.diff(on_sole[:, 0]) > 0.0).all()
        assert np.abs(zmp.normal[swing] - stance.rotation[:, 2]).max() < 1e-12


HEEL, TOE = -0.09, 0.15


def footsteps_footsteps(ramp=None, **gait):
    gait = {'steps': 8, 'length': 0.13, 'turn': 0.0, 'width': 0.16} | gait
    return plan_footsteps(biped31(), Gait(**gait), ramp or Ramp())


def test_straight_walk_alternates_and_closes_the_feet():
    plan = footsteps_footsteps(steps=5)
    assert [hold.foot for hold in plan.steps] == [RIGHT, LEFT, RIGHT, LEFT, RIGHT]
    assert [hold.position[0] for hold in plan.steps] == pytest.approx(
        [0.13, 0.26, 0.39, 0.52, 0.52]
    )
    for hold in (*plan.start, *plan.steps):
        assert hold.position[1] == pytest.approx(0.08 if hold.foot == LEFT else -0.08)
        assert np.allclose(hold.rotation, np.eye(3))


@given(st.floats(0.0, 0.2), st.floats(-0.15, 0.15), st.integers(2, 30))
def test_a_turning_walk_keeps_its_width_and_turns_as_asked(length, turn, steps):
    plan = footsteps_footsteps(length=length, turn=turn, steps=steps, width=0.24)
    left, right = plan.before(steps)
    across = left.position - right.position
    assert np.linalg.norm(across) == pytest.approx(0.24)
    assert across @ left.rotation[:, 0] == pytest.approx(0.0, abs=1e-12)
    heading = np.arctan2(left.rotation[1, 0], left.rotation[0, 0])
    turned = (steps - 1) * turn
    assert np.exp(1j * heading) == pytest.approx(np.exp(1j * turned))


@given(st.floats(0.17, 2.0), st.floats(0.03, 0.16))
def test_no_sole_lies_across_the_edge_of_a_ramp(start, length):
    ramp = Ramp(SLOPE_10_DEG, start)
    plan = footsteps_footsteps(ramp, length=length, steps=40)
    for hold in (*plan.start, *plan.steps):
        x = hold.position[0]
        distance = max(start - (x + TOE), (x + HEEL) - start)
        assert distance >= EDGE_CLEARANCE - 1e-12
        assert hold.position[2] == pytest.approx(ramp.height(x))
        assert np.allclose(hold.rotation, ramp.rotation(x))


@given(st.floats(0.17, 2.0))
def test_each_foot_passes_the_edge_in_one_swing_of_moderate_length(start):
    plan = footsteps_footsteps(Ramp(SLOPE_10_DEG, start), steps=40)
    for foot in (LEFT, RIGHT):
        x = [plan.start[foot].position[0], *(hold.position[0] for _, hold in plan.track(foot))]
        passing = np.diff(x)[(np.array(x[:-1]) < start) & (np.array(x[1:]) > start)]
        assert len(passing) == 1
        assert passing[0] <= 0.34


@given(st.floats(0.0, 0.5), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0), st.floats(0.01, 0.3))
def test_rounded_height_is_near_and_never_below(slope, start, x, width):
    ramp = Ramp(slope, start)
    excess = ramp.smooth_height(x, width) - ramp.height(x)
    assert -1e-12 <= excess <= np.tan(slope) * width * np.log(2.0) + 1e-12


@pytest.mark.parametrize(
    ('refused', 'kind', 'data'),
    [
        (lambda: planned(zmp_travel=(0.0, 0.2)), 'zmp_outside_sole',
         {'ahead': 0.2, 'foot': 'left'}),
        (lambda: WalkParameters(speed=-0.1), 'out_of_range',
         {'parameter': 'speed', 'lower': 0.0, 'upper': 2.0}),
        (lambda: WalkParameters(steps=0), 'out_of_range',
         {'parameter': 'steps', 'value': 0, 'upper': 1000}),
        (lambda: WalkParameters(com_height=float('nan')), 'out_of_range',
         {'parameter': 'com_height'}),
        (lambda: WalkParameters(first_foot='both'), 'unknown_choice',
         {'parameter': 'first_foot', 'valid': ('left', 'right')}),
        (lambda: WalkParameters(slope=0.7), 'out_of_range', {'parameter': 'slope'}),
        (lambda: footsteps_footsteps(Ramp(0.1, 0.1)), 'ramp_below_stance', {'start': 0.1}),
        (lambda: footsteps_footsteps(Ramp(0.1, 1.0), turn=0.1), 'turn_on_ramp', {'turn': 0.1}),
        (lambda: footsteps_footsteps(width=0.1), 'soles_overlap', {'step': 0}),
        (lambda: footsteps_footsteps(turn=-0.8, width=0.13, length=0.0), 'soles_overlap',
         {'step': 1, 'foot': 'right'}),
        *((lambda degrees=degrees: Ramp(np.radians(degrees), 0.0), 'slope_out_of_range', {})
          for degrees in (-5.0, 31.0, np.nan)),
    ],
)  # fmt: skip
def test_what_cannot_be_walked_is_refused(refused, kind, data):
    with raising(MotionError, kind, **data):
        refused()
