"""Pairing in time while the system runs: as in a replay, within bounds, and never for ever."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from izmp_dynamics.live import sample_queue
from izmp_dynamics.live.sample_queue import CAPACITY, SampleQueue, State
from izmp_dynamics.live.stamp_watch import StampWatch
from izmp_dynamics.replay.pairing import pair

MS = 1_000_000


def filled(stamps, values, max_gap=0.05):
    queue = SampleQueue(max_gap)
    for stamp, value in zip(stamps, values, strict=True):
        queue.push(int(stamp), np.array([value]))
    queue.flush()
    return queue


@given(
    st.lists(st.integers(1, 30), min_size=15, max_size=60),
    st.lists(st.integers(0, 1000), min_size=1, max_size=20),
    st.randoms(use_true_random=False),
)
def test_pairs_as_the_replay_does(steps, instants, random):
    stamps = np.cumsum(np.array(steps, dtype=np.int64)) * MS
    values = np.array([random.uniform(-5.0, 5.0) for _ in stamps])
    queue = filled(stamps, values)
    reach = max(0.05, 2.5 * queue.period)
    wanted = np.array(sorted(instants), dtype=np.int64) * MS
    wanted = wanted[wanted <= stamps[-1]]
    expected = pair(wanted, stamps, values[:, None], reach)
    for k, instant in enumerate(wanted.tolist()):
        answer = queue.at(instant, instant)
        assert (answer.state is State.READY) == bool(expected.valid[k])
        if answer.values is not None:
            np.testing.assert_array_equal(answer.values, expected.values[k])


@pytest.fixture
def now(monkeypatch):
    """The steady clock, to be set."""
    clock = [100.0]
    monkeypatch.setattr(sample_queue.time, 'monotonic', lambda: clock[0])
    return clock


def test_waits_for_a_sensor_that_is_alive_and_not_for_a_silent_one(now):
    stamps = np.arange(1, 30) * 10 * MS
    queue = filled(stamps, np.zeros(29))
    later = int(stamps[-1]) + 400 * MS
    assert queue.at(later, later).state is State.WAIT
    much_later = later + 1000 * MS
    assert queue.at(later, much_later).state is State.WAIT  # late, but heard a moment ago
    now[0] += 1.0
    assert queue.at(later, much_later).state is State.MISSING
    assert queue.counts['no sample at this instant'] == 1


def test_gives_up_a_sensor_whose_clock_is_far_behind(now):
    queue = filled(np.arange(1, 30) * 10 * MS, np.zeros(29))
    assert queue.at(10_000 * MS, 10_000 * MS).state is State.WAIT
    assert queue.at(10_000 * MS, 20_400 * MS).state is State.MISSING


def test_memory_is_bounded():
    queue = SampleQueue(0.05)
    for k in range(1, 3 * CAPACITY):
        queue.push(k * MS // 100, np.zeros(1))
    assert len(queue._stamps) <= CAPACITY + 64


def test_bad_samples_are_counted_and_left_out():
    queue = SampleQueue(0.05, largest=10.0)
    for stamp, value in ((1, 1.0), (2, np.nan), (3, 11.0), (0, 1.0), (1, 1.0), (5, 1.0), (7, 2.0)):
        queue.push(stamp * MS, np.array([value]))
    assert queue.counts == {
        'value is not finite': 1,
        'value is larger than any such sensor can read': 1,
        'stamp is zero or negative': 1,
        'stamp occurs twice': 1,
    }


def test_time_that_begins_anew_is_noticed_and_a_stray_stamp_is_not():
    watch = StampWatch()
    for k in range(100):
        assert not watch.jumped_back((5000 + 10 * k) * MS)
    assert not watch.jumped_back(1)  # a stray
    assert not watch.jumped_back(10**18)  # another
    assert not watch.jumped_back(6000 * MS)
    assert not watch.jumped_back(0)
    jumps = [watch.jumped_back((100 + 10 * k) * MS) for k in range(10)]
    assert jumps == [False, False, True, *[False] * 7]
