"""Overload and dead connections of the receiver, with queues of the test in place of DDS."""

import itertools
from collections import Counter, deque
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes import health as health_module
from izmp_dynamics.nodes import receiving
from izmp_dynamics.nodes.graph_node import MOST_COLLECTED
from izmp_dynamics.nodes.health import AGE_LIMIT, ERROR, OK, STARTUP, Health
from izmp_dynamics.nodes.receiving import (
    REPLACED_AFTER,
    Receiver,
    Reception,
)
from izmp_dynamics.nodes.registry import node_class

from .node_processes import ROBOT, free_domain, wait_until

MS = 10**6


class Queue:
    """A subscription of the middleware: (time of reception [ns], stamp), taken in their order."""

    topic_name = '/topic'

    def __init__(self, topic='/topic'):
        self.topic_name, self.handle, self.waiting = topic, self, deque()

    def take_message(self, msgtype, raw):
        if not self.waiting:
            return None
        received, stamp = self.waiting.popleft()
        return stamp, {'received_timestamp': received}


class Overloaded:
    """Topics whose messages cost time, by a clock of the test."""

    def __init__(self, monkeypatch, topics=('/joints', '/imu'), cost=0, longest_wait=0.1):
        self.now, self.cost = 10**18, cost
        self.handed, self.lost, self.skips = [], Counter(), 0
        monkeypatch.setattr(receiving.time, 'time_ns', lambda: self.now)
        monkeypatch.setattr(receiving, 'deserialize_message', lambda raw, msgtype: raw)
        self.receiver = Receiver()
        self.receiver.longest_wait = longest_wait
        self.queues = {topic: Queue(topic) for topic in topics}
        for topic in topics:
            self.receiver._receptions.append(self.reception(topic))

    def start_up(self):
        """Let the time pass in which nothing is skipped."""
        self.publish(-1)
        while self.receiver.take(self.receiver._receptions):
            pass
        self.now += round(2 * STARTUP * 1e9)
        self.handed.clear()

    def reception(self, topic):
        def take(stamp):
            self.now += self.cost
            self.handed.append((topic, stamp, self.now))

        def lose(reason, number):
            self.lost[topic, reason] += number
            self.skips += topic == '/joints'

        node = SimpleNamespace(create_subscription=lambda *_, **__: self.queues[topic])
        return Reception(node, topic, None, take, lose, None)

    def publish(self, stamp, age=0):
        """A message on every topic that was received so long ago [ns]."""
        for queue in self.queues.values():
            queue.waiting.append((self.now - age, stamp))

    def stamps(self, topic):
        return [stamp for name, stamp, _ in self.handed if name == topic]


def test_a_backlog_is_handed_out_in_the_order_of_its_reception(monkeypatch):
    test = Overloaded(monkeypatch)
    times = range(-90, 0)
    test.queues['/joints'].waiting += [(test.now + ms * MS, ms) for ms in times]
    test.queues['/imu'].waiting += [(test.now + ms * MS, ms) for ms in times[::20]]
    assert test.receiver.take(test.receiver._receptions)
    assert len(test.handed) == receiving.TAKEN_AT_ONCE
    while test.receiver.take([]):  # what was taken needs no message to wait for
        pass
    while test.receiver.take(test.receiver._receptions):
        pass
    found = [stamp for _, stamp, _ in test.handed]
    assert found == sorted([*times, *times[::20]])


def test_messages_that_come_early_keep_the_order(monkeypatch):
    test = Overloaded(monkeypatch)
    joints, imu = (test.queues[topic].waiting for topic in ('/joints', '/imu'))
    begin = test.now
    for test.now in (begin, begin + 10 * MS):
        joints.append((test.now, 0))
        imu.append((test.now, 0))
        assert test.receiver.take(test.receiver._receptions)
    test.handed.clear()
    joints += [(test.now + ms * MS, ms) for ms in (10, 13)]
    imu.append((test.now + 14 * MS, 14))
    test.now += 14 * MS
    while test.receiver.take(test.receiver._receptions):
        pass
    assert [stamp for _, stamp, _ in test.handed] == [10, 13, 14]


