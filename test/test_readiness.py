"""Instants that wait for results: in their order, each once, and never too many."""

import numpy as np

from izmp_dynamics.pipeline.readiness import CAPACITY, InstantQueue
from izmp_dynamics.sensing.faults import Fault, Reason

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


def test_what_the_next_instant_lacks():
    waiting = InstantQueue({'first': 1, 'last': 1})
    assert waiting.awaited == 'last'  # whatever is there, this one comes last
    waiting.add('last', 8 * MS, np.zeros(1))
    assert waiting.awaited == 'first'
    waiting.add('first', 8 * MS, np.zeros(1))
    assert waiting.awaited == ''
    waiting.push(8 * MS, None)
    assert stamps_of(waiting.take()) == [8 * MS]
    assert waiting.awaited == 'last'
    waiting.push(16 * MS, None)
    waiting.add('last', 24 * MS, np.zeros(1))
    assert waiting.awaited == 'first'
    assert InstantQueue({}).awaited == ''
