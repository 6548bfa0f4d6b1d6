"""The motion of the root while accelerometers publish nothing, publish late, or never."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams

from .pipeline_signals import MS, START, walk

DURATION = 2.4
QUANTITIES = ('proper_acceleration', 'angular_velocity', 'angular_acceleration')


@pytest.fixture(scope='module')
def rig(biped31):
    return make_rig(biped31)


@pytest.fixture(scope='module')
def log(rig):
    return walk(rig, DURATION)


def with_method(rig, method, **changes):
    chosen = dataclasses.replace(rig.robot.angular_acceleration, method=method)
    robot = dataclasses.replace(rig.robot, angular_acceleration=chosen, **changes)
    return dataclasses.replace(rig, robot=robot)


def states_of(stage, log, late=0):
    """Stamp → motion; messages one by one, the accelerometers' only after `late` [ns]."""
    states, waiting = {}, []
    for row, stamp in enumerate(log['joints'].stamps.tolist()):
        waiting.append(stamp)
        one = {signal: Samples.one(stamp, part.values[row]) for signal, part in log.items()}
        stage.push_imu(one['imu'])
        for k in range(len(stage.accelerometers)):
            if stamp > START + late:
                stage.push_accelerometer(k, one[f'accelerometers[{k}]'])
        answer(stage, waiting, states)
    stage.flush()
    answer(stage, waiting, states)
    assert not waiting
    return states


def answer(stage, waiting, states):
    instants = np.array(waiting, dtype=np.int64)
    count = stage.decided(instants, int(instants[-1])) if len(instants) else 0
    if count:
        state = stage.evaluate(instants[:count])
        for row in range(count):
            states[waiting[row]] = [getattr(state, name)[row] for name in QUANTITIES]
        stage.forget(waiting[count - 1])
        del waiting[:count]


def assert_same(states, expected, since=0):
    rows = [stamp for stamp in expected if stamp > START + since]
    assert rows
    for stamp in rows:
        np.testing.assert_allclose(states[stamp], expected[stamp], rtol=0, atol=1e-12)


def stage_of(rig, **options):
    return RootStage(rig, Streams(rig.robot, periods={'imu': 0.01}), **options)


@pytest.fixture(scope='module')
def differenced(rig, log):
    """The motion with the gyroscope's difference."""
    stage = stage_of(with_method(rig, 'gyro'))
    assert stage.method == 'gyro'
    states = states_of(stage, log)
    known = [stamp for stamp, state in states.items() if np.isfinite(state).all()]
    assert len(known) == len(states) - 2
    return states


def test_silent_accelerometers_are_done_without(rig, log, differenced):
    """From the first instant on; a recording shows from the start that they are not there."""
    stage = stage_of(rig, fall_back=True)
    states = states_of(stage, log, late=2**62)
    assert stage.fell_back
    assert_same(states, differenced)


def test_accelerometers_that_come_late_are_used_from_then_on(rig, log, differenced):
    expected = states_of(stage_of(rig), log)
    stage, late = stage_of(rig, fall_back=True), 1200 * MS
    states = states_of(stage, log, late)
    assert not stage.fell_back
    assert_same(states, expected, since=late + 50 * MS)
    before = {
        stamp: state for stamp, state in differenced.items() if stamp < START + late - 50 * MS
    }
    assert_same(states, before)


@pytest.mark.parametrize('method', ['accelerometers', 'auto'])
def test_without_a_choice_there_is_no_falling_back(rig, log, method):
    stage = stage_of(with_method(rig, method), fall_back=method != 'auto')
    states = states_of(stage, log, late=2**62)
    assert stage.method == 'accelerometers'
    assert not any(np.isfinite(state[2]).any() for state in states.values())
    missing = Fault(Reason.NO_SAMPLE)
    assert [stream.faults[missing] for stream in stage.accelerometers] == [len(states)] * 3
