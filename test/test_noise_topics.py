"""Noisy copies of sensor signals: their statistics, their seeds, and the topics they go to."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import SensingError, SimulationError, UnknownNameError
from izmp_dynamics.evaluate import replay
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.sensing.noise import XSENS_ACCELEROMETER
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import simulate
from izmp_lab.simulation.noisy_signals import XSENS_GYROSCOPE, add_noise, sensor_noise
from izmp_lab.simulation.recording import record

from .bag_columns import messages, points, xyz
from .lab.walking import ROBOT_FILE, planned
from .raising import raising

FILE = load_robot_file(ROBOT_FILE)
NOISY_FILE = load_robot_file(ROBOT_FILE.with_name('robot_noisy.yaml'))
XSENS = sensor_noise('xsens_mti20')
RATE = 500.0


@pytest.fixture(scope='module')
def run():
    return simulate(planned(steps=6).plan, build_mujoco(FILE))


@pytest.fixture(scope='module')
def noisy(run):
    return add_noise(run, FILE, XSENS, seed=3)


@pytest.fixture(scope='module')
def bag(run, noisy, tmp_path_factory):
    path = tmp_path_factory.mktemp('noise') / 'bag'
    record(run, FILE, path, noisy=noisy)
    return path


def differences(run, noisy):
    """Signal → (noise (T, 3), standard deviation it should have)."""
    acceleration, rate = XSENS_ACCELEROMETER * np.sqrt(RATE), XSENS_GYROSCOPE * np.sqrt(RATE)
    found = {
        'gyroscope': (noisy.imu.angular_velocity - run.imu.angular_velocity, rate),
        'accelerometer': (noisy.imu.specific_force - run.imu.specific_force, acceleration),
    }
    for topic, signal in noisy.accelerometers.items():
        found[topic] = (signal - run.accelerometers[topic], acceleration)
    velocity = np.diff(noisy.position - run.position, axis=0) * RATE
    return found | {'velocity': (velocity, acceleration)}


def test_each_signal_has_white_noise_of_the_papers_deviation(run, noisy):
    """σ = ν √f; mean 0; no correlation from sample to sample, between axes or signals."""
    signals = differences(run, noisy)
    assert len(signals) == 6
    for noise, sigma in signals.values():
        count = noise.size
        assert abs(noise.mean()) < 4.0 * sigma / np.sqrt(count)
        assert noise.std() == pytest.approx(sigma, rel=4.0 / np.sqrt(2.0 * count))
    columns = np.hstack([noise[: len(run) - 1] for noise, _ in signals.values()])
    together = np.corrcoef(np.hstack([columns[1:], columns[:-1]]).T)
    off_diagonal = together - np.diag(np.diag(together))
    assert np.abs(off_diagonal).max() < 5.0 / np.sqrt(len(run))


def test_what_the_paper_leaves_ideal_is_ideal(run, noisy):
    assert np.array_equal(noisy.imu.orientation_xyzw, run.imu.orientation_xyzw)
    assert (noisy.position[0] != run.position[0]).all()
    assert np.abs(noisy.position - run.position).max() < 0.01


def test_bad_noise_is_refused(run):
    with raising(UnknownNameError, 'unknown_name', name='xsens', valid=('xsens_mti20',)):
        sensor_noise('xsens')
    with raising(SensingError, 'seed', seed=-1):
        add_noise(run, FILE, XSENS, -1)
    single = dataclasses.replace(run, stamps=run.stamps[:1])
    with raising(SimulationError, 'no_sample_rate', samples=1):
        add_noise(single, FILE, XSENS, 0)


def test_ideal_and_noisy_signals_are_both_recorded(bag, run, noisy):
    with BagReader(bag) as reader:
        names = set(reader.topics)
        assert reader.custom_data['noise'] == 'xsens_mti20'
        assert reader.custom_data['seed'] == '3'
        for topic in ('imu', 'gps', *(sensor.topic for sensor in FILE.accelerometers)):
            ideal, copy = reader.topics[f'/{topic}'], reader.topics[f'/noisy/{topic}']
            assert (copy.msgtype, copy.count) == (ideal.msgtype, ideal.count)
        assert {name for name in names if name.startswith('/noisy/')} == {
            '/noisy/imu', '/noisy/gps', '/noisy/accelerometers/accelerometer_1',
            '/noisy/accelerometers/accelerometer_2', '/noisy/accelerometers/accelerometer_3',
        }  # fmt: skip
        for topic, signals, sigma in (
            ('/imu', run, (0.0, 0.0)),
            ('/noisy/imu', noisy, (noisy.sigma_angular_velocity, noisy.sigma_acceleration)),
        ):
            message = messages(bag, topic)[0]
            for field, value, deviation in zip(
                ('angular_velocity', 'linear_acceleration'),
                (signals.imu.angular_velocity, signals.imu.specific_force),
                sigma,
                strict=True,
            ):
                assert xyz(getattr(message, field)) == value[0].tolist()
                covariance = getattr(message, f'{field}_covariance').reshape(3, 3)
                assert covariance == pytest.approx(deviation**2 * np.eye(3), rel=1e-12)


def test_the_robot_file_chooses_between_ideal_and_noisy(bag, tmp_path):
    """The same bag, two robot files: the noise shows in the IZMP by millimetres."""
    ideal = replay(bag, FILE, tmp_path / 'ideal')
    noisy = replay(bag, NOISY_FILE, tmp_path / 'noisy')
    (_, without), (_, with_noise) = (
        points(result.bag, '/mr_ad/izmp') for result in (ideal, noisy)
    )
    error = np.abs(with_noise - without)[5:-5, :2]
    assert 1e-4 < error.mean() < 0.01


def test_noisy_and_ideal_robot_files_differ_in_topics_only():
    def without_topics(file):
        return dataclasses.replace(
            file,
            path=None,
            imu=dataclasses.replace(file.imu, topic=file.imu.topic.removeprefix('noisy/')),
            position=dataclasses.replace(
                file.position, topic=file.position.topic.removeprefix('noisy/')
            ),
            accelerometers=tuple(
                dataclasses.replace(sensor, topic=sensor.topic.removeprefix('noisy/'))
                for sensor in file.accelerometers
            ),
        )

    assert without_topics(NOISY_FILE) == without_topics(FILE)
    assert NOISY_FILE != FILE
