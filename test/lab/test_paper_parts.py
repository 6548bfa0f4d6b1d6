"""Parts of the paper's study: noise, covariance, quotients, the arm of the tipping moment."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.compare.metrics import MetricsError
from izmp_dynamics.dynamics.contact_wrench import ContactWrench
from izmp_lab.simulation.noisy_signals import WhiteNoise
from izmp_lab.studies.paper.bench import gyro_covariance
from izmp_lab.studies.paper.study import estimate
from izmp_lab.studies.tipping_arm import arm_of_wrench, tipping_arm

from ..test_noise_propagation import DRAWS, OMEGA, check


@given(st.integers(0, 20_000), st.integers(0, 9_000))
def test_a_window_gives_the_same_bits_as_the_whole(first: int, count: int) -> None:
    noise = WhiteNoise(3, 'gyro', 1.0, 1.0)
    whole = WhiteNoise(3, 'gyro', 1.0, 1.0).batch(30_000)
    np.testing.assert_array_equal(noise.batch(count, first), whole[first : first + count])


def test_a_differenced_gyroscope():
    random = np.random.default_rng(1)
    arm, h = np.array([-0.03, -0.04, 0.02]), 0.008
    before, here = (OMEGA + random.normal(0.0, 0.004, (DRAWS, 3)) for _ in range(2))
    force = np.array([0.1, 0.2, GRAVITY]) + random.normal(0.0, 0.02, (DRAWS, 3))
    alpha = (here - before) / h
    phi = force - np.cross(alpha, arm) - np.cross(here, np.cross(here, arm))
    weights = (-1.0 / h, 1.0 / h, 0.0)
    predicted = gyro_covariance(arm, OMEGA, weights, 0.02, 0.004)[0]
    check(predicted, np.hstack([phi, here, alpha]))


UP = np.array([[0.0, 0.0, 1.0]])


def test_it_is_the_distance_to_where_a_vertical_force_acts():
    place, force = np.array([[0.1, -0.2, 0.0]]), np.array([[0.0, 0.0, 50.0]])
    contact = np.concatenate([force, np.cross(place, force)], axis=1)
    assert tipping_arm(contact, place, UP) < 1e-15
    aside = place + np.array([[0.03, 0.04, 0.0]])
    np.testing.assert_allclose(tipping_arm(contact, aside, UP), 0.05)


def test_of_its_own_wrench_it_is_zero_on_any_plane():
    rng = np.random.default_rng(0)
    wrench = rng.normal(size=(20, 6))
    wrench[:, 2] += 100.0
    normal = rng.normal(size=(20, 3)) * 0.2 + UP
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    place = rng.normal(size=(20, 3))
    arm = arm_of_wrench(ContactWrench.from_array(wrench), wrench, normal, place, 1.0)
    assert arm.max() < 1e-12


def test_without_a_force_there_is_none():
    wrench = ContactWrench.from_array(np.zeros((1, 6)))
    contact = np.array([[0.0, 0.0, 50.0, 0.0, 0.0, 0.0]])
    assert np.isnan(arm_of_wrench(wrench, contact, UP, np.zeros((1, 3)), 20.0)).all()


def test_the_confidence_interval_of_normal_repetitions_covers_the_mean():
    random = np.random.default_rng(3)
    found = [estimate(random.normal(5.0, 2.0, 20)) for _ in range(400)]
    covered = np.mean([abs(one.mean - 5.0) <= one.half_width for one in found])
    assert 0.91 < covered < 0.98  # 95 % of 400, three standard deviations


def test_one_repetition_has_no_interval():
    assert math.isnan(estimate(np.array([1.0])).half_width)
    with pytest.raises(MetricsError):
        estimate(np.array([]))


def test_a_range_has_95_percent_of_many_repetitions_and_all_of_few():
    few, many = estimate(np.arange(1.0, 11.0)), estimate(np.arange(1.0, 101.0))
    assert (few.range, few.median) == ((1.0, 10.0), 5.5)
    assert many.range == (3.0, 98.0)
    assert many.has(3.0)
    assert not many.has(2.0)
    assert estimate([4.0]).range == (4.0, 4.0)
