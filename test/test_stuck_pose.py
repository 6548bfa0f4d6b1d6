"""While its source is stuck, neither orientation, position nor velocity of the root is known."""

import numpy as np
import pytest

from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.world import WorldStage
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams
from izmp_dynamics.signals.stream import SampleStream

STAMPS = 10_000_000 * np.arange(1, 301)
STUCK = slice(100, 140)


@pytest.fixture(scope='module')
def rig(biped31):
    return make_rig(biped31)


def samples(width, stuck=False):
    """A signal at 100 Hz that repeats itself for 0.4 s, or does not."""
    values = np.random.default_rng(width).normal(scale=1e-3, size=(300, width))
    if width == 4:
        values[:, 3] = 1.0
        values /= np.linalg.norm(values, axis=1, keepdims=True)
    if stuck:
        values[STUCK] = values[STUCK.start]
    return Samples(STAMPS, values)


def known(rig, source, stuck, moving=True):
    """Which instants have orientation, position and velocity."""
    imu = SampleStream('imu', 6, max_gap=0.05, period=0.01, may_be_stuck=True)
    imu.push(samples(6, 'imu' in stuck))
    stage = WorldStage(
        rig, Streams(rig.robot, periods={'position': 0.01, 'imu': 0.01}), source, imu
    )
    stage.push_orientation(samples(4, 'orientation' in stuck))
    stage.push_position(samples(3, 'position' in stuck))
    stage.flush()
    instants = STAMPS[2:-2]
    assert stage.decided(instants, int(instants[-1])) == len(instants)
    state = stage.evaluate(instants, moving=np.full(len(instants), moving))
    parts = state.R.reshape(-1, 9), state.p, state.v
    return [np.flatnonzero(np.isnan(part).any(axis=1)) + 2 for part in parts]


def lost(rows):
    """First and last of some rows; nothing for none."""
    return (int(rows[0]), int(rows[-1])) if len(rows) else ()


INSIDE, AROUND = (101, 139), (100, 140)
"""Stuck values, and the quotients that take them in as well."""


@pytest.mark.parametrize(
    ('source', 'stuck', 'expected'),
    [
        ('imu', ['position'], [(), AROUND, AROUND]),
        ('imu', ['imu'], [INSIDE, AROUND, AROUND]),
        ('position', ['orientation'], [INSIDE, AROUND, AROUND]),
        ('position', ['position'], [AROUND, AROUND, AROUND]),
        ('position', ['imu'], [(), (), ()]),
        ('imu', [], [(), (), ()]),
    ],
)
def test_what_is_left_out(rig, source, stuck, expected):
    assert [lost(rows) for rows in known(rig, source, stuck)] == expected


def test_a_pose_that_rests_with_the_robot_is_not_stuck(rig):
    assert [len(rows) for rows in known(rig, 'position', ['position'], moving=False)] == [0, 0, 0]
