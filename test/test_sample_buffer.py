"""Pairing: exact where stamps agree, interpolated where they do not, nothing across gaps."""

import numpy as np
import pytest

from izmp_dynamics.signals.buffer import HORIZON, SampleBuffer, pair, reach_of

MS = 1_000_000
PATIENCE = 0.5


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


def test_a_missing_neighbour_costs_only_its_own_interval():
    stamps = np.array([0, 2, 4, 6]) * MS
    values = np.array([[0.0], [np.nan], [4.0], [6.0]])
    paired = pair(np.array([0, 1, 2, 5]) * MS, stamps, values, 0.01)
    np.testing.assert_array_equal(paired.valid, [True, False, False, True])


def test_two_and_a_half_periods_are_no_gap_but_an_hour_is():
    assert reach_of(0.02, 0.002) == 0.02
    assert reach_of(0.02, 0.1) == 0.25
    assert reach_of(0.02, 3600.0) < 3600.0


@pytest.fixture
def filled():
    """30 samples, 10 ms apart."""
    buffer = SampleBuffer(1, 0.05)
    buffer.append(np.arange(1, 31) * 10 * MS, np.zeros((30, 1)))
    return buffer


def test_an_instant_does_not_wait_for_a_signal_that_is_far_behind(filled):
    instants = np.array([310, 700]) * MS
    assert filled.decided(instants, 700 * MS, PATIENCE) == 0
    assert filled.decided(instants, 811 * MS, PATIENCE) == 2


def test_it_does_not_wait_where_a_sample_can_only_come_beyond_a_gap(filled):
    instants = np.array([310, 320, 400]) * MS
    filled.received_until = filled.settled = 370 * MS
    assert filled.decided(instants, 400 * MS, PATIENCE) == 1
    filled.append(np.array([371]) * MS, np.zeros((1, 1)))
    assert not filled.at(instants[:1]).valid.any()


def test_before_the_first_sample_patience_counts_from_the_first_instant():
    buffer = SampleBuffer(1, 0.05)
    assert buffer.decided(np.array([1000]) * MS, 1000 * MS, PATIENCE) == 0
    assert buffer.decided(np.array([1000, 1499]) * MS, 1499 * MS, PATIENCE) == 0
    assert buffer.decided(np.array([1000, 1501]) * MS, 1501 * MS, PATIENCE) == 2


def test_memory_is_bounded_though_nobody_asks():
    buffer = SampleBuffer(1, 0.05)
    for k in range(1, 20):
        buffer.append(np.arange(k * 1000, (k + 1) * 1000) * MS, np.zeros((1000, 1)))
        buffer.trim()
    assert len(buffer.stamps) <= 1000 * HORIZON + 2
    assert len(buffer._stamps) < 40_000


def test_a_signal_that_ended_in_a_pause_of_the_instants_is_not_awaited():
    buffer = SampleBuffer(1)
    buffer.append(np.array([1000]) * MS, np.zeros((1, 1)))
    for instant in (1000 * MS, 11000 * MS):
        assert buffer.decided(np.array([instant]), instant, PATIENCE) == 1
