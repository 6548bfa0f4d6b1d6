"""A simulated walk with noisy sensors: the gap that a filter leaves, and predicted covariances."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.pipeline.root import RootStage
from izmp_dynamics.pipeline.uncertainty import (
    SampleNoise,
    _root_covariance,
    filtered_covariance,
    izmp_covariance,
)
from izmp_dynamics.sensing.noise import degrees, micro_g
from izmp_dynamics.signals.samples import Samples
from izmp_dynamics.signals.stage import Streams
from izmp_lab.simulation.scenarios import simulate_walk
from izmp_lab.walking.walk_parameters import WalkParameters

from .pipeline_signals import evaluate
from .recorded import read_bag

STEP = 2.0 * np.pi / 2**16
"""Of a 16-bit encoder [rad]."""

RATE = 500.0
FORCE_AND_ALPHA = [0, 1, 2, 6, 7, 8]


@pytest.fixture(scope='module')
def recorded(biped31, tmp_path_factory):
    """A walk at 0.3 m/s, every sensor at 500 Hz: where it is recorded, recording and signals."""
    bag = tmp_path_factory.mktemp('walk') / 'walk'
    simulate_walk(biped31, bag, parameters=WalkParameters(speed=0.3, steps=2, stand=0.5))
    return bag, *read_bag(bag, biped31)


def noisy(signals, seed=0, step=STEP):
    """Encoders, IMU and accelerometers as an Xsens MTi-20, 0.2 N and 10 N·mm at the feet.

    Where the steps of an encoder lie is drawn, too.
    """
    random = np.random.default_rng(seed)
    force, gyro = micro_g(60.0) * np.sqrt(RATE), degrees(0.01) * np.sqrt(RATE)
    changed = {}
    for name, samples in signals.items():
        values = samples.values
        if name == 'joints' and step:
            offset = random.uniform(0.0, step, values.shape[1])
            values = np.round((values + offset) / step) * step - offset
        sigma = {'imu': np.repeat([gyro, force], 3), 'feet': np.repeat([0.2, 0.01], 3)}
        sigma['accelerometers'] = force
        part = sigma.get(name.partition('[')[0])
        if part is not None:
            values = values + random.normal(size=values.shape) * part
        changed[name] = Samples(samples.stamps, values)
    return changed


def evaluated(recording, signals, half_width, method, step=STEP):
    """Evaluator and results, with the matched filter of a half-width, or none."""
    robot = recording.rig.robot
    robot = dataclasses.replace(
        robot,
        filter=Filter(half_width=half_width),
        angular_acceleration=dataclasses.replace(robot.angular_acceleration, method=method),
        noise=dataclasses.replace(robot.noise, encoder=step),
    )
    rig = dataclasses.replace(recording.rig, robot=robot)
    evaluator = Evaluator(rig, recording.groups, recording.periods)
    return evaluator, evaluate(evaluator, [signals])


def rms(values):
    return np.sqrt(np.mean(values[np.isfinite(values).all(axis=1)] ** 2, axis=0))


@pytest.mark.parametrize(
    ('half_width', 'method', 'largest'),
    [
        (0.016, 'accelerometers', 1.0),
        (0.016, 'gyro', 1.0),
        (0.026, 'accelerometers', 0.5),
        (0.026, 'gyro', 0.5),
    ],
)
def test_the_gap_between_mr_ad_and_the_feet(recorded, half_width, method, largest):
    """All signals are means over one window, so nothing but noise keeps them apart."""
    _, recording, signals = recorded
    for change, limit in ((noisy, largest), (dict, 0.1)):
        _, results = evaluated(recording, change(signals), half_width, method)
        gap = rms(results.wrenches['mr_ad'] - results.wrenches['cop'])[:3]
        assert np.linalg.norm(gap) <= limit


@pytest.mark.parametrize(
    ('half_width', 'step'), [(None, 0.0), (None, STEP), (0.016, STEP), (0.03, STEP)]
)
@pytest.mark.parametrize('method', ['accelerometers', 'gyro'])
def test_predicted_and_observed_sigma(recorded, half_width, step, method):
    """With exact encoders the IMU's noise alone is left."""
    _, recording, signals = recorded
    _, ideal = evaluated(recording, signals, half_width, method, step)
    observed, predicted = [], []
    for seed in range(4):
        drawn = noisy(signals, seed, step)
        evaluator, results = evaluated(recording, drawn, half_width, method, step)
        noise = SampleNoise.of(
            evaluator.rig.robot, evaluator.root.periods, evaluator.rig.model.dof
        )
        of_wrench = filtered_covariance(evaluator, results, noise, half_width)
        of_point = izmp_covariance(evaluator, results)
        known = np.isfinite(of_point).all(axis=(1, 2))
        wrench = results.wrenches['mr_ad'] - ideal.wrenches['mr_ad']
        point = results.points['mr_ad'] - ideal.points['mr_ad']
        observed.append(
            [np.mean(np.sum(part[known] ** 2, axis=1)) for part in (wrench[:, :3], point)]
        )
        predicted.append(
            [
                np.mean(np.trace(part[known], axis1=1, axis2=2))
                for part in (of_wrench[:, :3, :3], of_point)
            ]
        )
    ratio = np.sqrt(np.mean(predicted, axis=0) / np.mean(observed, axis=0))
    np.testing.assert_allclose(ratio, 1.0, atol=0.1)


def test_a_recording_without_noise_needs_no_filter(recorded, biped31):
    bag = recorded[0]
    plain = evaluate_bag(bag, dataclasses.replace(biped31, filter=Filter(method='none')))
    chosen = evaluate_bag(bag, biped31)
    assert chosen.parameters['filter.half_width'] == 'not given'
    assert chosen.parameters['filter.chosen'].startswith('No filter is needed')
    np.testing.assert_array_equal(chosen.tracks['mr_ad'].point, plain.tracks['mr_ad'].point)


@pytest.mark.parametrize('half_width', [None, 0.04])
def test_each_accelerometer_has_the_noise_of_its_own_rate(recorded, half_width):
    """σ = ν √f of the sensor that reads; a filter leaves about as much of it at any rate."""
    _, recording, _ = recorded
    robot = dataclasses.replace(recording.rig.robot, filter=Filter(half_width=half_width))
    rig, still = dataclasses.replace(recording.rig, robot=robot), np.zeros((1, 3))
    stage, periods = RootStage(rig, Streams(robot)), [0.002, 0.008, 0.008, 0.001]
    array = stage.array

    def covariance(periods):
        noise = SampleNoise.of(robot, periods, rig.model.dof)
        return _root_covariance(stage, periods, still, noise, half_width)[0]

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
    _, recording, signals = recorded
    robot = dataclasses.replace(recording.rig.robot, filter=Filter(half_width=0.02))
    rig = dataclasses.replace(recording.rig, robot=robot)
    evaluator = Evaluator(rig, recording.groups, recording.periods)
    result = evaluate(evaluator, [signals])
    evaluator = Evaluator(rig, recording.groups)  # has seen no sample
    assert np.isnan(izmp_covariance(evaluator, result)).all()
