"""The predicted covariance of a recording's IZMP against what noise does to it."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the recording is simulated with MuJoCo')


from izmp_dynamics.model.method import Filter
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.root import accelerometer_array
from izmp_dynamics.pipeline.uncertainty import SampleNoise, _root_covariance, izmp_covariance
from izmp_dynamics.sensing.noise import degrees, micro_g
from izmp_dynamics.signals.samples import Samples

from .pipeline_signals import evaluate
from .recorded import read_bag

SECOND = 10**9
FORCE_AND_ALPHA = [0, 1, 2, 6, 7, 8]


@pytest.fixture(scope='module')
def recorded(sway, biped31):
    """A recording, and its signals of two seconds."""
    recording, signals = read_bag(sway[1], biped31)
    begin, end = recording.origin + SECOND, recording.origin + 3 * SECOND
    span = {
        name: samples.select((samples.stamps >= begin) & (samples.stamps < end))
        for name, samples in signals.items()
    }
    return recording, span


def noisy(signals, random, rate):
    """Add white noise with the densities of the robot file to IMU and accelerometers."""
    force, gyro = micro_g(60.0) * np.sqrt(rate), degrees(0.01) * np.sqrt(rate)
    sigmas = {'imu': np.repeat([gyro, force], 3)}
    sigmas |= {name: force for name in signals if name.startswith('accelerometers')}
    changed = {
        name: Samples(
            signals[name].stamps,
            signals[name].values + random.normal(0.0, sigma, signals[name].values.shape),
        )
        for name, sigma in sigmas.items()
    }
    return signals | changed


@pytest.mark.parametrize('method', ['accelerometers', 'gyro'])
def test_predicted_and_observed_sigma_of_a_recording(recorded, method):
    recording, span = recorded
    chosen = dataclasses.replace(recording.rig.robot.angular_acceleration, method=method)
    robot = dataclasses.replace(recording.rig.robot, angular_acceleration=chosen)
    rig = dataclasses.replace(recording.rig, robot=robot)

    def evaluated(signals):
        evaluator = Evaluator(rig, recording.groups, recording.periods)
        return evaluator, evaluate(evaluator, [signals])

    predicted = izmp_covariance(*evaluated(span))[5:-5]
    random, rate = np.random.default_rng(7), 1.0 / recording.periods['imu']
    drawn = [evaluated(noisy(span, random, rate))[1].points['mr_ad'][5:-5] for _ in range(30)]
    observed = np.var(drawn, axis=0, ddof=1)
    for axis in (0, 1):
        ratio = predicted[:, axis, axis].mean() / observed[:, axis].mean()
        assert np.sqrt(ratio) == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize('half_width', [None, 0.04])
def test_each_accelerometer_has_the_noise_of_its_own_rate(recorded, half_width):
    """σ = ν √f of the sensor that reads; a filter leaves about as much of it at any rate."""
    recording, _ = recorded
    robot = dataclasses.replace(recording.rig.robot, filter=Filter(half_width=half_width))
    rig, still = dataclasses.replace(recording.rig, robot=robot), np.zeros((1, 3))
    array, periods = accelerometer_array(rig), [0.002, 0.008, 0.008, 0.001]

    def covariance(periods):
        noise = SampleNoise.of(robot, periods, rig.model.dof)
        return _root_covariance(rig, periods, array, still, noise, half_width)[0]

    predicted = covariance(periods)[np.ix_(FORCE_AND_ALPHA, FORCE_AND_ALPHA)]
    if half_width is not None:
        at_one_rate = covariance([0.002] * 4)
        ratio = np.diag(predicted) / np.diag(at_one_rate)[FORCE_AND_ALPHA]
        np.testing.assert_allclose(ratio, 1.0, atol=0.05)
        return
    random, count = np.random.default_rng(8), 20000
    density = micro_g(robot.noise.accelerometer)
    readings = {
        sensor.name: random.normal(0.0, density / np.sqrt(period), (count, len(sensor.axes)))
        for sensor, period in zip(array.accelerometers, periods, strict=True)
    }
    found = array.batch(np.arange(count), np.zeros((count, 3)), readings)
    drawn = np.hstack([found.proper_acceleration, found.angular_acceleration])
    np.testing.assert_allclose(drawn.std(axis=0), np.sqrt(np.diag(predicted)), rtol=0.03)


def test_no_covariance_while_the_period_of_the_imu_is_unknown(recorded):
    recording, span = recorded
    robot = dataclasses.replace(recording.rig.robot, filter=Filter(half_width=0.02))
    rig = dataclasses.replace(recording.rig, robot=robot)
    evaluator = Evaluator(rig, recording.groups, recording.periods)
    result = evaluate(evaluator, [span])
    evaluator = Evaluator(rig, recording.groups)  # has seen no sample
    assert np.isnan(izmp_covariance(evaluator, result)).all()
