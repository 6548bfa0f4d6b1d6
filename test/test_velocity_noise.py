"""The noise of the velocity of the centre of mass, from the accelerations of the joints."""

from dataclasses import replace

import numpy as np
import pytest

from izmp_dynamics.model.method import Acd
from izmp_dynamics.pipeline.noise_propagation import gain_of, joint_weights
from izmp_dynamics.signals.differences import central_quotient
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.fall_alarm import FallAlarm
from izmp_dynamics.stability.velocity_noise import VelocityNoise

from .test_fall_alarm import RATE, G, balance

PERIOD = 0.01
STAMPS = 10_000_000 * np.arange(1, 2001)


def ratio(half_width=None):
    gain = gain_of(joint_weights(Acd(), half_width, PERIOD))
    return np.sqrt(gain.first / gain.second)


def test_the_ratio_of_a_central_quotient_is_that_of_the_textbook():
    assert ratio() == pytest.approx(PERIOD / np.sqrt(12.0))


@pytest.mark.parametrize('half_width', [None, 0.03])
def test_white_noise_of_positions_is_found_twice_over_never_too_small(half_width):
    """Once by the mean of the last second and once by the instant itself."""
    positions = 1e-4 * np.random.default_rng(1).normal(size=(2000, 3))
    found = central_quotient(STAMPS, positions)
    if half_width is not None:
        found = matched_means(STAMPS, positions, half_width, max_gap=0.1)
    rows = np.asarray(np.isfinite(found.second).all(axis=1))
    covariance = VelocityNoise().push(STAMPS[rows], found.second[rows], ratio(half_width))
    true = np.cov(found.first[rows].T)
    mean = covariance[200:].mean(axis=0)
    np.testing.assert_allclose(np.diag(mean), 2.0 * np.diag(true), rtol=0.1)
    assert np.abs(mean - np.diag(np.diag(mean))).max() < 0.1 * mean[0, 0]


def test_a_late_stamp_of_moving_joints_shows_at_once_along_their_motion():
    true = STAMPS * 1e-9
    stamps = STAMPS.copy()
    stamps[1000] += 4_400_000
    motion = np.array([0.9, -0.3, 0.0])
    found = central_quotient(stamps, true[:, None] * motion)
    rows = slice(1, -1)
    covariance = VelocityNoise().push(stamps[rows], found.second[rows], ratio())
    error = (found.first[rows] - motion)[998:1000]
    assert np.abs(error).max() > 0.3  # of one wrong stamp, at two instants
    sigma = np.sqrt(np.einsum('i,kij,j->k', motion, covariance[998:1000], motion))
    assert (np.abs(error @ motion) < 2.0 * sigma).all()
    assert np.sqrt(covariance[990].trace()) < 1e-6


def test_noise_makes_the_alarm_less_sure_in_its_own_direction():
    now = balance([[0.03, 0.0]], [[0.6, 0.0]])
    sure = FallAlarm(G, 2).push(now)
    noise = np.diag([0.2, 0.0, 0.0])[None] ** 2
    unsure = FallAlarm(G, 2).push(replace(now, noise=noise))
    aside = FallAlarm(G, 2).push(replace(now, noise=noise[:, ::-1, ::-1].copy()))
    assert sure.alarm[0]
    assert 0.5 < unsure.probability[0] < 0.8
    assert unsure.deviation[0] == pytest.approx(np.hypot(sure.deviation[0], 0.2 / RATE), rel=1e-3)
    assert aside.probability[0] == pytest.approx(sure.probability[0], abs=1e-9)
