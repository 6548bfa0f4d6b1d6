"""The ground, and footholds: alternating, as asked, never across an edge or on each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.errors import MotionError
from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.footsteps import EDGE_CLEARANCE, Gait, Ramp, plan_footsteps

from ..raising import raising
from .walking import SLOPE_10_DEG, biped31

HEEL, TOE = -0.09, 0.15


def footsteps(ramp=None, **gait):
    gait = {'steps': 8, 'length': 0.13, 'turn': 0.0, 'width': 0.16} | gait
    return plan_footsteps(biped31(), Gait(**gait), ramp or Ramp())


def test_straight_walk_alternates_and_closes_the_feet():
    plan = footsteps(steps=5)
    assert [hold.foot for hold in plan.steps] == [RIGHT, LEFT, RIGHT, LEFT, RIGHT]
    assert [hold.position[0] for hold in plan.steps] == pytest.approx(
        [0.13, 0.26, 0.39, 0.52, 0.52]
    )
    for hold in (*plan.start, *plan.steps):
        assert hold.position[1] == pytest.approx(0.08 if hold.foot == LEFT else -0.08)
        assert np.allclose(hold.rotation, np.eye(3))


def test_the_left_foot_may_begin():
    assert footsteps(first=LEFT).steps[0].foot == LEFT


@given(st.floats(0.0, 0.2), st.floats(-0.15, 0.15), st.integers(2, 30))
def test_a_turning_walk_keeps_its_width_and_turns_as_asked(length, turn, steps):
    plan = footsteps(length=length, turn=turn, steps=steps, width=0.24)
    left, right = plan.before(steps)
    across = left.position - right.position
    assert np.linalg.norm(across) == pytest.approx(0.24)
    assert across @ left.rotation[:, 0] == pytest.approx(0.0, abs=1e-12)
    heading = np.arctan2(left.rotation[1, 0], left.rotation[0, 0])
    turned = (steps - 1) * turn
    assert np.exp(1j * heading) == pytest.approx(np.exp(1j * turned))


def test_an_arc_has_the_length_and_the_radius_of_speed_over_turn_rate():
    length, turn = 0.1, 0.05
    plan = footsteps(length=length, turn=turn, steps=40)
    radius = length / turn
    for step in range(1, 40):
        left, right = plan.before(step)
        for hold, side in ((left, -0.08), (right, 0.08)):
            from_center = hold.position[:2] - [0.0, radius]
            assert np.linalg.norm(from_center) == pytest.approx(radius + side)


@given(st.floats(0.17, 2.0), st.floats(0.03, 0.16))
def test_no_sole_lies_across_the_edge_of_a_ramp(start, length):
    ramp = Ramp(SLOPE_10_DEG, start)
    plan = footsteps(ramp, length=length, steps=40)
    for hold in (*plan.start, *plan.steps):
        x = hold.position[0]
        distance = max(start - (x + TOE), (x + HEEL) - start)
        assert distance >= EDGE_CLEARANCE - 1e-12
        assert hold.position[2] == pytest.approx(ramp.height(x))
        assert np.allclose(hold.rotation, ramp.rotation(x))


@given(st.floats(0.17, 2.0))
def test_each_foot_passes_the_edge_in_one_swing_of_moderate_length(start):
    plan = footsteps(Ramp(SLOPE_10_DEG, start), steps=40)
    for foot in (LEFT, RIGHT):
        x = [plan.start[foot].position[0], *(hold.position[0] for _, hold in plan.track(foot))]
        passing = np.diff(x)[(np.array(x[:-1]) < start) & (np.array(x[1:]) > start)]
        assert len(passing) == 1
        assert passing[0] <= 0.34


def test_start_on_the_ramp_and_turning_on_it_are_refused():
    with raising(MotionError, 'ramp_below_stance', start=0.1):
        footsteps(Ramp(0.1, 0.1))
    with raising(MotionError, 'turn_on_ramp', turn=0.1):
        footsteps(Ramp(0.1, 1.0), turn=0.1)


def test_overlapping_soles_are_refused_naming_the_step():
    with raising(MotionError, 'soles_overlap', step=0):
        footsteps(width=0.1)
    with raising(MotionError, 'soles_overlap', step=1, foot='right'):
        footsteps(turn=-0.8, width=0.13, length=0.0)


# The ground


def test_level_before_the_edge_and_rising_after():
    ramp = Ramp(np.radians(10.0), 0.5)
    assert ramp.height([-1.0, 0.5, 1.5]) == pytest.approx([0.0, 0.0, np.tan(np.radians(10.0))])


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


def test_level_ground_has_no_edge_to_straddle():
    assert not Ramp(0.0, 0.0).straddled(-0.1, 0.1)
    assert Ramp(0.1, 0.0).straddled(-0.1, 0.1)
    assert not Ramp(0.1, 0.0).straddled(0.0, 0.2)


@pytest.mark.parametrize('degrees', [-5.0, 31.0, np.nan])
def test_other_slopes_are_refused(degrees):
    with pytest.raises(MotionError, match='valid are 0° to 30°'):
        Ramp(np.radians(degrees), 0.0)
