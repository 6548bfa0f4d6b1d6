"""Predicted covariances against repetitions, on random states."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.base.errors import SensingError
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.model.method import Acd
from izmp_dynamics.model.sensors import Noise
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    gain_of,
    joint_weights,
    mr_ad_covariance,
    zmp_covariance,
)
from izmp_dynamics.sensing.accelerometer_array import Accelerometer, AccelerometerArray
from izmp_dynamics.sensing.localizer import Localizer
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER, degrees, micro_g, standard_deviation
from izmp_dynamics.sensing.odometry_covariance import OdometryNoise, odometry_covariance
from izmp_dynamics.signals.differences import central_quotient
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.fall_alarm import FallAlarm
from izmp_dynamics.stability.velocity_noise import VelocityNoise
from izmp_dynamics.stability.zmp import zero_moment_point

from .lab.walking import biped31
from .raising import raising
from .test_fall_alarm import RATE, G, balance

POINTS = ((0.0, 0.0, 0.02), (0.1, 0.0, 0.02), (0.0, 0.1, 0.02), (0.0, 0.0, 0.12))
OMEGA = np.array([[0.5, -1.2, 0.8]])
DRAWS = 20_000
TOLERANCE = 5.0 * np.sqrt(2.0 / DRAWS)  # of a variance: five standard deviations


def array():
    return AccelerometerArray([Accelerometer(str(p), np.eye(3), p) for p in POINTS])


def check(predicted, draws):
    observed = np.cov(draws.T)
    scale = np.sqrt(np.outer(np.diag(predicted), np.diag(predicted)))
    assert np.all(np.abs(observed - predicted) <= TOLERANCE * scale + 1e-30)


def drawn_root(random, accelerometer_sigma, gyroscope_sigma):
    sensors = array()
    omega = OMEGA + random.normal(0.0, gyroscope_sigma, (DRAWS, 3))
    readings = {
        sensor.name: np.array([0.1, 0.2, GRAVITY])
        + np.cross(OMEGA, np.cross(OMEGA, sensor.p_sensor_in_root))
        + random.normal(0.0, accelerometer_sigma, (DRAWS, 3))
        for sensor in sensors.accelerometers
    }
    return sensors.batch(np.arange(1, DRAWS + 1), omega, readings)


def test_mr_ad_and_its_zero_moment_point():
    random = np.random.default_rng(2)
    model = biped31().model
    mr_ad = MrAd(model)
    q, qd, qdd = (np.tile(random.normal(0.0, s, model.dof), (DRAWS, 1)) for s in (0.2, 0.5, 1.0))
    state = drawn_root(random, 0.01, 0.003)
    root = (state.proper_acceleration, state.angular_velocity, state.angular_acceleration)
    wrench, _ = mr_ad.batch(*root, q, qd, qdd)
    mean = tuple(part.mean(axis=0, keepdims=True) for part in root)
    joints = (q[:1], qd[:1], qdd[:1])
    states = np.hstack([*mean, *joints])
    predicted = mr_ad_covariance(mr_ad, states, array_covariance(array(), OMEGA, 0.01, 0.003))
    check(predicted[0], wrench.as_array())
    normal, ground = np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, -0.85]])
    here, _ = mr_ad.batch(*mean, *joints)
    points = zero_moment_point(wrench, normal, ground, 1.0)
    on_ground = zmp_covariance(here, predicted, normal, ground)[0]
    check(on_ground[:2, :2], points[:, :2])
    np.testing.assert_allclose(on_ground[2], 0.0, atol=1e-18)


def test_units_of_data_sheets() -> None:
    assert micro_g(1e6) == pytest.approx(9.80665)
    assert degrees(180.0) == pytest.approx(math.pi)
    assert pytest.approx(5.884e-4, rel=1e-4) == XSENS_ACCELEROMETER


def test_sigma_is_density_times_root_of_rate() -> None:
    assert standard_deviation(2.0, 100.0) == 20.0


@pytest.mark.parametrize(
    ('density', 'rate'), [(-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0, 0.0), (1.0, -1.0)]
)
def test_impossible_noise_is_refused(density: float, rate: float) -> None:
    with raising(SensingError, 'noise', rate=rate):
        standard_deviation(density, rate)


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


# ---- Odometry -----------------------------------------------------------------------------------


ARM = np.array([0.3, -0.1, 0.6])
NOISE = Noise(position=2e-4, orientation=0.05, gyroscope=0.01)
REPETITIONS = 20_000


def observed(method):
    """(6, 6) covariances of pose and twist over many noisy repetitions of one motion."""
    random, turn = np.random.default_rng(0), Rotation.from_rotvec([0.2, -0.4, 0.9])
    velocity, rate = np.array([1.5, -0.5, 0.2]), 1.0 / PERIOD
    sigma_p, sigma_t = 2e-4 * np.sqrt(rate), degrees(0.05) * np.sqrt(rate)
    sigma_g = degrees(0.01) * np.sqrt(rate)
    stamps = 10**9 + np.arange(3 * REPETITIONS) * round(PERIOD * 1e9)
    position = np.arange(3 * REPETITIONS)[:, None] * PERIOD * velocity
    fixes = position + turn.apply(ARM) + random.normal(0.0, sigma_p, position.shape)
    tilt = Rotation.from_rotvec(random.normal(0.0, sigma_t, position.shape))
    R = (tilt * turn).as_matrix()
    poses = Localizer(ARM, PERIOD, method=method).batch(stamps, fixes, R)
    rows = np.searchsorted(stamps, poses.stamps)
    middle = np.arange(1, len(rows), 3)  # no two share a sample
    rows = rows[middle]
    pose = np.hstack([poses.world_p_root[middle] - position[rows], tilt[rows].as_rotvec()])
    in_root = np.einsum('tji,tj->ti', R[rows], poses.linear_velocity[middle])
    omega = random.normal(0.0, sigma_g, in_root.shape)
    return np.cov(pose.T), np.cov(np.hstack([in_root, omega]).T), turn.as_matrix(), velocity


@pytest.mark.parametrize('method', ['central', 'paper'])
def test_predicted_and_observed_covariance(method):
    pose, twist, R, velocity = observed(method)
    noise = OdometryNoise.of(NOISE, method, PERIOD, PERIOD, PERIOD)
    for found, expected in zip(
        (pose, twist), odometry_covariance(R, velocity, ARM, noise), strict=True
    ):
        sigma = np.sqrt(np.diag(expected))
        assert (sigma > 0.0).all()
        scale = np.outer(sigma, sigma)
        np.testing.assert_allclose(found / scale, expected / scale, atol=5.0 / REPETITIONS**0.5)


def test_what_is_not_known_is_zero():
    noise = OdometryNoise.of(Noise(), 'central', PERIOD, PERIOD, PERIOD)
    pose, twist = odometry_covariance(np.eye(3), np.ones(3), ARM, noise)
    assert not pose.any()
    assert not twist[:3].any()
    np.testing.assert_allclose(twist[3:, 3:], (degrees(0.01) * 10.0) ** 2 * np.eye(3))
    unknown = OdometryNoise.of(NOISE, 'central', None, None, None)
    assert not any(np.ravel([*unknown[:3], *unknown.weights]))
