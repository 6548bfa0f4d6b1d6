"""The predicted covariance of a recording's IZMP against what noise does to it."""

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='the recording is simulated with MuJoCo')

from izmp_dynamics.replay.counts import Counts
from izmp_dynamics.replay.evaluator import Evaluator
from izmp_dynamics.replay.signals import Signals, Stream

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.replay.recording import Recording
from izmp_dynamics.sensing.noise import degrees, micro_g
from izmp_dynamics.studies.uncertainty import izmp_covariance


@pytest.fixture(scope='module')
def recorded(sway, biped31):
    with BagReader(sway[1]) as bag:
        recording = Recording(bag, biped31, load_model(biped31.urdf_path, biped31.root))
        spans = [signals for signals, _ in recording.spans(100.0)]
    whole = spans[0]
    for later in spans[1:]:
        whole = whole.followed_by(later)
    return recording, whole


def noisy(signals, random, rate):
    """Add white noise with the densities of the robot file to IMU and accelerometers."""
    force, gyro = micro_g(60.0) * np.sqrt(rate), degrees(0.01) * np.sqrt(rate)

    def added(stream, sigma):
        return Stream(
            stream.stamps, stream.values + random.normal(0.0, sigma, stream.values.shape)
        )

    return Signals(
        joints=signals.joints,
        imu=added(signals.imu, np.repeat([gyro, force], 3)),
        orientation=signals.orientation,
        accelerometers=tuple(added(stream, force) for stream in signals.accelerometers),
        position=signals.position,
        pose=signals.pose,
        wrenches=signals.wrenches,
    )


@pytest.mark.parametrize('method', ['accelerometers', 'gyro'])
def test_predicted_and_observed_sigma_of_a_recording(recorded, method):
    import dataclasses

    recording, signals = recorded
    chosen = dataclasses.replace(recording.rig.robot.angular_acceleration, method=method)
    robot = dataclasses.replace(recording.rig.robot, angular_acceleration=chosen)
    rig = dataclasses.replace(recording.rig, robot=robot)
    evaluator = Evaluator(rig, recording.groups, recording.periods, recording.origin)
    start = recording.origin + 10**9
    span = signals.between(start - 10**9, start + 3 * 10**9)
    counts = Counts(start, start + 2 * 10**9)
    result = evaluator.evaluate(span, counts)
    predicted = izmp_covariance(evaluator, result)
    random, rate = np.random.default_rng(7), 1.0 / recording.periods['imu']
    drawn = [
        evaluator.evaluate(noisy(span, random, rate), counts).points['mr_ad'] for _ in range(30)
    ]
    observed = np.var(drawn, axis=0, ddof=1)
    for axis in (0, 1):
        ratio = predicted[:, axis, axis].mean() / observed[:, axis].mean()
        assert np.sqrt(ratio) == pytest.approx(1.0, abs=0.1)
