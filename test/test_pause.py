"""When a node takes silence for a pause."""

import time

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

from izmp_dynamics.nodes.health import Input
from izmp_dynamics.nodes.pause import FLUSH_AFTER, USUAL_TIMES, PauseWatch, some_are_behind


@pytest.fixture
def clock(monkeypatch):
    """The steady clock; is set by hand."""
    now = [1000.0]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])
    return now


def played(watch, clock, interval, seconds):
    """Messages at an interval [s], looked at four times a second; how many pauses began."""
    begin, pauses = clock[0], 0
    while clock[0] < begin + seconds:
        clock[0] += 0.25
        count = int((clock[0] - begin) / interval)
        pauses += watch.begins(1 + count, begin + count * interval)
    return pauses


@pytest.mark.parametrize('interval', [0.002, 0.025, 0.5, 1.5, 3.0])
def test_slow_messages_are_no_pause(clock, interval):
    assert played(PauseWatch(), clock, interval, 60.0) <= 1  # at the first message, none is usual


@pytest.mark.parametrize(('interval', 'longest'), [(0.002, FLUSH_AFTER), (0.1, 0.1 * USUAL_TIMES)])
def test_a_pause_begins_once(clock, interval, longest):
    watch, count = PauseWatch(), round(20.0 / interval)
    played(watch, clock, interval, 20.0)
    newest, begun = clock[0], []
    for _ in range(200):
        clock[0] += 0.25
        if watch.begins(1 + count, newest):
            begun.append(clock[0] - newest)
    assert len(begun) == 1
    assert 0.9 * longest < begun[0] < 1.1 * longest + 0.5
    assert not watch.begins(2 + count, clock[0])


def test_a_process_that_was_stopped_itself_takes_that_for_no_pause(clock):
    watch = PauseWatch()
    played(watch, clock, 0.002, 20.0)
    newest = clock[0]
    for stopped in (0.25, 5.0, 2.0):
        clock[0] += stopped
        assert not watch.begins(10_001, newest)
    clock[0] += 0.25
    assert not watch.begins(10_002, clock[0])


@pytest.mark.parametrize(
    ('lag', 'behind'), [(0.0, False), (0.09, False), (0.11, True), (3.9, True), (4.1, False)]
)
def test_a_topic_that_is_behind_the_others_has_messages_to_come(lag, behind):
    """Unless it is so far behind that nothing waits for it."""
    fast, slow, silent = Input('/joint_states', ''), Input('/gps', ''), Input('/odom', '')
    for k in range(5000):
        fast.received(20_000_000_000 + k * 2_000_000)
    for k in range(10):  # two steps of it are no lag
        slow.received(20_000_000_000 + k * 900_000_000)
    foot = Input('/l_foot/wrench', '')
    for k in range(5000):
        foot.received(fast.newest - round(lag * 1e9) - (5000 - k) * 2_000_000 + 2_000_000)
    assert some_are_behind([fast, slow, silent, foot], 4.0) == behind
