import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.conventions import frozen
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.base.rotations import (
    angles,
    from_matrices,
    from_rpy,
    quaternion_of_matrix,
    quaternions_of_matrices,
    rotated,
    rotated_back,
)
from izmp_dynamics.base.vectors import FAR, near_sin_cos, sin_cos

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


@kernel
def of_each(x, out):
    for k in range(len(x)):
        out[k, 0], out[k, 1] = sin_cos(x[k])


@kernel
def of_many(x, out):
    for k in range(len(x)):
        out[k, 0], out[k, 1] = near_sin_cos(x[k])


def evaluated(function, x):
    out = np.empty((len(x), 2))
    function(np.asarray(x, dtype=np.float64), out)
    return out


def many_angles(size):
    """Random ones, multiples of π/4 and their neighbours."""
    rng = np.random.default_rng(5)
    some = rng.uniform(-size, size, 20_000)
    multiples = np.arange(-200, 201) * (np.pi / 4) * max(1.0, size // 200)
    return np.concatenate([some, multiples, np.nextafter(multiples, np.inf), [0.0, -0.0, 5e-324]])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason='no wider numbers to compare with')
@pytest.mark.parametrize('size', [1.0, 10.0, 1000.0, FAR])
def test_errors_are_as_small_as_stated(size):
    x = many_angles(size)
    exact = np.stack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))], axis=1)
    error = np.abs(evaluated(of_each, x) - exact).astype(float)
    assert error.max() < 1.7e-16
    small = np.abs(exact) < 1e-3
    assert (error[small] <= 1e-15 * np.abs(exact[small])).all()


def test_the_bits_in_a_loop_are_those_alone():
    x = many_angles(FAR)
    many, each = (evaluated(f, x).view(np.int64) for f in (of_many, of_each))
    assert np.array_equal(many, each)


def test_far_angles_and_what_is_no_number():
    far = [1e7, -3e15, 1.7e308]
    np.testing.assert_allclose(evaluated(of_each, far), np.stack([np.sin(far), np.cos(far)], 1))
    assert np.isnan(evaluated(of_each, [np.nan, np.inf, -np.inf])).all()
