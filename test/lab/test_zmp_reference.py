"""The ZMP reference: under the soles that carry, continuous, and on the ground."""

import numpy as np
import pytest

from izmp_lab.walking.footsteps import Gait, Ramp, StepTiming, plan_footsteps
from izmp_lab.walking.zmp_reference import zmp_knots

from .walking import SLOPE_10_DEG, biped31

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


def test_timing_covers_stand_steps_and_stand(timing):
    assert timing.duration == pytest.approx(1.5 + 12 * 0.448 + 1.5)
    assert timing.times[-1] >= timing.duration - 1e-9
    assert timing.step_at(1.4) is None
    assert timing.step_at(1.6) == 0
    assert timing.step_at(1.5 + 11.5 * 0.448) == 11
    assert timing.step_at(timing.duration) is None
    assert timing.lands(3) == timing.begins(4)


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


def test_stands_between_the_soles(zmp, footsteps, timing):
    assert zmp.point[0] == pytest.approx([0.02, 0.0, 0.0])
    left, right = footsteps.before(12)
    middle = 0.5 * (left.point(0.02) + right.point(0.02))
    assert zmp.point[-1] == pytest.approx(middle)


def test_in_double_support_it_is_on_the_line_between_the_loads(zmp, footsteps, timing):
    for step in range(1, 12):
        both = (timing.times > timing.begins(step)) & (timing.times < timing.lifts(step))
        line = zmp.loads[both, 1] - zmp.loads[both, 0]
        aside = np.cross(zmp.point[both] - zmp.loads[both, 0], line)
        assert np.abs(aside).max() < 1e-12


def test_it_is_continuous(zmp, timing):
    fastest = 0.3 / (0.2 * 0.448)
    assert np.linalg.norm(np.diff(zmp.point, axis=0), axis=1).max() < fastest * timing.time_step
    assert np.abs(np.linalg.norm(zmp.normal, axis=1) - 1.0).max() < 1e-12
