"""What the robot file states about the errors of sensors is taken out, wherever samples enter."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from izmp_dynamics.base.rotations import from_rpy
from izmp_dynamics.model.feet import FootWrench
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.signals.correction import Correction
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stream import SampleStream
from izmp_dynamics.signals.stream_filter import lag_compensation

from .pipeline_signals import MS, Message, chunks, columns, evaluate, singles, walk, whole

MOUNTING = (0.04, -0.03, 0.5)
GYROSCOPE_BIAS = (0.01, -0.02, 0.03)
ACCELEROMETER_BIAS = (0.1, 0.2, -0.3)
OFFSET = (5.0, -7.0, 20.0, 0.3, -0.2, 0.1)
MATRIX = tuple(map(tuple, np.eye(6) + 0.02 * np.arange(36).reshape(6, 6) / 36.0))
DELAYS = {'imu': 8 * MS, 'orientation': 8 * MS, 'accelerometers[1]': 3 * MS, 'position': -12 * MS,
          'feet[l_foot]': 65 * MS}  # fmt: skip


def stated(robot):
    """The robot file that states the errors."""
    left, right = robot.feet
    wrench = dataclasses.replace(
        left.wrench, sign=-1, rotation=(0.0, 0.0, np.pi / 2), offset=OFFSET, matrix=MATRIX,
        delay=0.065,
    )  # fmt: skip
    imu = dataclasses.replace(
        robot.imu, rotation=MOUNTING, gyroscope_bias=GYROSCOPE_BIAS,
        accelerometer_bias=ACCELEROMETER_BIAS, delay=0.008,
    )  # fmt: skip
    accelerometers = list(robot.accelerometers)
    accelerometers[1] = dataclasses.replace(accelerometers[1], delay=0.003)
    return dataclasses.replace(
        robot,
        imu=imu,
        accelerometers=tuple(accelerometers),
        position=dataclasses.replace(robot.position, delay=-0.012),
        feet=(dataclasses.replace(left, wrench=wrench), right),
    )


def with_errors(log):
    """What sensors with these errors publish."""
    wrong = {
        signal: Message(part.received, part.stamps + DELAYS.get(signal, 0), part.values.copy())
        for signal, part in log.items()
    }
    frame_R_sensor = from_rpy(MOUNTING)
    mounted = Rotation.from_matrix(frame_R_sensor)
    imu = wrong['imu'].values.reshape(-1, 2, 3) @ frame_R_sensor
    wrong['imu'].values = imu.reshape(-1, 6) + np.array(GYROSCOPE_BIAS + ACCELEROMETER_BIAS)
    orientation = Rotation.from_quat(log['orientation'].values) * mounted
    wrong['orientation'].values = orientation.as_quat()
    foot = -wrong['feet[l_foot]'].values.reshape(-1, 2, 3) @ from_rpy((0.0, 0.0, np.pi / 2))
    inverse = np.linalg.inv(np.array(MATRIX))
    wrong['feet[l_foot]'].values = foot.reshape(-1, 6) @ inverse.T + OFFSET
    return wrong


@pytest.mark.parametrize('feeding', [whole, chunks, singles])
def test_stated_errors_are_taken_out_of_every_result(biped31, feeding):
    """Sensors with errors that the robot file states give the results of sensors without."""
    log = walk(make_rig(biped31))
    sound = columns(evaluate(Evaluator(make_rig(biped31)), whole(log)))
    found = columns(evaluate(Evaluator(make_rig(stated(biped31))), feeding(with_errors(log))))
    assert sound.keys() == found.keys()
    for name, values in sound.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-7, atol=1e-7, err_msg=name)
    assert np.isfinite(found['wrenches.cop']).any()


def test_a_stamp_that_was_never_set_stays_so():
    samples = Correction.of_delay(-0.2).apply(Samples(np.array([0, 10]), np.zeros((2, 3))))
    assert samples.stamps.tolist() == [0, 200_000_010]


def test_what_is_not_measured_along_z_is_dropped_in_the_axes_of_the_sensor():
    wrench = FootWrench('w', normal_only=True, rotation=(np.pi / 2, 0.0, 0.0), sign=-1)
    values = Correction.of_wrench(wrench).apply(Samples.one(1, np.arange(1.0, 7.0))).values
    np.testing.assert_allclose(values, [[0.0, 3.0, 0.0, 0.0, 0.0, 0.0]], atol=1e-12)


def test_a_sensor_without_errors_is_left_alone():
    """To the last bit: results of robot files without corrections do not change."""
    samples = Samples(np.array([1, 2]), np.random.default_rng(1).normal(size=(2, 6)))
    same = Correction.of_wrench(FootWrench('w')).apply(samples)
    assert same.values is samples.values
    assert same.stamps is samples.stamps


# ---- A gyroscope that is later than the accelerometer in the same messages ----------------------

LATE = 20 * MS
"""Two samples [ns]."""


def with_late_gyroscope(log, delay):
    """What an IMU publishes whose angular velocity is so much later [ns]."""
    imu = log['imu']
    values = imu.values.copy()
    values[:, :3] = np.roll(values[:, :3], delay // (10 * MS), axis=0)
    return log | {'imu': Message(imu.received, imu.stamps, values)}


def delayed(robot, delay, **changes):
    imu = dataclasses.replace(robot.imu, gyroscope_delay=1e-9 * delay)
    return dataclasses.replace(robot, imu=imu, **changes)


@pytest.mark.parametrize('feeding', [whole, chunks, singles])
@pytest.mark.parametrize('delay', [LATE, -LATE])
@pytest.mark.parametrize('half_width', [None, 0.03])
def test_a_stated_delay_is_taken_out_of_every_result(biped31, feeding, delay, half_width):
    """But at both ends, where the angular velocity of an instant is in no message."""
    smooth = dataclasses.replace(biped31.filter, half_width=half_width)
    gyroscope = {'accelerometers': (), 'filter': smooth}
    plain, late = dataclasses.replace(biped31, **gyroscope), delayed(biped31, delay, **gyroscope)
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
    stream = lag_compensation(Correction(gyroscope_delay=15 * MS), 6, reach=0.05)
    parts = [stream.extend(Samples(stamps, np.ones((6, 6)))), stream.flush()]
    found = Samples.joined(parts).values
    assert np.isfinite(found[:, 0]).tolist() == [True, False, False, True, False, False]
