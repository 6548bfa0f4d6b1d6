"""Clocks that are set, and single stamps that are wrong."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.signals.clock import AHEAD, BACK, CONFIRMATIONS, ClockGate, Clocks
from izmp_dynamics.signals.samples import Samples

START = 1_700_000_000_000_000_000
SECOND = 10**9
STEP = 2_000_000

jumps = st.one_of(
    st.integers(AHEAD + STEP, 8 * 10**17), st.integers(-(8 * 10**17), -BACK - 100 * STEP)
)


def regular(count):
    return START + STEP * np.arange(count)


def numbered(stamps):
    """Samples whose values are their places in the order of arrival."""
    stamps = np.asarray(stamps, dtype=np.int64)
    return Samples(stamps, np.arange(len(stamps), dtype=float)[:, None])


def admitted(gate, samples, lengths=(10**6,)):
    """All that a clock lets pass, in pieces; a new time is begun where the clock turned."""
    found, begin, piece = [], 0, 0
    while begin < len(samples):
        end = begin + lengths[piece % len(lengths)]
        found.append(gate.admit(samples.select(slice(begin, end))))
        while gate.turned:
            found.append(gate.admit(gate.release()))
        begin, piece = end, piece + 1
    gate.drop_doubtful()
    return np.concatenate([part.values[:, 0] for part in found] or [np.empty(0)]).astype(int)


@given(st.lists(st.integers(1, AHEAD), min_size=0, max_size=50))
def test_stamps_that_only_increase_pass(steps):
    """However unsteadily, as long as no gap is so long that the clock may have been set."""
    samples = numbered(START + np.cumsum([0, *steps]))
    gate = ClockGate()
    assert len(admitted(gate, samples)) == len(samples)
    assert not gate.faults


@given(st.integers(1, 60), st.integers(CONFIRMATIONS, 60), jumps)
def test_a_clock_that_is_set_is_followed_and_loses_nothing(before, after, jump):
    stamps = regular(before + after)
    stamps[before:] += jump
    gate = ClockGate()
    assert len(admitted(gate, numbered(stamps))) == len(stamps)
    assert not gate.faults


@given(st.sets(st.integers(0, 19), min_size=1, max_size=6), jumps)
def test_single_wrong_stamps_are_left_out_and_counted(places, jump):
    """Also the last one; the first one shows only by what follows."""
    stamps = regular(240)
    wrong = np.array(sorted(places)) * 12 + 11
    stamps[wrong] += 2 * jump
    gate = ClockGate()
    kept = admitted(gate, numbered(stamps))
    np.testing.assert_array_equal(kept, np.delete(np.arange(240), wrong))
    assert gate.faults == {Fault(Reason.STAMP_FAR): len(wrong)}


@pytest.mark.parametrize('lengths', [(10**6,), (7,), (1,)])
def test_a_clock_that_is_set_back_to_a_pause_long_past_turns(lengths):
    """The pause was none of few samples; it is not taken for a wrong stamp any more."""
    stamps = np.concatenate([regular(20), regular(3000) + 5 * SECOND, regular(20) + STEP * 20])
    gate, turned = ClockGate(), 0
    for begin in range(0, len(stamps), lengths[0]):
        gate.admit(numbered(stamps[begin : begin + lengths[0]]))
        turned += gate.turned
    assert turned
    assert len(gate.held.stamps) == 20


@given(st.integers(1, CONFIRMATIONS - 1), st.integers(BACK + 100 * STEP, AHEAD - 100 * STEP))
def test_few_stamps_a_little_ahead_set_no_clock(count, ahead):
    """Their order is for others to judge; what follows is not taken for a new time."""
    stamps = regular(100)
    stamps[50 : 50 + count] += ahead
    gate = ClockGate()
    assert len(gate.admit(numbered(stamps))) == 100
    assert not gate.turned
    assert gate.newest == stamps[-1]
    assert len(admitted(ClockGate(), numbered(stamps), (1,))) == 100


@pytest.fixture
def clocks():
    """Two topics in the present time."""
    clocks = Clocks('joints')
    for name in ('joints', 'imu'):
        clocks.admit(name, numbered(regular(50)))
    return clocks


def set_back(by):
    return numbered(regular(10) - round(by * SECOND))


def test_a_new_time_begins_when_all_clocks_were_set_back(clocks):
    assert not len(clocks.admit('joints', set_back(5.0)))
    assert not clocks.new_time
    clocks.admit('imu', set_back(5.0))
    assert clocks.new_time
    held = clocks.begin_new_time()
    assert {name: len(samples) for name, samples in held.items()} == {'joints': 10, 'imu': 10}
    assert not clocks.new_time
    assert len(clocks.admit('imu', held['imu'])) == 10


def test_what_comes_late_from_the_time_before_is_left_out(clocks):
    """The joints do not wait for ever for a topic that goes on in the old time, or is silent."""
    later = numbered(regular(1500) - 5 * SECOND)
    clocks.admit('joints', later)
    assert clocks.new_time
    assert set(clocks.begin_new_time()) == {'joints'}
    assert not len(clocks.admit('imu', numbered(regular(52)[50:])))
    assert clocks.gates['imu'].faults == {Fault(Reason.CLOCK_SET_BACK): 2}
    assert len(clocks.admit('imu', set_back(5.0))) == 10


def test_a_topic_that_is_set_back_alone_waits_and_then_goes_its_way(clocks):
    clocks.admit('imu', set_back(5.0))
    assert not clocks.new_time
    assert not clocks.alone
    clocks.admit('imu', numbered(regular(1500) - 5 * SECOND))
    assert clocks.alone == ['imu']
