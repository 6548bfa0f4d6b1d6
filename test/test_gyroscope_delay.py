"""A gyroscope that is later than the accelerometer in the same messages, and stated to be so."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream import SampleStream
from izmp_dynamics.signals.stream_filter import Undone

from .pipeline_signals import MS, Message, chunks, columns, evaluate, singles, walk, whole

LATE = 20 * MS
"""Two samples [ns]."""


def with_late_gyroscope(log, delay):
    """What an IMU publishes whose angular velocity is so much later [ns]."""
    imu = log['imu']
    values = imu.values.copy()
    values[:, :3] = np.roll(values[:, :3], delay // (10 * MS), axis=0)
    return log | {'imu': Message(imu.received, imu.stamps, values)}


def stated(robot, delay, **changes):
    imu = dataclasses.replace(robot.imu, gyroscope_delay=1e-9 * delay)
    return dataclasses.replace(robot, imu=imu, **changes)


@pytest.mark.parametrize('feeding', [whole, chunks, singles])
@pytest.mark.parametrize('delay', [LATE, -LATE])
@pytest.mark.parametrize('half_width', [None, 0.03])
def test_a_stated_delay_is_taken_out_of_every_result(biped31, feeding, delay, half_width):
    """But at both ends, where the angular velocity of an instant is in no message."""
    smooth = dataclasses.replace(biped31.filter, half_width=half_width)
    gyroscope = {'accelerometers': (), 'filter': smooth}
    plain, late = dataclasses.replace(biped31, **gyroscope), stated(biped31, delay, **gyroscope)
    log = walk(make_rig(plain))
    sound = columns(evaluate(Evaluator(make_rig(plain)), whole(log)))
    wrong = with_late_gyroscope(log, delay)
    found = columns(evaluate(Evaluator(make_rig(late)), feeding(wrong)))
    np.testing.assert_array_equal(found['joints.stamps'], sound['joints.stamps'])
    rows = slice(12, -12)
    for name, values in sound.items():
        if len(values) == len(sound['joints.stamps']):
            np.testing.assert_allclose(found[name][rows], values[rows], atol=1e-9, err_msg=name)
    unstated = columns(evaluate(Evaluator(make_rig(plain)), whole(wrong)))
    assert np.isfinite(found['points.mr_ad'][rows]).all()
    assert np.nanmax(np.abs(unstated['points.mr_ad'] - sound['points.mr_ad'])[rows]) > 1e-4


@pytest.mark.parametrize('delay', [50 * MS, -50 * MS])
def test_a_stuck_value_is_not_known_at_the_instants_that_take_it(delay):
    """They lie earlier or later than the samples by the delay."""
    stamps = 10 * MS * np.arange(150)
    values = np.random.default_rng(3).normal(size=(150, 6))
    values[51:100] = values[50]
    correction = Correction(gyroscope_delay=delay)
    stream = SampleStream(
        'imu', 6, max_gap=0.05, period=0.01, correction=correction, may_be_stuck=True
    )
    stream.push(Samples(stamps, values))
    stream.flush()
    instants = stamps[10:140]
    stuck = stream.stuck_at(instants, np.ones(len(instants), dtype=bool))
    of_frozen = (stamps + delay > stamps[50]) & (stamps + delay < stamps[100])
    frozen = (stamps > stamps[50]) & (stamps < stamps[100])
    np.testing.assert_array_equal(stuck, (of_frozen | frozen)[10:140])


def test_across_a_gap_the_angular_velocity_is_not_known():
    stamps = np.array([0, 10, 20, 500, 510, 520]) * MS
    stream = Undone(Correction(gyroscope_delay=15 * MS), 6, reach=0.05)
    found = np.concatenate([stream.extend(stamps, np.ones((6, 6))), stream.flush()])
    assert np.isfinite(found[:, 0]).tolist() == [True, False, False, True, False, False]
