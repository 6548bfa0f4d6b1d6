import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.errors import SensingError, ShapeError
from izmp_dynamics.sensing.imu import ImuMount, imu_in_root, rotations, with_gravity

seeds = st.integers(0, 2**32 - 1)


def random_rotation(rng, count=None) -> Rotation:
    return Rotation.random(count, random_state=int(rng.integers(2**31)))


def mounted(rng) -> ImuMount:
    return ImuMount(random_rotation(rng).as_matrix(), rng.uniform(-0.2, 0.2, 3))


@given(seeds)
def test_mounting_takes_sensor_axes_to_root_axes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mount = mounted(rng)
    vectors = rng.normal(size=(10, 3))
    expected = (mount.root_R_sensor @ vectors.T).T
    np.testing.assert_allclose(mount.to_root(vectors), expected, atol=1e-14)


@given(seeds)
def test_the_pose_of_the_root_follows_from_that_of_the_sensor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mount = mounted(rng)
    world_R_root = random_rotation(rng, 5)
    world_R_sensor = world_R_root * Rotation.from_matrix(mount.root_R_sensor)
    samples = imu_in_root(
        mount, np.arange(5), np.zeros((5, 3)), np.zeros((5, 3)), world_R_sensor.as_quat()
    )
    np.testing.assert_allclose(samples.world_R_root, world_R_root.as_matrix(), atol=1e-14)
    assert samples.oriented.all()


@given(seeds)
def test_gravity_added_back_equals_the_specific_force(seed: int) -> None:
    """Law: φ = a - g in every frame, with g = (0, 0, -9.81) in the world."""
    rng = np.random.default_rng(seed)
    world_R_sensor = random_rotation(rng, 20)
    in_world = rng.normal(size=(20, 3))
    a = world_R_sensor.inv().apply(in_world)
    phi = world_R_sensor.inv().apply(in_world - np.array([0.0, 0.0, -9.81]))
    matrices, _ = rotations(world_R_sensor.as_quat())
    np.testing.assert_allclose(with_gravity(a, matrices, 9.81), phi, atol=1e-13)


@given(seeds)
def test_one_row_equals_many_bit_by_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mount, stamps = mounted(rng), np.arange(20)
    omega, force = rng.normal(size=(2, 20, 3))
    quaternions = random_rotation(rng, 20).as_quat()
    quaternions[3] = 0.0
    many = imu_in_root(mount, stamps, omega, force, quaternions, gravity_removed=True)
    for t in range(20):
        row = slice(t, t + 1)
        one = imu_in_root(
            mount, stamps[row], omega[row], force[row], quaternions[row], gravity_removed=True
        )
        for name in ('angular_velocity', 'specific_force', 'world_R_root', 'valid', 'oriented'):
            np.testing.assert_array_equal(getattr(one, name), getattr(many, name)[row])


def test_samples_that_are_not_finite_are_invalid() -> None:
    omega, force = np.zeros((4, 3)), np.ones((4, 3))
    omega[1, 2], force[2, 0] = np.nan, np.inf
    samples = imu_in_root(ImuMount(np.eye(3), np.zeros(3)), np.arange(4), omega, force)
    assert list(samples.valid) == [True, False, False, True]
    assert samples.world_R_root is None
    assert not samples.oriented.any()


def test_quaternions_that_are_none() -> None:
    quaternions = np.array(
        [
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 1.005],
            [0.0, 0.0, 0.0, 1.2],
            [np.nan, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, np.inf],
        ]
    )
    matrices, good = rotations(quaternions)
    assert list(good) == [True, False, True, False, False, False]
    np.testing.assert_allclose(matrices[[0, 2]], [np.eye(3)] * 2, atol=1e-15)
    assert np.isnan(matrices[~good]).all()


def test_without_orientation_gravity_cannot_be_added_back() -> None:
    mount = ImuMount(np.eye(3), np.zeros(3))
    with pytest.raises(SensingError, match='states no orientation'):
        imu_in_root(mount, np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)), gravity_removed=True)
    quaternions = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    samples = imu_in_root(
        mount, np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)), quaternions, gravity_removed=True
    )
    assert list(samples.valid) == [True, False]


def test_wrong_input_ends_in_a_sentence() -> None:
    mount = ImuMount(np.eye(3), np.zeros(3))
    with pytest.raises(ShapeError, match='linear_acceleration'):
        imu_in_root(mount, np.arange(2), np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(ShapeError, match='orientation_xyzw'):
        imu_in_root(mount, np.arange(2), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(SensingError, match='not a rotation'):
        ImuMount(np.zeros((3, 3)), np.zeros(3))
    with pytest.raises(ShapeError, match='IMU mounting'):
        ImuMount(np.eye(3), np.zeros(2))
