"""Stuck joints are not joints that stand still, whatever the pieces and the order."""

import numpy as np
import pytest

from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stuck_joints import MotionEvidence, StuckJoints

MS = 1_000_000
PERIOD, PATIENCE = 0.01, 500 * MS
STAMPS = 10 * MS * np.arange(1, 301)
NOTHING = Samples.empty(4)


def walking():
    """Positions (300, 4) of joints that move all the time, at 100 Hz."""
    return np.sin(STAMPS[:, None] * 1e-9 * np.array([1.0, 2.0, 3.0, 0.5]) + 0.3)


def held(positions, begin, end, joints=slice(None)):
    """The same, but from `begin` on some joints have the value before, up to `end`."""
    positions[begin:end, joints] = positions[begin - 1, joints]
    return positions


def judged(positions, pieces=7, asleep=slice(0), late=0):
    """The gate after all messages; the IMU repeats itself while `asleep`, comes `late`."""
    imu = np.random.default_rng(1).normal(size=(300, 6))
    imu[asleep] = imu[0]
    evidence = MotionEvidence(['imu'])
    gate, passed = StuckJoints(PERIOD, 4, evidence, (0.0, 0.0)), []
    for begin in range(0, 300, pieces):
        messages = Samples(STAMPS, positions).select(slice(begin, begin + pieces))
        passed.append(gate.push(messages))
        seen = slice(max(0, begin - late), max(0, begin - late + pieces))
        evidence.see('imu', Samples(STAMPS, imu).select(seen))
        passed.append(gate.settle(int(messages.stamps[-1]) - PATIENCE))
    whole = Samples.joined([*passed, gate.flush()])
    np.testing.assert_array_equal(whole.stamps, STAMPS)
    np.testing.assert_array_equal(whole.values, positions)
    return gate


def stuck_rows(gate, joint=0):
    return np.flatnonzero(gate.spans.stuck_at(STAMPS, around=True)[:, joint]).tolist()


@pytest.mark.parametrize('late', [0, 30])
@pytest.mark.parametrize('pieces', [1, 7, 1000])
def test_all_joints_are_stuck(pieces, late):
    gate = judged(held(walking(), 100, 140), pieces, late=late)
    for joint in range(4):  # the quotients at both ends take such values in
        assert stuck_rows(gate, joint) == list(range(99, 141))


@pytest.mark.parametrize('pieces', [1, 7, 1000])
def test_joints_of_one_bus_are_stuck_and_then_those_of_another(pieces):
    positions = held(held(walking(), 100, 140, [0, 2]), 200, 300, [1, 3])
    gate = judged(positions, pieces)
    for joint in (0, 2):
        assert stuck_rows(gate, joint) == list(range(99, 141))
    for joint in (1, 3):
        assert stuck_rows(gate, joint) == list(range(199, 300))


@pytest.mark.parametrize(
    ('positions', 'known'),
    [
        (held(walking(), 100, 108), {}),  # a short stop
        (held(walking(), 100, 140, [1]), {}),  # a single joint may have reached its goal
        (held(walking(), 100, 140), {'asleep': slice(100, 140)}),  # as a simulator's robot at rest
        (held(walking(), 100, 140), {'late': 1000}),  # without evidence of motion
        (held(1e-6 * np.random.default_rng(2).normal(size=(300, 4)), 100, 140), {}),  # flicker
    ],
)
def test_joints_that_may_stand_still_are_not_stuck(positions, known):
    assert stuck_rows(judged(positions, **known)) == []


@pytest.mark.parametrize('asleep', [slice(0), slice(100, 140)])
def test_messages_wait_no_longer_than_until_the_evidence_is_known(asleep):
    imu = np.random.default_rng(1).normal(size=(300, 6))
    imu[asleep] = imu[0]
    positions = held(walking(), 100, 140)
    evidence = MotionEvidence(['imu'])
    gate = StuckJoints(PERIOD, 4, evidence, (0.0, 0.0))
    longest = count = 0
    for k in range(300):
        given = Samples(STAMPS, positions).select(slice(k, k + 1))
        count += len(gate.push(given))
        evidence.see('imu', Samples(STAMPS, imu).select(slice(k, k + 1)))
        count += len(gate.settle(int(STAMPS[k]) - PATIENCE))
        longest = max(longest, k + 1 - count)
    assert longest == 9  # those of 0.1 s but the one with which it is known


def test_joints_that_came_to_rest_are_not_stuck():
    """Coarse encoders of joints that slow down for 0.3 s, and then stand."""
    time = np.minimum(STAMPS * 1e-9, 2.0)
    path = np.where(time < 1.7, time, 2.0 - 0.3 / 2 - (2.0 - time) ** 2 / 0.6)
    positions = path[:, None] * np.array([1.0, 0.7, 0.5, 1.5])
    assert stuck_rows(judged(1e-3 * np.round(positions / 1e-3))) == []
