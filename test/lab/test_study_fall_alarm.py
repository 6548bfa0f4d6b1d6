"""The experiment on the fall alarm: trials with pushes, alarms against falls."""

import numpy as np
import pytest

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.stability.alarm_rule import threshold
from izmp_lab.studies.fall_alarm import study as trials
from izmp_lab.studies.fall_alarm.page import EDGES, reliability, settings
from izmp_lab.studies.fall_alarm.study import (
    APART,
    LATE,
    QUEUE,
    ROBOT,
    FallStudy,
    FallTrial,
    Outcome,
    has_errors,
    received,
    trial,
)
from izmp_lab.studies.runs import RobotKey


def test_trials_have_seeds_from_the_first_one_on():
    runs = FallStudy.of(12, 20_000).runs().values()
    tried = [(run.given['kind'], run.given['seed']) for run in runs]
    assert tried == [*(('walking', 20_000 + k) for k in range(12)), ('standing', 20_000)]
    assert settings(FallStudy.of(12, 20_000))['trials, walking'].startswith(
        '12, seeds 20000 to 20011;'
    )


@pytest.fixture(scope='module')
def standing():
    """Two short stances: a small push, and one that fells the robot."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, 'STAND', 4.5)
        robot = RobotKey.of(find_resource(ROBOT))
        calm = trial(robot, 'standing', 1, 2.0)
        pushed = trial(robot, 'standing', 2, 40.0)
    trials._stance.cache_clear()
    return calm, pushed


def test_the_alarm_comes_before_the_fall_and_not_without_one(standing):
    calm, pushed = standing
    assert np.isnan(calm.fallen)
    assert not calm.alarm.any()
    assert len(calm.pushes) > 0
    outcome = Outcome.of([pushed])
    assert outcome.seeds.tolist() == [2]
    assert (outcome.leads > 0.2).all()
    assert not outcome.false_alarms
    assert Outcome.of([calm]).hours > 0.0


def test_the_alarm_of_a_threshold_is_that_of_the_node(standing):
    """The curves over the threshold hold for the rule by which the alarm is raised."""
    found = Outcome.of([standing[1]], threshold(1.0))
    np.testing.assert_array_equal(found.raised, Outcome.of([standing[1]]).raised)


def alarmed(*spans, fallen=np.nan, push=1.0, unpushed=np.nan):
    """Ten seconds with alarms."""
    time = np.arange(0.0, 10.0, 0.01)
    alarm = np.zeros(len(time), dtype=bool)
    for begin, end in spans:
        alarm |= (time >= begin) & (time < end)
    pushes = np.array([[push, 5.0, 0.0, 0.1], [8.0, 5.0, 0.0, 0.1]])
    return FallTrial(7, pushes, time, np.where(alarm, 0.99, 0.0), alarm, fallen,
                 unpushed=unpushed)  # fmt: skip


def test_alarms_are_counted():
    fell = Outcome.of([alarmed((1.2, 1.7), (4.0, 10.0), fallen=4.9)])
    np.testing.assert_allclose(fell.leads, [0.9], atol=0.011)
    assert fell.in_time == 1.0
    assert fell.untilted == 0
    (false,) = fell.false_alarms
    assert false == pytest.approx(1.2)
    assert fell.hours * 3600.0 == pytest.approx(1.9)  # from the push on, until 2 s before
    missed = Outcome.of([alarmed(fallen=4.9)])
    assert missed.leads.tolist() == [0.0]
    assert missed.in_time == 0.0
    survived = Outcome.of([alarmed((2.0, 2.6))])
    assert survived.rate == pytest.approx(1.0 / survived.hours)
    assert survived.rate_bound == pytest.approx(4.744 / survived.hours, rel=1e-3)  # Poisson
    at_end = Outcome.of([alarmed((9.0, 10.0)), alarmed((7.5, 10.0))])
    assert (at_end.undecided, len(at_end.false_alarms)) == (1, 1)
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


@pytest.mark.parametrize(
    ('unpushed', 'lead', 'anyway'),
    [
        (9.0, 0.9, 1),  # the robot falls without the second push as well, but later
        (8.3, 0.5, 1),  # that push delayed the fall
        (np.inf, 0.7, 0),  # the push felled it
        (np.nan, 0.7, 0),  # not simulated
        (9.9, 0.7, 0),  # not what the alarm meant
    ],
)
def test_a_fall_that_comes_without_the_later_push_as_well_was_foreseen(unpushed, lead, anyway):
    outcome = Outcome.of([alarmed((7.8, 10.0), fallen=8.7, unpushed=unpushed)])
    np.testing.assert_allclose(outcome.leads, [lead], atol=0.011)
    np.testing.assert_allclose(outcome.cautious, [0.7], atol=0.011)
    np.testing.assert_allclose(outcome.raised, [0.9], atol=0.011)
    assert (outcome.pushed_later, outcome.fell_anyway) == (1, anyway)


def test_a_fall_is_repeated_without_the_pushes_after_the_alarm(monkeypatch):
    """The first push fells the robot; the second one comes while it tips."""
    pushes = np.array([[1.0, 40.0, 0.0, 0.05], [1.2, 6.0, np.pi, 0.05]])
    monkeypatch.setattr(trials, 'STAND', 4.5)
    monkeypatch.setattr(trials, '_pushes', lambda *_: pushes)
    trials._stance.cache_clear()
    tried = trials.trial(RobotKey.of(find_resource(ROBOT)), 'standing', 3, 40.0)
    trials._stance.cache_clear()
    assert pushes[0, 0] < tried.raised < pushes[1, 0] < tried.fallen
    assert tried.unpushed == pytest.approx(tried.fallen, abs=0.1)
    assert tried.unpushed != tried.fallen


def test_messages_over_a_bus_are_late_held_up_or_lost():
    stamps = np.arange(1, 20_001) * 8_000_000
    found = received(np.random.default_rng(1), stamps, np.arange(20_000.0)[:, None])
    late = found.stamps - stamps[found.values[:, 0].astype(int)]
    assert len(found) == pytest.approx(19_800, abs=60)
    assert (np.diff(found.stamps) >= APART).all()
    assert late.min() >= 0
    assert np.median(late) * 1e-9 == pytest.approx(np.log(2.0) * LATE, rel=0.1)
    assert LATE + QUEUE / 2 < late.max() * 1e-9 < QUEUE + 0.01
    assert np.mean([has_errors(seed) for seed in range(200)]) == pytest.approx(0.5, abs=0.1)


def test_a_probability_is_compared_with_how_often_the_robot_falls():
    """Of 400 trials with a probability of 60 %, 60 % fall; the instants of one are alike."""
    time = np.arange(0.0, 6.0, 0.1)
    pushes = np.array([[1.0, 5.0, 0.0, 0.1], [4.55, 5.0, 0.0, 0.1]])
    flags = np.zeros(len(time), dtype=bool)
    tried = []
    for k in range(400):
        falls = k % 5 < 3
        chance = np.where((time > 2.05) & (time < 2.85), 0.6, 0.0)
        tried.append(FallTrial(k, pushes, time, chance, flags, 3.0 if falls else np.nan))
    count, of, predicted, fell, low, high = reliability(tried)
    k = int(np.searchsorted(EDGES, 0.6, side='right')) - 1
    assert (count[k], of[k]) == (8 * 400, 400)
    assert (predicted[k], fell[k]) == pytest.approx((0.6, 0.6))
    assert high[k] - low[k] == pytest.approx(4 * np.sqrt(0.24 / 400), rel=0.15)
    # before: from the first push on, but not in the second before the other one or the end
    assert count[0] == 400 * (11 + 1) + 160 * (6 + 4)
    assert fell[0] == pytest.approx(240 * 2 / count[0])
    assert np.isnan(fell[-1])