def test_old_messages_are_skipped_on_all_topics_and_counted(monkeypatch):
    test = Overloaded(monkeypatch)
    test.start_up()
    test.publish(0, age=101 * MS)
    test.publish(1, age=50 * MS)
    test.publish(2, age=-1)  # comes while the others are skipped
    test.publish(3, age=-1)
    while test.receiver.take(test.receiver._receptions):
        pass
    assert test.stamps('/joints') == test.stamps('/imu') == [2, 3]
    assert test.lost == {('/joints', Reason.SKIPPED): 2, ('/imu', Reason.SKIPPED): 2}


def test_nothing_is_skipped_while_a_node_starts(monkeypatch):
    test = Overloaded(monkeypatch)
    for stamp in range(5):
        test.publish(stamp, age=(5 - stamp) * 300 * MS)
    while test.receiver.take(test.receiver._receptions):
        pass
    assert test.stamps('/joints') == test.stamps('/imu') == list(range(5))
    assert not test.lost


@pytest.mark.parametrize(('longest_wait', 'received'), [(None, 1), (0.1, 0)])
def test_nothing_is_skipped_with_reliable_inputs_or_without_times(
    monkeypatch, longest_wait, received
):
    """Some middleware does not state when a message was received."""
    test = Overloaded(monkeypatch, longest_wait=longest_wait)
    for queue in test.queues.values():
        queue.waiting += [(received, stamp) for stamp in range(5)]
    while test.receiver.take(test.receiver._receptions):
        pass
    assert test.stamps('/joints') == list(range(5))
    assert not test.lost


@pytest.mark.parametrize('load', [0.9, 1.7, 4.0])
def test_results_do_not_fall_faster_than_the_computer_is_slow(monkeypatch, load):
    """30 s at 100 Hz: what is handed out is fresh, complete, and as much as can be done."""
    period, count = 10 * MS, 3000
    test = Overloaded(monkeypatch, cost=round(load * period / 2))
    test.start_up()
    begin = test.now
    for stamp in range(count):
        due = begin + stamp * period
        while test.now < due:
            if not test.receiver.take(test.receiver._receptions):
                test.now = due
        for queue in test.queues.values():
            queue.waiting.append((due, stamp))
    while test.receiver.take(test.receiver._receptions):
        pass
    joints, imu = set(test.stamps('/joints')), set(test.stamps('/imu'))
    for topic, handed in (('/joints', joints), ('/imu', imu)):
        assert len(handed) + test.lost[topic, Reason.SKIPPED] == count
    assert len(joints & imu) > 0.8 * count / max(load, 1.0)
    assert len(joints ^ imu) <= test.skips  # one instant at the boundary of each
    ages = [now - (begin + stamp * period) for _, stamp, now in test.handed]
    assert max(ages) <= 100 * MS + 2 * test.cost
    assert bool(test.lost) == (load > 1.0)


