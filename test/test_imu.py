import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.signals.imu import rotations, with_gravity

seeds = st.integers(0, 2**32 - 1)


def random_rotation(rng, count=None) -> Rotation:
    return Rotation.random(count, random_state=int(rng.integers(2**31)))


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
