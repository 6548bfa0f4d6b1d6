"""One signal on its way in: what is left out, what is counted, what is continued."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.signals.buffer import HORIZON, SampleBuffer, pair, reach_of
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream import LEARNED_STEPS, SampleStream

MS = 1_000_000


def fed(stream, stamps, values):
    """The stream after it took samples one by one."""
    for stamp, row in zip(stamps, values, strict=True):
        stream.push(Samples.one(int(stamp), row))
    stream.flush()
    return stream


def test_what_was_overtaken_answers_its_own_instant_and_no_other():
    """A running system used it before the older one came."""
    stream = SampleStream('imu', 1, max_gap=0.05, period=0.001)
    for stamp in (1, 2, 4, 3, 5, 6):
        stream.push(Samples.one(stamp * MS, np.array([float(stamp)])))
    paired = stream.at(np.array([6, 7, 8, 9]) * MS // 2)
    np.testing.assert_array_equal(paired.values[:, 0], [3.0, 3.5, 4.0, 4.5])
    assert paired.found.tolist() == [1, 2, 1, 2]


@given(st.lists(st.integers(-1, 1), min_size=4, max_size=20), st.integers(0, 10**6))
def test_rotations_do_not_depend_on_the_sign_of_quaternions(signs, seed):
    """Nor on a message without a rotation between them, which is counted."""
    rng = np.random.default_rng(seed)
    steps = Rotation.from_rotvec(rng.normal(0, 0.05, (len(signs), 3)))
    quaternions = [Rotation.random(random_state=seed).as_quat()]
    for step in steps[1:]:
        quaternions.append((Rotation.from_quat(quaternions[-1]) * step).as_quat())
    plain = np.array(quaternions)
    flipped = plain * np.where(np.array(signs) < 0, -1.0, 1.0)[:, None]
    flipped[2] = np.nan if seed % 2 else 0.0
    stamps = np.arange(1, len(signs) + 1) * 2 * MS
    middle = stamps[:-1] + MS
    found = {}
    for name, values in (('plain', np.delete(plain, 2, axis=0)), ('flipped', flipped)):
        stream = SampleStream('imu', 4, max_gap=0.01, period=0.002, quaternion=0)
        found[name] = fed(stream, np.delete(stamps, 2) if name == 'plain' else stamps, values)
    assert found['flipped'].faults == {Fault(Reason.NO_ROTATION): 1}
    one, other = (stream.at(middle).values for stream in found.values())
    difference = (Rotation.from_quat(one).inv() * Rotation.from_quat(other)).magnitude()
    assert difference.max() < 1e-12
    halfway = Rotation.from_quat(plain[3:-1]) * Rotation.from_rotvec(0.5 * steps[4:].as_rotvec())
    assert (halfway.inv() * Rotation.from_quat(one[3:])).magnitude().max(initial=0.0) < 1e-4


def test_the_period_is_learned_from_the_first_samples_and_nothing_is_lost():
    stamps = np.arange(1, 40) * 20 * MS
    stamps[3:] += 5 * MS
    known = SampleStream('imu', 1, max_gap=0.01, period=0.02)
    learned = SampleStream('imu', 1, max_gap=0.01)
    for k, stamp in enumerate(stamps):
        for stream in (known, learned):
            stream.push(Samples.one(int(stamp), np.array([float(k)])))
        assert (learned.period is None) == (k <= LEARNED_STEPS)
    assert learned.period == pytest.approx(0.02)
    assert learned.buffer.reach == known.buffer.reach == pytest.approx(0.05)
    np.testing.assert_array_equal(learned.buffer.stamps, known.buffer.stamps)
    np.testing.assert_array_equal(learned.buffer.values, known.buffer.values)


@pytest.mark.parametrize('pieces', [1, 1000])
def test_a_filter_does_not_spread_stuck_values(pieces):
    """Outside of the times in which it is, the values are those of a signal that is not."""
    time = 0.01 * np.arange(1, 601)
    good = np.stack([np.sin(3.0 * time), np.cos(2.0 * time)], axis=1)
    bad, stamps = good.copy(), (1e9 * time).round().astype(np.int64)
    bad[200:300] = bad[199]
    moving = np.ones(600, dtype=bool)

    def streamed(values):
        stream = SampleStream(
            'imu',
            2,
            max_gap=0.05,
            period=0.01,
            half_width=0.05,
            may_be_stuck=True,
        )
        stuck = np.zeros(600, dtype=bool)
        asked = 0
        for begin in range(0, 600, pieces):
            part = slice(begin, begin + pieces)
            stream.push(Samples(stamps[part], values[part]))
            at = np.searchsorted(stamps, stream.buffer.stamps[asked:])
            stuck[at] = stream.stuck_at(stamps[at], moving[at])  # as soon as there is a value
            asked = len(stream.buffer.stamps)
        reached = int(np.count_nonzero(stamps <= stream.buffer.newest))
        stream.flush()
        return stream, stream.stuck_at(stamps, moving), stuck, reached

    right, *_ = streamed(good)
    stream, stuck, at_once, reached = streamed(bad)
    assert stuck[200:300].all()
    assert stuck.sum() < 180
    there = stream.known(stamps, moving)
    assert np.isnan(there[stuck]).all()
    difference = (there - right.buffer.at(stamps).values)[~stuck]
    np.testing.assert_allclose(np.nan_to_num(difference), 0.0, atol=3e-3)
    if pieces == 1:  # a running system decides alike
        np.testing.assert_array_equal(at_once[:reached], stuck[:reached])


# ---- Pairing ------------------------------------------------------------------------------------


PATIENCE = 0.5


def test_between_stamps_it_interpolates_linearly_and_says_so():
    stamps = np.array([0, 4, 8]) * MS
    values = np.array([[0.0], [4.0], [0.0]])
    paired = pair(np.array([1, 4, 7]) * MS, stamps, values, 0.01)
    np.testing.assert_allclose(paired.values[:, 0], [1.0, 4.0, 1.0])
    assert paired.found.tolist() == [2, 1, 2]


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
