"""Parts of a planned walk: the robot's legs, footsteps, swinging soles, the ZMP reference."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import MotionError, UnknownNameError
from izmp_dynamics.model.robot_file import load_robot_file
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

from ..raising import raising
from .walking import ROBOT_FILE, SLOPE_10_DEG, biped31, corners


def test_left_and_right_come_from_the_hips_not_from_the_order_in_the_file():
    file = load_robot_file(ROBOT_FILE)
    swapped = Biped.of(dataclasses.replace(file, feet=tuple(reversed(file.feet))))
    for biped in (biped31(), swapped):
        assert biped.legs[LEFT].sole == 'l_sole'
        assert biped.legs[RIGHT].sole == 'r_sole'
        assert biped.hip_width == pytest.approx(0.16)


def test_posture_is_taken_by_name():
    biped = biped31()
    assert biped.posture[biped.model.joint_names.index('l_elbow')] == -0.8
    assert np.count_nonzero(biped.posture) == 6
    with pytest.raises(UnknownNameError, match='l_elbows'):
        Biped.of(load_robot_file(ROBOT_FILE), {'l_elbows': 0.1})


def test_one_foot_does_not_walk():
    file = load_robot_file(ROBOT_FILE)
    with pytest.raises(MotionError, match='1 feet'):
        Biped.of(dataclasses.replace(file, feet=file.feet[:1]))


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


@pytest.mark.parametrize('turn', [0.0, 0.1])
def test_accelerations_are_continuous(turn):
    """The largest step of the second difference quotient shrinks with the time step."""
    largest = {}
    for time_step in (0.004, 0.001):
        _, _, soles = feet(Ramp() if turn else Ramp(SLOPE_10_DEG, 0.6), time_step, turn)
        both = np.hstack([soles[0].position, soles[0].rotation.reshape(-1, 9)])
        largest[time_step] = np.abs(np.diff(both, 3, axis=0)).max() / time_step**2
    assert largest[0.001] < 0.3 * largest[0.004]


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


def test_start_on_the_ramp_and_turning_on_it_are_refused():
    with raising(MotionError, 'ramp_below_stance', start=0.1):
        footsteps_footsteps(Ramp(0.1, 0.1))
    with raising(MotionError, 'turn_on_ramp', turn=0.1):
        footsteps_footsteps(Ramp(0.1, 1.0), turn=0.1)


def test_overlapping_soles_are_refused_naming_the_step():
    with raising(MotionError, 'soles_overlap', step=0):
        footsteps_footsteps(width=0.1)
    with raising(MotionError, 'soles_overlap', step=1, foot='right'):
        footsteps_footsteps(turn=-0.8, width=0.13, length=0.0)


@given(st.floats(0.01, 0.5), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0))
def test_normal_is_across_the_surface(slope, start, x):
    ramp, step = Ramp(slope, start), 1e-3
    if abs(x - start) < 2 * step:
        return
    tangent = np.array([2 * step, 0.0, ramp.height(x + step) - ramp.height(x - step)])
    assert ramp.rotation(x)[:, 2] @ tangent == pytest.approx(0.0, abs=1e-12)
    assert ramp.rotation(x)[2, 2] > 0.0


@given(st.floats(0.0, 0.5), st.floats(-2.0, 2.0), st.floats(-3.0, 3.0), st.floats(0.01, 0.3))
def test_rounded_height_is_near_and_never_below(slope, start, x, width):
    ramp = Ramp(slope, start)
    excess = ramp.smooth_height(x, width) - ramp.height(x)
    assert -1e-12 <= excess <= np.tan(slope) * width * np.log(2.0) + 1e-12


@pytest.mark.parametrize('degrees', [-5.0, 31.0, np.nan])
def test_other_slopes_are_refused(degrees):
    with pytest.raises(MotionError, match='valid are 0° to 30°'):
        Ramp(np.radians(degrees), 0.0)
