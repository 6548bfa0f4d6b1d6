"""When an alarm is raised: how long its reason must last."""

import numpy as np
import pytest

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.model.method import Acd
from izmp_dynamics.pipeline.noise_propagation import joint_weights, overlap
from izmp_dynamics.signals.differences import central_quotient
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.alarm_rule import HOLD, AlarmRule
from izmp_dynamics.stability.fall_alarm import FallAlarm

from .test_fall_alarm import G, balance

STEP = 0.01
OVERLAP = 2.5 * STEP


def raised(probability, begin=0.0):
    times = begin + STEP * np.arange(len(probability))
    return AlarmRule(0.9).push(times, np.array(probability), OVERLAP)


@pytest.mark.parametrize('count', [1, 2, 3])
def test_instants_that_share_samples_raise_no_alarm(count):
    assert not raised([0.1, *[0.95] * count, 0.1, 0.1]).any()


def test_a_reason_that_lasts_raises_it_at_the_first_instant_that_shares_none():
    alarm = raised([0.1, *[0.95] * 5, *[0.1] * 60], begin=1.7e9)
    first, last = np.flatnonzero(alarm)[[0, -1]]
    assert first == 4
    assert alarm[first:last].all()
    assert (last - 5) * STEP == pytest.approx(HOLD, abs=1.5 * STEP)


@pytest.mark.parametrize('other', [0.1, np.nan])
def test_what_interrupts_a_reason_makes_it_begin_again(other):
    assert not raised([*[0.95] * 3, other] * 4).any()


def test_a_reason_counts_at_once_where_nothing_is_shared():
    assert AlarmRule(0.9).push(np.array([1.0]), np.array([0.95]), 0.0).all()


@pytest.mark.parametrize(('half_width', 'steps'), [(None, 3), (0.03, 9)])
def test_errors_of_velocities_are_independent_from_there_on(half_width, steps):
    stamps = np.arange(1, 20_001) * round(STEP * NANOSECONDS)
    positions = np.random.default_rng(2).normal(size=(20_000, 1))
    if half_width is None:
        velocity = central_quotient(stamps, positions).first
    else:
        velocity = matched_means(stamps, positions, half_width, max_gap=0.1).first
    noise = velocity[np.isfinite(velocity)]
    found = [np.corrcoef(noise[:-lag], noise[lag:])[0, 1] for lag in range(1, steps + 6)]
    apart = np.ceil(overlap(joint_weights(Acd(), half_width, STEP), STEP) / STEP)
    assert apart == steps
    assert np.abs(found[: steps - 1]).max() > 0.3
    np.testing.assert_allclose(found[steps - 1 :], 0.0, atol=0.03)


def test_one_wrong_stamp_is_no_fall():
    """The velocities of two instants are too large; the robot stands."""
    velocity = np.zeros((100, 2))
    velocity[50:52, 0] = 2.0
    given = balance(np.zeros((100, 2)), velocity)
    assert FallAlarm(G, 2).push(given).alarm.any()
    risk = FallAlarm(G, 2).push(given, overlap=0.02)
    assert risk.probability[50:52].min() > 0.99
    assert not risk.alarm.any()
