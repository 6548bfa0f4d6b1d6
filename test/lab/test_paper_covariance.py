import numpy as np

from izmp_dynamics.base.conventions import GRAVITY
from izmp_lab.studies.paper.covariance import gyro_covariance, ir_md_covariance

from ..test_noise_propagation import DRAWS, OMEGA, check


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


def test_ir_md_by_hand():
    """A robot that does not rotate: force noise m √2 σ / Δt, moment noise by the lever arm."""
    com = np.array([[0.0, 0.0, 0.8]])
    covariance = ir_md_covariance(
        27.6, (com, com), np.eye(3)[None], np.zeros((1, 3)), 0.008, 0.01
    )[0]
    force = 2.0 * (27.6 * 0.01 / 0.008) ** 2
    np.testing.assert_allclose(covariance[:3, :3], force * np.eye(3))
    np.testing.assert_allclose(np.diag(covariance)[3:], force * np.array([0.64, 0.64, 0.0]))


def test_ir_md_does_not_depend_on_where_the_world_begins():
    random = np.random.default_rng(3)
    com, root, shift = (
        random.normal(size=(1, 3)),
        random.normal(size=(1, 3)),
        np.array([5.0, 3, 1]),
    )
    one = ir_md_covariance(20.0, (com, com), np.eye(3)[None], root, 0.01, 0.02)
    other = ir_md_covariance(
        20.0, (com + shift, com + shift), np.eye(3)[None], root + shift, 0.01, 0.02
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
