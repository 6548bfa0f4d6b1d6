"""Quadrupeds in MuJoCo: the IZMP is the true CoP, pushes are survived and reported."""

import numpy as np
import pytest

from izmp_dynamics.base.errors import MotionError, SimulationError, UnknownNameError
from izmp_dynamics.dynamics.mr_ad import MrAd
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.packages import find_in_package
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.stability.zmp import zero_moment_point
from izmp_dynamics.verdict.summary import summary_of
from izmp_lab.simulation.noisy_signals import SENSOR_NOISE, SensorErrors
from izmp_lab.simulation.quadruped import simulate_quadruped

from ..command_line import izmp
from ..raising import raising

pytestmark = pytest.mark.skipif(
    find_in_package('package://example-robot-data/robots/go2_description/urdf/go2.urdf') is None,
    reason='example-robot-data is not installed',
)

SENSORS = SensorErrors(imu_noise=SENSOR_NOISE['xsens_mti20'], encoder_bits=10)


@pytest.fixture(scope='module')
def trot(tmp_path_factory):
    """A Go2 that trots and is pushed with 60 N for 0.1 s: run and bag."""
    bag = tmp_path_factory.mktemp('trot') / 'bag'
    found = simulate_quadruped('go2', 'trot', bag, duration=5.0, pushes=['60:left:2.5'])
    return found, bag


def world(run, points, rows=slice(None)):
    """Points of the root frame, along the ground [m]."""
    root = run.truth.root
    placed = np.einsum('tij,tj->ti', root.rotation[rows], points) + root.position[rows]
    return placed[:, :2]


def gaps(run, bag):
    """IZMP of differenced encoders to true CoP along the ground, but for the push [m]."""
    found = evaluate_bag(bag, bag / 'robot.yaml')
    rows = np.searchsorted(run.stamps, found.stamps)
    np.testing.assert_array_equal(run.stamps[rows], found.stamps)
    off = world(run, found.tracks['mr_ad'].point, rows) - run.truth.cop[rows, :2]
    off = off[~run.truth.applied_wrench[rows].any(axis=1)]
    return found, np.linalg.norm(off[np.isfinite(off[:, 0])], axis=1)


def test_on_the_exact_motion_the_izmp_of_a_trot_is_the_cop(trot):
    """But for the push, which is no force of the ground: 1e-6 mm."""
    (simulated, _), file = trot, trot[0].file
    run, root = simulated.run, simulated.run.truth.root
    model = load_model(file.read_urdf(), file.root)
    wrench, _ = MrAd(model).batch(*root.felt(file.gravity), run.q, run.truth.qd, run.truth.qdd)
    normal = root.rotation[:, 2, :]
    ground = -np.einsum('tji,tj->ti', root.rotation, root.position)
    izmp = zero_moment_point(wrench, normal, ground, 1.0)
    off = (izmp - run.truth.cop_in_root())[~run.truth.applied_wrench.any(axis=1)]
    assert np.isfinite(off).all()
    assert np.abs(off).max() < 1e-9


def test_a_pushed_trot_goes_on_and_the_push_is_reported(trot):
    simulated, bag = trot
    run = simulated.run
    run.require_standing()
    assert run.truth.root.position[-1, 0] > 0.35
    carrying = np.sum([foot.loaded for foot in run.truth.feet.values()], axis=0)
    assert (carrying == 2).mean() > 0.4
    found, gap = gaps(run, bag)
    assert gap.mean() < 0.8e-3
    (push,) = summary_of(found).pushes
    assert push.force == pytest.approx([0.0, 60.0, 0.0], abs=9.0)
    assert push.start == pytest.approx(2.5, abs=0.02)
    assert push.duration == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    ('gait', 'duration', 'most'), [('stand', 2.5, 1e-5), ('crawl', 7.5, 3e-4)]
)
def test_a_quadruped_that_stands_or_crawls_is_stable(tmp_path, gait, duration, most):
    bag = tmp_path / 'bag'
    outcome = izmp('simulate', 'quadruped', '--gait', gait, '--duration', duration, '-o', bag)
    assert (outcome.status, outcome.err) == (0, '')
    assert str(bag / 'robot.yaml') in outcome.out
    run = simulate_quadruped('go2', gait, duration=duration).run
    found, gap = gaps(run, bag)
    assert gap.mean() < most
    summary = summary_of(found)
    assert summary.verdict.state == 'stable', summary.verdict.text
    assert summary.measured_over_weight == pytest.approx(1.0, abs=2e-3)
    assert np.nanmin(found.tracks['mr_ad'].margin) > 0.030
    lifted = [name for name, foot in run.truth.feet.items() if not foot.loaded.all()]
    assert len(lifted) == (4 if gait == 'crawl' else 0)


def test_sensors_have_the_errors_that_are_asked_for(tmp_path):
    ideal, coarse = (
        simulate_quadruped('solo12', 'stand', duration=2.0, errors=errors).run
        for errors in (None, SENSORS)
    )
    step = 2.0 * np.pi / 2**10
    np.testing.assert_allclose(coarse.q / step, np.round(coarse.q / step), atol=1e-9)
    assert 0.0 < np.abs(coarse.q - ideal.q).max() <= 0.5 * step + 1e-12
    assert np.std(coarse.imu.specific_force - ideal.imu.specific_force) > 1e-3


def test_what_cannot_be_is_refused_in_one_sentence(tmp_path):
    with raising(SimulationError, 'not_a_quadruped'):
        simulate_quadruped('biped31', 'trot')
    with raising(UnknownNameError, 'unknown_name', name='gallop'):
        simulate_quadruped('go2', 'gallop')
    with raising(MotionError, 'gait', quantity='speed'):
        simulate_quadruped('go2', 'trot', speed=9.0)
    with raising(MotionError, 'gait', quantity='duration'):
        simulate_quadruped('go2', 'crawl', duration=3.0)
