"""A single node in this process: what waits is bounded, and one thread at a time changes it."""

import threading
import time
from types import SimpleNamespace
from unittest.mock import Mock, patch

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import PointStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher

from izmp_dynamics.nodes.health import Health, Input
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.pause import FLUSH_AFTER, USUAL_TIMES, PauseWatch, some_are_behind
from izmp_dynamics.nodes.process import shut_down, spin_on
from izmp_dynamics.nodes.registry import node_class
from izmp_dynamics.pipeline.given import LONGEST_WAIT

from .node_processes import PATIENCE, ROBOT, free_domain, wait_until

STEP = 100_000_000
"""Between two instants [ns]."""


@pytest.fixture
def node():
    """The node mr_ad, without the others."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    node = node_class('mr_ad')(overrides=[Parameter('robot', value=str(ROBOT))])
    yield node
    node.destroy_node()
    rclpy.try_shutdown()


def in_another_thread(function):
    """What it returns there."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(PATIENCE)
    return found[0]


def is_free(lock):
    """Whether another thread, like the one that receives, could go on."""

    def try_it():
        if not lock.acquire(blocking=False):
            return False
        lock.release()
        return True

    return in_another_thread(try_it)


def stand(node, stamp):
    """Give it an instant [ns] of a robot at rest."""
    up = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    node.collect('joint_kinematics', stamp, np.zeros(3 * node.model.dof))
    node.collect('root_acceleration', stamp, up)
    node.collect('root_twist', stamp, np.zeros(6))
    node.handed_out()


def test_wrenches_do_not_wait_for_odometry_for_ever(node, monkeypatch):
    """Nothing waits longer than an instant waits for the result of another node."""
    waiting = []
    monkeypatch.setattr(Output, 'wanted', True)
    node.look_after(report=False)
    for k in range(1, 301):
        stand(node, k * STEP)
        waiting.append(len(node.evaluator._located.waiting))
    assert node.health.outputs['/mr_ad/contact_wrench'] == 300
    assert max(waiting) <= LONGEST_WAIT * 1e9 / STEP + 1
    assert node.health.outputs['/mr_ad/momentum_rate'] == 0


def test_attempts_and_diagnostics_exclude_the_thread_that_receives(node):
    """They replace and read what that thread changes; afterwards it goes on."""
    free = {'attempt': [], 'inspect': [], 'counters': []}

    def look(name):
        free[name].append(is_free(node._lock))

    def attempt():
        look('attempt')
        return len(free['attempt']) > 1

    node.until(attempt)  # at the start, before any message is received
    node.inspect = lambda: look('inspect')
    node.health.faults = lambda: look('counters') or {}
    node.look_after(report=True)
    assert free == {'attempt': [True, False], 'inspect': [False], 'counters': [False]}
    assert is_free(node._lock)


def test_an_attempt_that_raises_costs_neither_the_next_one_nor_the_report(node):
    first = Mock(side_effect=[False, ValueError('contrived'), True])
    second = Mock(side_effect=[False, True])
    node.until(first)
    node.until(second)
    with patch.object(Publisher, 'publish') as publish:
        for _ in range(3):
            node.look_after(report=True)
    assert (first.call_count, second.call_count) == (3, 2)
    assert publish.call_count == 3
    (status,) = publish.call_args_list[0].args[0].status
    assert 'finding subscriptions.raised' in {entry.key for entry in status.values}


def test_an_error_in_a_timer_or_a_service_is_logged_and_does_not_end_the_thread(node):
    calls, log, executor = [], Mock(), SingleThreadedExecutor()

    def fail():
        calls.append(threading.current_thread())
        raise ValueError('contrived')

    executor.add_node(node)
    node.create_timer(0.01, fail)
    thread = threading.Thread(target=spin_on, args=(executor, log))
    thread.start()
    assert wait_until(lambda: len(calls) > 3)
    rclpy.shutdown()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert set(calls) == {thread}
    assert log.error.call_count >= 3
    (text,) = log.error.call_args_list[0].args
    assert 'Traceback' in text
    assert 'ValueError: contrived' in text


def test_two_threads_may_shut_ros_down_at_once(monkeypatch):
    """As `izmp live` does, while Ctrl-C does so too; else the process aborts at its end."""

    def overtaken():
        raise RuntimeError('failed to shutdown: rcl_shutdown already called')

    monkeypatch.setattr(rclpy, 'try_shutdown', overtaken)
    monkeypatch.setattr(rclpy, 'ok', lambda: False)
    shut_down()
    monkeypatch.setattr(rclpy, 'ok', lambda: True)
    with pytest.raises(RuntimeError, match='already called'):
        shut_down()


# ---- What is counted of results, with a publisher of the test in place of DDS -------------------


S = 10**9


class Rig:
    """An output whose results take a second to make and two to publish."""

    def __init__(self):
        self.now, self.ages, self.count = 10 * S, [], 1
        self.health = Health('node', 'robot', lambda topic: 0, now=lambda: self.now)
        self.health.aged = self.ages.append
        node = SimpleNamespace(create_publisher=lambda *given, **named: self)
        self.output = Output(node, 'izmp', PointStamped, self.health)

    topic_name = '/izmp'

    def get_subscription_count(self):
        return self.count

    def publish(self, message):
        self.now += 2 * S

    def make(self, stamp):
        self.now += S
        return stamp


def test_the_age_of_a_result_is_taken_when_it_has_been_published():
    rig = Rig()
    rig.output(rig.make, 9 * S)
    assert rig.ages == [4.0]
    assert rig.health.outputs == {'/izmp': 1}


def test_a_result_that_nobody_wants_is_counted_but_not_made():
    rig = Rig()
    rig.count = 0
    rig.output(rig.make, 9 * S)
    assert rig.ages == [1.0]
    assert rig.health.outputs == {'/izmp': 1}


def test_a_result_that_cannot_be_made_is_not_counted():
    rig = Rig()

    def fail(stamp):
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        rig.output(fail, 9 * S)
    with pytest.raises(ArithmeticError):
        rig.output.computed(9 * S, 'base', fail, 0)
    assert not rig.ages
    assert not rig.health.outputs


# ---- When a node takes silence for a pause ------------------------------------------------------


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
