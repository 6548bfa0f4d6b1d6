"""Stamps that came in bursts are put back onto the clock of their publisher."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.pipeline.joints import JointGroup, JointStage
from izmp_dynamics.signals.publisher_clock import TOLERANCE, PublisherClock
from izmp_dynamics.signals.samples import Samples

START = 1_700_000_000_000_000_000
PERIOD = 10_000_000  # [ns]
JITTER = 150_000  # [ns]
RESTORED = Fault(Reason.STAMP_RESTORED)


def on_time(count=500, period=PERIOD, seed=0):
    """Stamps of a publisher at nearly its period [ns]."""
    jitter = np.random.default_rng(seed).normal(0.0, JITTER, count)
    return START + period * np.arange(count) + jitter.astype(np.int64)


def held_up(stamps, seed=1):
    """The publisher hangs now and then: (stamps, which came in a burst)."""
    random, late, stamps = np.random.default_rng(seed), np.zeros(len(stamps), bool), stamps.copy()
    k = 40
    while k < len(stamps) - 8:
        last = k + int(random.integers(1, 6))
        stamps[k:last] = stamps[last] - 200_000 * np.arange(last - k, 0, -1)
        late[k:last] = True
        k = last + int(random.integers(6, 15))
    return stamps, late


def restored(clock, stamps, pieces=(10_000,)):
    """What a clock makes of stamps that come in pieces."""
    parts, begin, turn = [], 0, 0
    while begin < len(stamps):
        part = stamps[begin : begin + pieces[turn % len(pieces)]]
        parts.append(clock.push(Samples(part, part[:, None].astype(float))))
        begin, turn = begin + len(part), turn + 1
    parts.append(clock.flush())
    found = Samples.joined(parts)
    return found.stamps, found.values[:, 0].astype(np.int64)


@pytest.mark.parametrize('period', [PERIOD, 10_070_000, 2_000_000])
def test_bursts_are_put_back_within_the_stated_bound(period):
    true = on_time(period=period)
    if period < PERIOD:
        true = START + period * np.arange(500)
    stamps, late = held_up(true)
    assert late.mean() > 0.2
    assert np.abs(stamps - true).max() > 3 * period
    clock = PublisherClock(1)
    found, _ = restored(clock, stamps)
    assert np.abs(found - true).max() < 5 * JITTER
    np.testing.assert_array_equal(found[~late], stamps[~late])  # who is on time keeps his stamp
    assert clock.faults == {RESTORED: np.count_nonzero(late)}
    assert clock.latest == pytest.approx((stamps - true).max() * 1e-9, abs=1e-3)
    assert clock.scatter <= clock.bound <= TOLERANCE * 1.01 * period * 1e-9
    assert np.abs(found - true).max() * 1e-9 <= 2.0 * max(clock.bound, 1e-6)


def two_publishers():
    first = on_time()
    return np.stack([first, first + 1_000_000], axis=1).ravel()


def lost_in_a_gap():
    """Half of what was sent in a gap never came, so nobody knows which."""
    stamps, _ = held_up(on_time())
    return np.delete(stamps, np.flatnonzero(np.diff(stamps) < PERIOD // 4)[::2])


def not_periodic():
    steps = np.random.default_rng(3).uniform(0.1, 3.0, 500) * PERIOD
    return START + np.cumsum(steps).astype(np.int64)


@pytest.mark.parametrize('stamps', [on_time, two_publishers, not_periodic])
def test_nothing_else_is_touched(stamps):
    clock, stamps = PublisherClock(1), stamps()
    found, values = restored(clock, stamps)
    np.testing.assert_array_equal(found, stamps)
    np.testing.assert_array_equal(values.astype(float), stamps.astype(float))
    assert not clock.faults


def test_bursts_with_losses_stay_as_they_are():
    stamps = lost_in_a_gap()
    found, _ = restored(PublisherClock(1), stamps)
    changed = found != stamps
    assert np.all(np.diff(found) > 0)
    assert np.all(found[changed] < stamps[changed])


def test_a_clock_that_is_set_back_begins_anew():
    stamps, _ = held_up(on_time())
    clock = PublisherClock(1)
    both = np.concatenate([stamps, stamps])
    found, _ = restored(clock, both)
    np.testing.assert_array_equal(found[:500], found[500:])


def share_of_instants(biped31, model, setting):
    """Instants with trustworthy joints, and the largest error of q̇ among them [rad/s]."""
    robot = dataclasses.replace(
        biped31, joints=dataclasses.replace(biped31.joints, stamps=setting)
    )
    true = on_time()
    stamps, _ = held_up(true)
    angles = 0.3 * np.sin(2.0 * (true - START) * 1e-9)
    group = JointGroup(tuple(range(model.dof)), 1e-9 * PERIOD)
    stage = JointStage(model, robot, groups=(group,), patience=0.5)
    first = stage.push(Samples(stamps, np.tile(angles[:, None], model.dof)))
    rest = stage.flush()
    stamps = np.concatenate([first.stamps, rest.stamps])
    valid = np.concatenate([first.valid, rest.valid])
    speed = np.concatenate([first.velocities, rest.velocities])[:, 0]
    wrong = np.abs(speed - 0.6 * np.cos(2.0 * (stamps - START) * 1e-9))
    return np.count_nonzero(valid) / len(true), np.nanmax(wrong[valid]), stage.faults


def test_joints_in_bursts_are_evaluated_nearly_throughout(biped31, model):
    """The twin of a log of which 28 % were discarded."""
    before, _, faults = share_of_instants(biped31, model, 'as_is')
    assert before < 0.8
    assert faults[Fault(Reason.STAMP_HELD_UP)] > 100
    after, wrong, faults = share_of_instants(biped31, model, 'publisher_clock')
    assert after > 0.98
    assert wrong < 0.05
    assert faults[RESTORED] > 100
    assert not faults[Fault(Reason.STAMP_HELD_UP)]


@pytest.mark.parametrize('burst', [10, 17])
def test_bursts_from_the_beginning_on_that_most_stamps_are_in(burst):
    true = on_time()
    stamps, late = true.copy(), np.zeros(len(true), dtype=bool)
    for k in range(5, len(true) - burst, burst + 3):
        stamps[k : k + burst] = stamps[k + burst] - 200_000 * np.arange(burst, 0, -1)
        late[k : k + burst] = True
    assert late.mean() > 0.7
    found, _ = restored(PublisherClock(1), stamps)
    on_its_tick = np.abs(found - true) < TOLERANCE * PERIOD
    assert on_its_tick[late][35:].mean() > 0.95  # once there is a line


@pytest.mark.parametrize('gap', [1, 2, 3])
@pytest.mark.parametrize('burst', range(2, 16))
def test_stamps_never_go_back(burst, gap):
    """Also where bursts of one length and single samples between leave no period to see."""
    true = START + 2_000_000 * np.arange(1000)
    for start in (2, 5, 20, 40):
        stamps = true.copy()
        for k in range(start, len(true) - burst, burst + gap):
            stamps[k : k + burst] = stamps[k + burst] - 50_000 * np.arange(burst, 0, -1)
        assert np.all(np.diff(stamps) > 0)
        found, _ = restored(PublisherClock(1), stamps)
        assert np.all(np.diff(found) > 0)
