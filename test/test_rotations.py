import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import frozen
from izmp_dynamics.base.rotations import (
    angles,
    from_matrices,
    from_rpy,
    quaternion_of_matrix,
    quaternions_of_matrices,
    rotated,
    rotated_back,
)

MATRICES = frozen(Rotation.from_euler('xyz', [[0.1, -0.2, 0.3], [2.0, 1.0, -1.5]]).as_matrix())


@pytest.mark.parametrize('rows', [slice(None), slice(1), 1])
def test_frozen_matrices_give_the_rotations_that_they_hold(rows):
    rotations = from_matrices(MATRICES[rows])
    np.testing.assert_allclose(rotations.as_matrix(), MATRICES[rows], atol=1e-15)


@pytest.fixture(scope='module')
def turns():
    """Rotations by any angle about any axis, by very small ones, and by π about the axes."""
    random = np.random.default_rng(3).normal(size=(300, 3))
    small, half = 1e-9 * random[:20], np.pi * np.eye(3)
    return Rotation.from_rotvec(np.concatenate([random, small, half, np.zeros((1, 3))]))


def test_rotated_vectors_are_those_of_scipy(turns):
    vectors = np.random.default_rng(5).normal(size=(len(turns), 3))
    R = turns.as_matrix()
    np.testing.assert_allclose(rotated(R, vectors), turns.apply(vectors), atol=1e-14)
    back = turns.inv().apply(vectors)
    np.testing.assert_allclose(rotated_back(R, vectors), back, atol=1e-14)
    np.testing.assert_array_equal(
        rotated_back(R[:, :, :2], vectors), rotated_back(R, vectors)[:, :2]
    )
    assert rotated(R[:0], vectors[:0]).shape == (0, 3)


def test_quaternions_are_those_of_scipy(turns):
    R = turns.as_matrix()
    expected = Rotation.from_matrix(R).as_quat()
    np.testing.assert_allclose(quaternions_of_matrices(R), expected, atol=1e-15)
    single = [quaternion_of_matrix(matrix) for matrix in R]
    np.testing.assert_allclose(single, expected, atol=1e-15)
    blocks = quaternions_of_matrices(R[:320].reshape(32, 2, 5, 3, 3))
    np.testing.assert_array_equal(blocks.reshape(-1, 4), quaternions_of_matrices(R[:320]))


def test_angles_are_those_of_scipy(turns):
    np.testing.assert_allclose(angles(turns.as_matrix()), turns.magnitude(), atol=2e-15)


@pytest.mark.parametrize('rpy', [(0.3, -0.8, 2.0), (0.0, np.pi / 2, 0.4), (-3.0, 0.0, 0.0)])
def test_roll_pitch_yaw_is_that_of_scipy(rpy):
    expected = Rotation.from_euler('xyz', rpy).as_matrix()
    np.testing.assert_allclose(from_rpy(rpy), expected, atol=1e-15)