def test_skipped_messages_and_late_results_are_errors(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(health_module.time, 'monotonic', lambda: clock.now)
    health = Health('/acd', 'biped31', lambda topic: 1)
    health.aged(5.0 * AGE_LIMIT)
    assert health.status().level == OK  # it has just started
    clock.now += 1.1 * STARTUP
    health.aged(0.9 * AGE_LIMIT)
    assert health.status().level == OK
    for _ in range(3):
        health.aged(1.1 * AGE_LIMIT)
    status = health.status()
    assert (status.level, [item.key for item in status.values][-1]) == (ERROR, 'finding late')
    health.count('joints', Reason.SKIPPED)
    health.aged(0.9 * AGE_LIMIT)
    status = health.status()
    keys = [item.key for item in status.values if item.key.startswith('finding')]
    assert (status.level, keys) == (ERROR, ['finding joints.skipped'])
    assert health.status().level == OK


@pytest.fixture
def acd():
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    node = node_class('acd')(overrides=[Parameter('robot', value=str(ROBOT))])
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_witnesses_do_not_pile_up_while_no_joints_arrive(acd):
    for k in range(3 * MOST_COLLECTED):
        acd.collect('imu', 1_000_000 * k, np.full(6, float(k)))
        acd.advance()
        assert sum(map(len, acd._collected.values())) <= MOST_COLLECTED


def test_a_subscription_that_never_delivers_is_replaced(acd, monkeypatch):
    """Its topic has a publisher, but nothing comes: the connection may be dead."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(receiving.time, 'monotonic', lambda: clock.now)
    (entry, *_), (reception, *_) = acd.health.inputs, acd.receiver._receptions
    entry.last = 0.0
    second, replaced = None, []
    for clock.now in range(200):
        monkeypatch.setattr(acd, 'count_publishers', lambda topic: int(clock.now > 10))
        acd._report()
        acd.receiver.replace_dead()
        if len(replaced) < entry.replaced:
            replaced.append(clock.now)
            assert reception.second not in (None, second, reception.subscription)
            second = reception.second
    assert replaced[0] == 11
    pauses = [after - before for before, after in itertools.pairwise(replaced)]
    assert pauses == [REPLACED_AFTER * 2**k for k in range(4)] + [60.0]
    monkeypatch.setattr(acd.health, '_count', lambda topic: 1)
    values = {item.key: item.value for item in acd.health.status().values}
    assert str(len(replaced)) in values['finding no_message[/joint_states]']


@pytest.mark.parametrize('first_is_dead', [True, False])
def test_the_subscription_that_receives_stays(acd, first_is_dead):
    """Over real DDS; no message is lost because a topic was silent for long."""
    (entry, *_), (reception, *_) = acd.health.inputs, acd.receiver._receptions
    first = reception.subscription
    assert acd.receiver.replace(entry.topic)
    assert not acd.receiver.replace(entry.topic)
    acd.receiver.replace_dead()
    second = reception.second
    if first_is_dead:
        silent = SimpleNamespace(take_message=lambda msgtype, raw: None)
        reception.subscription = SimpleNamespace(handle=silent)
    publisher = acd.create_publisher(JointState, 'joint_states', 10)
    names = list(acd.model.joint_names)
    message = JointState(name=names, position=[0.0] * len(names))
    message.header.stamp.sec = 1

    def received():
        publisher.publish(message)
        return acd.receiver.take([reception])

    assert wait_until(received)
    assert entry.count
    assert reception.second is None
    assert reception.subscription is (second if first_is_dead else first)


@pytest.mark.parametrize(
    ('numbers', 'publishers', 'missed'),
    [
        ([7, 8, 9], 1, []),
        ([7, 9, 10, 14], 1, [1, 3]),
        ([7, 8, 1, 2], 1, []),  # the publisher is started again
        ([7, 1000, 8], 2, []),
        ([None, None], 1, []),
    ],
)
def test_gaps_in_the_numbers_of_one_publisher_are_counted(numbers, publishers, missed):
    infos, found = [{'publication_sequence_number': number} for number in numbers] + [{}], []
    handle = SimpleNamespace(take_message=lambda *_: (None, infos.pop(0)))
    subscription = SimpleNamespace(topic_name='/imu', handle=handle)
    node = SimpleNamespace(
        create_subscription=lambda *_, **__: subscription,
        count_publishers=lambda topic: publishers,
        context=SimpleNamespace(ok=lambda: True),
    )
    reception = Reception(
        node, '/imu', None, None, lambda reason, number: found.append((reason, number)), None
    )
    while infos:
        reception.take()
    assert found == [(Reason.LOST, number) for number in missed]
