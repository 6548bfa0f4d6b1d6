"""Samples that repeat the one before: a few are left out, many mean that the signal hangs."""

import numpy as np
import pytest

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.signals.repeats import HangLog, RepeatGate
from izmp_dynamics.signals.samples import Samples

MS = 1_000_000
PERIOD = 0.01


def signal(count=200, width=6):
    """A signal every 10 ms of which no sample is like another."""
    values = np.random.default_rng(2).normal(size=(count, width))
    return Samples(10 * MS * np.arange(1, count + 1), values)


def held(samples, begin, end):
    """The same, but from `begin` on the value is that of the sample before, up to `end`."""
    values = samples.values.copy()
    values[begin:end] = values[begin - 1]
    return Samples(samples.stamps, values)


def passed(gate, samples, pieces):
    parts, begin = [], 0
    while begin < len(samples):
        part = samples.rows(slice(begin, begin + pieces))
        parts.append(gate.push(part))
        begin += pieces
    parts.append(gate.flush(samples))
    return Samples(
        np.concatenate([part.stamps for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


@pytest.mark.parametrize('pieces', [1000, 1, 7])
def test_a_signal_that_hangs_has_no_value_there(pieces):
    gate, samples = RepeatGate(PERIOD), held(signal(), 100, 130)
    found = passed(gate, samples, pieces)
    np.testing.assert_array_equal(found.stamps, samples.stamps)  # they are marked, not left out
    hangs = gate.hangs(samples.stamps)
    np.testing.assert_array_equal(np.flatnonzero(hangs), np.arange(100, 130))
    around = gate.hangs(samples.stamps, around=True)
    np.testing.assert_array_equal(np.flatnonzero(around), np.arange(99, 131))
    assert not gate.faults


@pytest.mark.parametrize('pieces', [1000, 1, 7])
def test_a_sensor_that_is_slower_than_its_topic_is_interpolated(pieces):
    samples = signal()
    values = np.repeat(samples.values[:80], [2, 3] * 40, axis=0)
    slow = Samples(samples.stamps, values)
    gate = RepeatGate(PERIOD)
    found = passed(gate, slow, pieces)
    assert not gate.hangs(slow.stamps).any()
    assert gate.faults == {Fault(Reason.REPEATED): 200 - len(found)}
    assert (np.diff(found.values[30:-3], axis=0) != 0.0).any(axis=1).all()
    assert len(found) == pytest.approx(80, abs=20)  # the first ones show that it changes at all


@pytest.mark.parametrize('pieces', [1000, 1])
def test_what_never_changed_or_is_zero_is_meant_so(pieces):
    """A constant that stands for an assumption, and a foot in the air whose sensor reads zero."""
    samples = signal()
    constant = Samples(samples.stamps, np.tile([0.0, 0.0, 9.81, 0.0, 0.0, 0.0], (200, 1)))
    unloaded = Samples(samples.stamps, samples.values.copy())
    unloaded.values[50:120] = 0.0
    for given in (constant, unloaded):
        gate = RepeatGate(PERIOD)
        assert len(passed(gate, given, pieces)) == 200
        assert not gate.hangs(given.stamps).any()
        assert not gate.faults


def test_times_of_hanging_are_joined():
    log = HangLog()
    log.add(np.array([10, 20, 30]) * 10 * MS)
    log.add(np.array([31, 32]) * 10 * MS)
    log.add(np.array([80]) * 10 * MS)
    assert log.spans == [(100 * MS, 320 * MS), (800 * MS, 800 * MS)]


def test_a_clock_that_is_set_back_begins_another_time_of_hanging():
    log = HangLog()
    log.add(np.array([100, 101]) * MS)
    log.add(np.array([10, 11]) * MS)
    assert log.spans == [(100 * MS, 101 * MS), (10 * MS, 11 * MS)]
