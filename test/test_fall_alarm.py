"""The fall alarm: capture point, what the feet can reach, gait, probability, alarm."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.model.method import Acd
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.falling import FallStage
from izmp_dynamics.pipeline.joints import JointGroup
from izmp_dynamics.pipeline.noise_propagation import joint_weights, overlap
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.standstill import standstill
from izmp_dynamics.signals.differences import central_quotient
from izmp_dynamics.signals.matched_filter import matched_means
from izmp_dynamics.stability.alarm_rule import HOLD, AlarmRule, threshold
from izmp_dynamics.stability.fall_alarm import Balance, FallAlarm
from izmp_dynamics.stability.fall_probability import (
    ALL_AROUND,
    DIRECTIONS,
    offset_of_fall,
    reach,
    reach_of_feet,
    weights,
)
from izmp_dynamics.stability.gait import PHASES, Gait, footing
from izmp_dynamics.stability.ground_plane import joined_corners

from .pipeline_signals import joined

G = 9.81
HEIGHT = 0.8
RATE = np.sqrt(G / HEIGHT)
SOLE = np.array([[0.15, 0.06], [-0.09, 0.06], [-0.09, -0.06], [0.15, -0.06]])
MIDDLES = np.array([[0.0, 0.1], [0.0, -0.1]])
STEP = 0.008


def balance(com, velocity, middles=MIDDLES, loaded=(True, True), lifted=(0.0, 0.0), begin=0.0):
    """Instants of a robot whose axes are level: com and velocity (K, 2), middles (K, 2, 2)."""
    com, velocity = np.atleast_2d(com), np.atleast_2d(velocity)
    count = len(com)
    middles = np.broadcast_to(middles, (count, 2, 2))
    lifted = np.broadcast_to(lifted, (count, 2))
    corners = [
        np.concatenate(
            [middles[:, None, k] + SOLE - SOLE.mean(axis=0),
             np.broadcast_to(lifted[:, None, k, None] - HEIGHT, (count, 4, 1))],
            axis=2,
        )
        for k in range(2)
    ]  # fmt: skip
    corners, foot = joined_corners(tuple(corners))
    return Balance(
        stamps=np.round(1e9 * (begin + STEP * np.arange(count))).astype(np.int64),
        up=np.tile([0.0, 0.0, 1.0], (count, 1)),
        com=np.pad(com, ((0, 0), (0, 1))),
        velocity=np.pad(velocity, ((0, 0), (0, 1))),
        corners=corners,
        foot=foot,
        loaded=np.array(np.broadcast_to(loaded, (count, 2)), order='C'),
        noise=np.zeros((count, 3, 3)),
        assumed=np.zeros(count, dtype=bool),
    )


def tipping(offset, seconds=2.0):
    """A pendulum whose capture point is ahead of the front edge by `offset`; its fall [s]."""
    time = STEP * np.arange(round(seconds / STEP))
    edge = 0.12
    com = edge + 0.5 * offset * (np.exp(RATE * time) - np.exp(-RATE * time))
    velocity = 0.5 * offset * RATE * (np.exp(RATE * time) + np.exp(-RATE * time))
    fallen = np.interp(0.25 * np.pi * HEIGHT, com - edge, time)
    zero = np.zeros_like(com)
    return np.stack([com, zero], 1), np.stack([velocity, zero], 1), fallen


def test_the_offset_of_a_fall_is_that_of_a_pendulum():
    for offset in (0.02, 0.05, 0.1):
        *_, fallen = tipping(offset)
        found = offset_of_fall(HEIGHT, RATE, np.pi / 4.0, float(fallen))
        assert found == pytest.approx(offset, rel=0.03)  # e^(−ω t) is left out


def reached(feet, carries, moved):
    """Support function of the hull of feet that carry, each moved."""
    hull = np.empty(DIRECTIONS)
    reach_of_feet(feet, np.array(carries), np.array(moved), hull)
    return hull


def test_feet_that_carry_reach_as_far_as_their_hull_and_what_is_unknown_is_not_reached():
    sizes, moved = np.empty((2, DIRECTIONS)), np.array([[0.3, 0.0], [0.0, 0.0]])
    for k, middle in enumerate(MIDDLES):
        reach(SOLE + middle, sizes[k])
    both = reached(sizes, [True, True], moved)
    hull = np.concatenate([SOLE + at for at in MIDDLES + moved])
    np.testing.assert_allclose(both, (hull @ ALL_AROUND.T).max(axis=0))
    assert np.isneginf(reached(sizes, [False, False], moved)).all()
    unknown = SOLE + MIDDLES[0]
    unknown[2, 0] = np.nan
    reach(unknown, sizes[0])
    assert np.isnan(reached(sizes, [True, True], np.zeros((2, 2)))).all()
    assert np.isfinite(reached(sizes, [False, True], np.zeros((2, 2)))).all()


def test_weights_are_those_of_the_capture_point_over_time():
    """One centre of pressure after the other brings the capture point to rest on the last."""
    ends, places = np.array([0.1, 0.4, 0.5]), np.array([0.0, 0.2, -0.1, 0.3])
    share = np.empty(4)
    weights(ends, RATE, share)
    assert share.sum() == pytest.approx(1.0)
    xi, before = float(share @ places), 0.0
    for end, place in zip(ends, places, strict=False):
        xi, before = place + (xi - place) * np.exp(RATE * (end - before)), end
    assert xi == pytest.approx(places[-1])


def test_a_robot_that_stands_is_safe_and_one_that_tips_is_not():
    calm = FallAlarm(G, 2).push(balance([[0.03, 0.0]], [[0.0, 0.0]]))
    assert calm.probability[0] < 1e-9
    assert not calm.alarm[0]
    assert not calm.stepping[0]
    assert calm.margin[0] == pytest.approx(0.09)
    lost = FallAlarm(G, 2).push(balance([[0.03, 0.0]], [[1.0, 0.0]]))
    assert lost.probability[0] > 0.99
    assert lost.alarm[0]
    np.testing.assert_allclose(lost.direction[0], [1.0, 0.0])
    assert 'mm outside' in lost.sentence()
    assert 'ahead: ' in lost.sentence()


@pytest.mark.parametrize('offset', [0.004, 0.01, 0.03])
def test_the_alarm_comes_a_second_before_the_fall_of_a_pendulum(offset):
    com, velocity, fallen = tipping(offset)
    risk = FallAlarm(G, 2, missed_fall=10.0).push(balance(com, velocity))
    lead = fallen - STEP * np.argmax(risk.alarm)
    assert risk.alarm.any()
    assert lead == pytest.approx(min(1.0, fallen), abs=0.05)


def test_the_alarm_follows_from_the_costs():
    assert threshold(10.0) == 0.5
    assert threshold(90.0) == pytest.approx(0.1)
    com, velocity, _ = tipping(0.004)
    first = [
        int(np.argmax(FallAlarm(G, 2, cost).push(balance(com, velocity)).alarm))
        for cost in (1000.0, 10.0, 0.1)
    ]
    assert first == sorted(first)
    assert len(set(first)) == 3


@pytest.mark.parametrize('what', ['no feet loaded', 'com', 'velocity', 'up', 'corners'])
def test_what_is_not_known_is_no_confidence(what):
    given = balance([[0.03, 0.0]] * 3, [[0.0, 0.0]] * 3)
    if what == 'no feet loaded':
        given = balance([[0.03, 0.0]] * 3, [[0.0, 0.0]] * 3, loaded=(False, False))
    else:
        values = getattr(given, what)
        (values[1] if what == 'corners' else values)[1] = np.nan
    risk = FallAlarm(G, 2).push(given)
    assert np.isnan(risk.probability[1])
    assert not risk.alarm.any()
    assert risk.sentence(1).startswith('Cannot say')
    if what != 'no feet loaded':
        assert (risk.probability[[0, 2]] < 1e-9).all()


def test_an_alarm_holds_while_nothing_is_known_and_ends_half_a_second_later():
    alarm = FallAlarm(G, 2)
    assert alarm.push(balance([[0.0, 0.0]], [[2.0, 0.0]])).alarm[0]
    count = round(0.6 / STEP)
    calm = np.zeros((count, 2))
    flying = balance(calm, calm, loaded=(False, False), begin=STEP)
    risk = alarm.push(flying)
    assert np.isnan(risk.probability).all()
    assert risk.alarm[: round(0.48 / STEP)].all()
    assert not risk.alarm[-1]


def walk(steps, length=0.2, time=0.5, support=0.1):
    """Middles (K, 2, 2) against the robot that moves steadily, and which feet carry load."""
    middles, loaded, x = [], [], np.array([0.0, 0.0])
    for step in range(steps):
        foot = step % 2
        begin, end = x[foot], x[1 - foot] + length
        for k in range(round(time / STEP)):
            t = STEP * k
            swing = max(t - support, 0.0) / (time - support)
            at = np.where(np.arange(2) == foot, begin + swing * (end - begin), x)
            root = length * (step + t / time)
            middles.append(np.stack([at - root, MIDDLES[:, 1]], axis=1))
            loaded.append([t < support or foot != 0, t < support or foot != 1])
        x[foot] = end
    return np.array(middles), np.array(loaded)


def ahead(gait, time, places):
    """When phases end, what carries in them and where that then is; None if it does not walk."""
    ends, carries = np.empty(PHASES - 1), np.empty((PHASES, 2), dtype=bool)
    moved = np.empty((PHASES, 2, 2))
    walks = footing(gait.numbers, gait.loaded, time, places, ends, carries, moved)
    return (ends, carries, moved) if walks else None


def test_the_gait_predicts_where_and_when_the_next_step_lands():
    middles, loaded = walk(5)
    gait, found = Gait(), []
    for k, (places, on) in enumerate(zip(middles, loaded, strict=True)):
        gait.see(STEP * k, places, on)
        found.append(ahead(gait, STEP * k, places))
    assert found[0] is None
    assert found[round(0.9 / STEP)] is None  # it does not know two steps
    row = round(2.3 / STEP)  # 0.3 s into the fifth step, that of the left foot
    ends, carries, moved = found[row]
    np.testing.assert_allclose(ends, [0.0, 0.2, 0.3, 0.7], atol=0.03)
    np.testing.assert_array_equal(carries[1], [False, True])
    there = middles[row] + moved[2]
    np.testing.assert_allclose(there[0] - middles[row, 1], [0.2, 0.2], atol=0.01)
    np.testing.assert_allclose(moved[4, 1], [0.4, 0.0], atol=0.01)
    places, on = middles[-1], np.array([True, True])
    for k in range(round(1.5 / STEP)):
        gait.see(STEP * (len(middles) + k), places, on)
    assert ahead(gait, STEP * (len(middles) + k), places) is None  # it stands again


def test_a_foot_that_bounces_has_not_stepped():
    gait = Gait()
    for k in range(100):
        gait.see(STEP * k, MIDDLES, np.array([True, k % 10 != 3]))
    assert ahead(gait, 0.8, MIDDLES) is None


def test_steps_to_come_are_counted_on():
    """What would tip a robot that stands is a part of its walk."""
    middles, loaded = walk(6)
    row = round(2.85 / STEP)  # shortly before a touchdown
    beyond = middles[row, :, 0].max() + 0.12 + 0.03
    com = np.zeros((row + 1, 2))
    com[row, 0] = beyond
    lifted = np.where(loaded, 0.0, 0.2)[: row + 1]
    given = balance(com, np.zeros_like(com), middles[: row + 1], loaded[: row + 1], lifted)
    risk = FallAlarm(G, 2).push(given)
    assert risk.stepping[row]
    assert risk.margin[row] > 0.0
    assert 'next steps' in risk.sentence(row)


def test_the_direction_is_that_of_the_largest_risk_not_of_the_least_margin():
    """20 mm inside the left edge, 25 mm inside the front one, towards which the robot moves."""
    thrown = 0.3
    now = balance([[0.095 - thrown, 0.14]], [[thrown * RATE, 0.0]])
    risk = FallAlarm(G, feet=2).push(now)
    np.testing.assert_allclose(risk.direction[0], [1.0, 0.0], atol=1e-9)
    assert risk.margin[0] == pytest.approx(0.025)
    assert risk.deviation[0] == pytest.approx(np.hypot(0.01, 0.1 * thrown))
    assert 0.005 < risk.probability[0] < 0.05


def trotting(sideways, lifted_for):
    """Two of four point feet carry, the others did until then; the COM is beside their line."""
    places = np.array([[0.2, 0.15], [0.2, -0.15], [-0.2, 0.15], [-0.2, -0.15]])
    count = round(lifted_for / STEP)
    sole = 0.01 * np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    across = np.array([0.15, -0.2]) / 0.25
    loaded = np.ones((count, 4), dtype=bool)
    loaded[1:, [1, 2]] = False
    heights = np.where(loaded, -0.3, -0.2)
    corners, foot = joined_corners(
        tuple(
            np.dstack([np.tile(places[k] + sole, (count, 1, 1)), np.tile(heights[:, k, None], 4)])
            for k in range(4)
        )
    )
    return Balance(
        stamps=np.round(1e9 * STEP * np.arange(1, count + 1)).astype(np.int64),
        up=np.tile([0.0, 0.0, 1.0], (count, 1)),
        com=np.tile([*sideways * across, 0.0], (count, 1)),
        velocity=np.zeros((count, 3)),
        corners=corners,
        foot=foot,
        loaded=loaded,
        noise=np.zeros((count, 3, 3)),
        assumed=np.zeros(count, dtype=bool),
    )


def test_a_trot_is_no_fall_but_feet_that_stay_in_the_air_are():
    """Between the two feet on the ground and one that was just lifted by 0.1 m it is safe."""
    given = trotting(0.06, 0.8)
    risk = FallAlarm(G, 4).push(given)
    before = np.arange(len(given.stamps)) * STEP < 0.48
    assert not risk.alarm[before].any()
    assert risk.alarm[-1]
    beyond = FallAlarm(G, 4).push(trotting(0.3, 0.4))
    assert beyond.alarm[-1]
    pieces, parts = FallAlarm(G, 4), []
    for rows in (slice(0, 3), slice(3, 61), slice(61, None)):
        cut = {
            name: value if name == 'foot' else value[rows] for name, value in vars(given).items()
        }
        parts.append(pieces.push(Balance(**cut)).probability)
    assert np.concatenate(parts) == pytest.approx(risk.probability)


RULE_STEP = 0.01
OVERLAP = 2.5 * RULE_STEP


def raised(probability, begin=0.0):
    times = begin + RULE_STEP * np.arange(len(probability))
    return AlarmRule(0.9).push(times, np.array(probability), OVERLAP)


@pytest.mark.parametrize('count', [1, 2, 3])
def test_instants_that_share_samples_raise_no_alarm(count):
    assert not raised([0.1, *[0.95] * count, 0.1, 0.1]).any()


def test_a_reason_that_lasts_raises_it_at_the_first_instant_that_shares_none():
    alarm = raised([0.1, *[0.95] * 5, *[0.1] * 60], begin=1.7e9)
    first, last = np.flatnonzero(alarm)[[0, -1]]
    assert first == 4
    assert alarm[first:last].all()
    assert (last - 5) * RULE_STEP == pytest.approx(HOLD, abs=1.5 * RULE_STEP)


@pytest.mark.parametrize('other', [0.1, np.nan])
def test_what_interrupts_a_reason_makes_it_begin_again(other):
    assert not raised([*[0.95] * 3, other] * 4).any()


def test_a_reason_counts_at_once_where_nothing_is_shared():
    assert AlarmRule(0.9).push(np.array([1.0]), np.array([0.95]), 0.0).all()


@pytest.mark.parametrize(('half_width', 'steps'), [(None, 3), (0.03, 9)])
def test_errors_of_velocities_are_independent_from_there_on(half_width, steps):
    stamps = np.arange(1, 20_001) * round(RULE_STEP * NANOSECONDS)
    positions = np.random.default_rng(2).normal(size=(20_000, 1))
    if half_width is None:
        velocity = central_quotient(stamps, positions).first
    else:
        velocity = matched_means(stamps, positions, half_width, max_gap=0.1).first
    noise = velocity[np.isfinite(velocity)]
    found = [np.corrcoef(noise[:-lag], noise[lag:])[0, 1] for lag in range(1, steps + 6)]
    apart = np.ceil(overlap(joint_weights(Acd(), half_width, RULE_STEP), RULE_STEP) / RULE_STEP)
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


# ---- While joints are learned again -------------------------------------------------------------


@pytest.fixture(scope='module')
def toppling(biped31):
    """Rig, groups of joints, and instants that tip over with the feet on the ground."""
    rig = make_rig(biped31)
    groups = (JointGroup(tuple(range(rig.model.dof)), RULE_STEP),)
    evaluator = Evaluator(rig, groups)
    still = joined(evaluator.push(standstill(rig, 200, RULE_STEP)) + evaluator.flush())
    root = replace(still.root, angular_velocity=np.tile([0.0, 2.0, 0.0], (len(still.stamps), 1)))
    return rig, groups, replace(still, root=root)


@pytest.fixture
def judge(toppling):
    """Judges some of those instants, where the groups are known or not."""
    rig, groups, given = toppling
    stage = FallStage(rig)

    def evaluate(begin, end, known):
        rows = slice(begin, end)
        return stage.evaluate(
            given.joints.select(rows),
            given.root.select(rows),
            given.up[rows],
            given.up[rows],
            given.ground.select(rows),
            groups if known else (),
        )

    return evaluate


@pytest.mark.parametrize('pieces', [[20, 100], [20, 21, 50, 100]], ids=['whole', 'pieces'])
def test_an_alarm_holds_while_joints_are_learned_and_has_to_be_raised_again(judge, pieces):
    assert judge(10, 20, known=True).alarm[-1]
    risks = [judge(a, b, known=False) for a, b in pairwise(pieces)]
    assert np.isnan(np.concatenate([risk.probability for risk in risks])).all()
    assert all('not known yet' in risk.sentence() for risk in risks)
    alarm = np.concatenate([risk.alarm for risk in risks])
    assert np.count_nonzero(alarm) == pytest.approx(HOLD / RULE_STEP, abs=1.0)
    assert not alarm[-1]
    again = judge(100, 110, known=True)
    assert again.probability[0] > 0.99
    assert not again.alarm[0]
    assert again.alarm[-1]


def test_without_an_orientation_the_probability_says_so(toppling):
    rig, groups, given = toppling
    unmeasured = given.up.copy()
    unmeasured[1] = np.nan
    signals = given.joints, given.root, given.up, unmeasured, given.ground
    risk = FallStage(rig).evaluate(*signals, groups)
    assert 'No orientation' not in risk.sentence(0)
    assert risk.sentence(1).count(' No orientation of the root is known: the vertical') == 1
