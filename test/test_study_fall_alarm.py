"""The experiment on the fall alarm: trials with pushes, alarms against falls."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the trials are simulated with MuJoCo')

from izmp_dynamics.resources import find_resource
from izmp_dynamics.studies.fall_alarm import trials
from izmp_dynamics.studies.fall_alarm.outcome import Outcome
from izmp_dynamics.studies.fall_alarm.study import ROBOT
from izmp_dynamics.studies.fall_alarm.trials import Trial, batch, trials_of


@pytest.fixture(scope='module')
def standing():
    """Two short stances: a small push, and one that fells the robot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, 'STAND', 4.5)
        file = {'file': str(find_resource(ROBOT))}
        calm = batch(None, file, 'standing', 1, 1, 2.0)
        pushed = batch(None, file, 'standing', 2, 1, 40.0)
    trials._stance.cache_clear()
    return calm, pushed


def test_the_alarm_comes_before_the_fall_and_not_without_one(standing):
    calm, pushed = map(trials_of, standing)
    assert np.isnan(calm[0].fallen)
    assert not calm[0].alarm.any()
    assert len(calm[0].pushes) > 0
    outcome = Outcome.of(pushed)
    assert outcome.seeds.tolist() == [2]
    assert (outcome.leads > 0.2).all()
    assert not outcome.false_alarms
    assert Outcome.of(calm).hours > 0.0


def test_the_same_seed_gives_the_same_trial(standing):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, 'STAND', 4.5)
        again = batch(None, {'file': str(find_resource(ROBOT))}, 'standing', 2, 1, 40.0)
    trials._stance.cache_clear()
    (found,), (expected,) = trials_of(again), trials_of(standing[1])
    for name in ('seed', 'pushes', 'time', 'probability', 'alarm', 'fallen'):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def alarmed(*spans, fallen=np.nan, push=1.0):
    """Ten seconds with alarms."""
    time = np.arange(0.0, 10.0, 0.01)
    alarm = np.zeros(len(time), dtype=bool)
    for begin, end in spans:
        alarm |= (time >= begin) & (time < end)
    pushes = np.array([[push, 5.0, 0.0, 0.1], [8.0, 5.0, 0.0, 0.1]])
    return Trial(7, pushes, time, np.where(alarm, 0.99, 0.0), alarm, fallen)


def test_alarms_are_counted():
    fell = Outcome.of([alarmed((1.2, 1.7), (4.0, 10.0), fallen=4.9)])
    np.testing.assert_allclose(fell.leads, [0.9], atol=0.011)
    assert fell.in_time == 1.0
    assert fell.untilted == 0
    (false,) = fell.false_alarms
    assert false.begin == pytest.approx(1.2)
    assert false.push[0] == 1.0
    assert fell.hours * 3600.0 == pytest.approx(1.9)  # from the push on, until 2 s before
    missed = Outcome.of([alarmed(fallen=4.9)])
    assert missed.leads.tolist() == [0.0]
    assert missed.in_time == 0.0
    survived = Outcome.of([alarmed((2.0, 2.6))])
    assert survived.rate == pytest.approx(1.0 / survived.hours)
    assert survived.rate_bound == pytest.approx(4.744 / survived.hours, rel=1e-3)  # Poisson
    strict = Outcome.of([alarmed((2.0, 2.6))], threshold=0.999)
    assert not strict.false_alarms
    assert Outcome.of([alarmed(fallen=9.99)]).untilted == 1


@pytest.mark.parametrize(
    ('spans', 'fallen', 'lead', 'false'),
    [
        ([(1.2, 10.0)], 8.7, 0.7, 1),  # the second push, at 8 s, felled the robot
        ([(1.2, 8.3)], 8.7, 0.0, 1),  # withdrawn before the fall
        ([(1.2, 7.5)], 8.7, 0.0, 1),
        ([(7.0, 10.0)], 8.7, 0.7, 0),
        ([(3.1, 3.6), (4.0, 10.0)], 4.9, 0.9, 0),  # both are part of the fall
        ([(2.5, 10.0)], 4.9, 2.0, 1),  # no lead is longer than what makes an alarm true
    ],
)
def test_an_alarm_has_no_lead_over_a_push_that_it_cannot_know(spans, fallen, lead, false):
    outcome = Outcome.of([alarmed(*spans, fallen=fallen)])
    np.testing.assert_allclose(outcome.leads, [lead], atol=0.011)
    assert outcome.raised >= outcome.leads
    assert len(outcome.false_alarms) == false
