"""Swinging soles: smooth, at rest where they stand, above the ground in between."""

import numpy as np
import pytest

from izmp_lab.walking.biped import LEFT, RIGHT
from izmp_lab.walking.course import minimum_jerk, plan_sole, swing_pose
from izmp_lab.walking.footsteps import Gait, Ramp, StepTiming, plan_footsteps

from .walking import SLOPE_10_DEG, biped31, corners

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


def test_minimum_jerk_starts_and_ends_at_rest():
    u = np.linspace(0.0, 1.0, 2001)
    rise, du = minimum_jerk(u), u[1]
    assert rise[[0, -1]] == pytest.approx([0.0, 1.0])
    for order in (1, 2):
        ends = np.diff(rise, order)[[0, -1]] / du**order
        assert np.abs(ends).max() < 0.1
    assert (np.diff(rise) > 0.0).all()


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


def test_one_sole_at_least_is_on_the_ground():
    _, timing, soles = feet()
    contact = np.stack([sole.contact for sole in soles], axis=1)
    assert contact.any(axis=1).all()
    swinging = 12 * 0.8 * 0.448 / timing.duration
    assert (~contact).any(axis=1).mean() == pytest.approx(swinging, abs=0.01)


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
