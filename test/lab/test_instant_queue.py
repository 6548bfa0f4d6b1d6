"""Instants that wait for results: in their order, each once, and never too many."""

import random

import numpy as np

from izmp_dynamics.base.faults import Fault, Reason
from izmp_lab.seesaw.nodes.instant_queue import CAPACITY, LONGEST_WAIT, InstantQueue

MS = 1_000_000
NO_SAMPLE = Fault(Reason.NO_SAMPLE)


def queue():
    return InstantQueue({'wrench': 2})


def stamps_of(ready):
    return [instant.stamp for instant in ready]


def test_an_instant_waits_for_the_result_of_its_stamp():
    waiting = queue()
    waiting.push(8 * MS, 'a')
    waiting.push(16 * MS, 'b')
    assert not list(waiting.take())
    waiting.add('wrench', 8 * MS, np.array([1.0, 2.0]))
    (first,) = waiting.take()
    assert first.payload == 'a'
    np.testing.assert_array_equal(first.results[0], [1.0, 2.0])
    waiting.add('wrench', 24 * MS, np.zeros(2))
    (second,) = waiting.take()
    assert np.isnan(second.results[0]).all()
    assert waiting.faults['wrench'] == {NO_SAMPLE: 1}


def test_a_result_that_is_not_finite_counts_as_none():
    waiting = queue()
    waiting.push(8 * MS, None)
    waiting.add('wrench', 8 * MS, np.array([1.0, np.inf]))
    (instant,) = waiting.take()
    assert np.isnan(instant.results[0]).all()
    assert waiting.faults['wrench'] == {NO_SAMPLE: 1}


def test_repeated_and_older_instants_are_left_out():
    """Also when the queue is empty: two publishers of the same instants."""
    waiting = InstantQueue({})
    seen = []
    for stamp in (0, 0, 10, 10, 20, 5, 20, 30):
        waiting.push((stamp + 1) * MS, None)
        seen += stamps_of(waiting.take())
    assert seen == [1 * MS, 11 * MS, 21 * MS, 31 * MS]


def test_the_queue_is_bounded_although_nothing_takes():
    waiting = queue()
    for k in range(1, CAPACITY + 101):
        waiting.push(k * MS, None)
    waiting.add('wrench', (CAPACITY + 100) * MS, np.zeros(2))
    assert len(list(waiting.take())) == CAPACITY
    assert waiting.faults['wrench'][NO_SAMPLE] == CAPACITY + 99


PERIOD = 8 * MS
SKIPS = 0.02
"""Probability that a process begins to skip what it gets of a topic."""


def skipping(dice, count):
    """Which of so many messages a process skips, for some tenths of a second now and then."""
    skipped, until = set(), 0
    for k in range(count):
        if k >= until and dice.random() < SKIPS:
            until = k + round(dice.expovariate(1.0 / 30.0))
        if k < until:
            skipped.add(k)
    return skipped


def test_instants_whose_partners_never_come_are_handed_out_once_and_in_their_order():
    """Each process skips other messages."""
    dice, count = random.Random(0), 4000
    skipped = {topic: skipping(dice, count) for topic in ('instants', 'root', 'wrench')}
    skipped['root'] |= set(range(count // 2, count))  # its process ends
    waiting = InstantQueue({'root': 2, 'wrench': 2})
    given, most = [], 0
    for k in range(count):
        stamp = (k + 1) * PERIOD
        if k not in skipped['instants']:
            waiting.push(stamp, k)
        for topic in ('root', 'wrench'):  # a little later, as they are computed elsewhere
            if k >= 3 and k - 3 not in skipped[topic]:
                waiting.add(topic, stamp - 3 * PERIOD, np.full(2, k - 3.0))
        given += waiting.take()
        most = max(most, len(waiting._waiting), *map(len, waiting._results.values()))
    assert most * PERIOD < 1.1e9 * LONGEST_WAIT  # and not for ever
    pushed = [k for k in range(count) if k not in skipped['instants']]
    assert [instant.payload for instant in given] == pushed[: len(given)]
    assert given[-1].payload > count // 2
    for column, topic in enumerate(('root', 'wrench')):
        lacking = [k.payload for k in given if np.isnan(k.results[column]).any()]
        assert lacking == [k.payload for k in given if k.payload in skipped[topic]]
        assert waiting.faults[topic] == {NO_SAMPLE: len(lacking)}
