"""Pairing: exact where stamps agree, interpolated where they do not, nothing across gaps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from izmp_dynamics.replay.pairing import pair, pair_rotations
from scipy.spatial.transform import Rotation

MS = 1_000_000


def test_equal_stamps_give_the_very_samples():
    stamps = np.arange(10) * 2 * MS
    values = np.random.default_rng(0).normal(size=(10, 3))
    paired = pair(stamps[3:7], stamps, values, 0.01)
    np.testing.assert_array_equal(paired.values, values[3:7])
    assert paired.valid.all()
    assert not paired.interpolated.any()


def test_between_stamps_it_interpolates_linearly_and_says_so():
    stamps = np.array([0, 4, 8]) * MS
    values = np.array([[0.0], [4.0], [0.0]])
    paired = pair(np.array([1, 4, 7]) * MS, stamps, values, 0.01)
    np.testing.assert_allclose(paired.values[:, 0], [1.0, 4.0, 1.0])
    np.testing.assert_array_equal(paired.interpolated, [True, False, True])


def test_no_value_across_a_gap_nor_outside():
    stamps = np.array([10, 12, 40, 42]) * MS
    values = np.ones((4, 2))
    paired = pair(np.array([5, 11, 20, 40, 50]) * MS, stamps, values, 0.01)
    np.testing.assert_array_equal(paired.valid, [False, True, False, True, False])
    assert np.isnan(paired.values[~paired.valid]).all()


def test_a_missing_neighbour_spoils_only_its_own_interval():
    stamps = np.array([0, 2, 4, 6]) * MS
    values = np.array([[0.0], [np.nan], [4.0], [6.0]])
    paired = pair(np.array([0, 1, 2, 5]) * MS, stamps, values, 0.01)
    np.testing.assert_array_equal(paired.valid, [True, False, False, True])


def test_empty_stream():
    paired = pair(np.array([1, 2]), np.empty(0, dtype=np.int64), np.empty((0, 3)), 0.1)
    assert paired.values.shape == (2, 3)
    assert not paired.valid.any()


@given(st.lists(st.integers(-1, 1), min_size=2, max_size=20), st.integers(0, 10**6))
def test_rotations_do_not_care_for_the_sign_of_quaternions(signs, seed):
    rng = np.random.default_rng(seed)
    steps = Rotation.from_rotvec(rng.normal(0, 0.05, (len(signs), 3)))
    quaternions = [Rotation.random(random_state=seed).as_quat()]
    for step in steps[1:]:
        quaternions.append((Rotation.from_quat(quaternions[-1]) * step).as_quat())
    plain = np.array(quaternions)
    flipped = plain * np.where(np.array(signs) < 0, -1.0, 1.0)[:, None]
    stamps = np.arange(len(signs)) * 2 * MS
    middle = stamps[:-1] + MS
    one = pair_rotations(middle, stamps, plain, 0.01).values
    other = pair_rotations(middle, stamps, flipped, 0.01).values
    difference = (Rotation.from_quat(one).inv() * Rotation.from_quat(other)).magnitude()
    assert difference.max() < 1e-12
    halfway = Rotation.from_quat(plain[:-1]) * Rotation.from_rotvec(0.5 * steps[1:].as_rotvec())
    assert (halfway.inv() * Rotation.from_quat(one)).magnitude().max() < 1e-4
