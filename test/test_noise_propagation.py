"""Predicted covariances against repetitions, on random states."""

import numpy as np

from izmp_dynamics.base.conventions import GRAVITY
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.pipeline.noise_propagation import (
    array_covariance,
    mr_ad_covariance,
    zmp_covariance,
)
from izmp_dynamics.sensing.accelerometer_array import Accelerometer, AccelerometerArray
from izmp_dynamics.stability.zmp import zero_moment_point

from .lab.walking import biped31

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


def test_an_array_and_a_gyroscope():
    state = drawn_root(np.random.default_rng(0), 0.01, 0.005)
    draws = np.hstack(
        [state.proper_acceleration, state.angular_velocity, state.angular_acceleration]
    )
    check(array_covariance(array(), OMEGA, 0.01, 0.005)[0], draws)


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
