"""The predicted covariance of the odometry against what noise does to the localizer."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.model.sensors import Noise
from izmp_dynamics.sensing.localizer import Localizer
from izmp_dynamics.sensing.noise import degrees
from izmp_dynamics.sensing.odometry_covariance import OdometryNoise, odometry_covariance

PERIOD = 0.01
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
