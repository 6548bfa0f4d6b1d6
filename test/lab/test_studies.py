"""The bench of the studies: sampling, ideal sensors, noise, setups; experiment files."""

import dataclasses

import numpy as np
import pytest

from izmp_dynamics.base.errors import RobotFileError, SensingError, SimulationError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.pipeline.rig import make_rig
from izmp_dynamics.sensing.acd import ActuatorDifferentiator
from izmp_dynamics.signals.differences import backward_quotient
from izmp_lab.studies.paper.bench import Bench, Sampled
from izmp_lab.studies.paper.ideal_sensors import full_step
from izmp_lab.studies.paper.sensors import (
    Densities,
    RootSensors,
    SampledRows,
    gyro_state,
    joint_state,
    root_velocity,
)
from izmp_lab.studies.paper.study import Experiment, PaperStudy, load_experiment
from izmp_lab.studies.paper.trial import (
    PAPER_SETUPS,
    SETUP_D,
    Setup,
    WalkCase,
    simulate_trial,
)

from ..raising import raising
from .walking import FILE


@pytest.fixture(scope='module')
def trial():
    return simulate_trial(FILE, WalkCase(steps=6))


@pytest.fixture(scope='module')
def bench():
    return Bench(FILE)


@pytest.fixture(scope='module')
def ground(bench, trial):
    return bench.ground(trial)


@pytest.mark.parametrize('phase', range(4))
@pytest.mark.parametrize(
    ('actuator', 'bus'), [(500, 125), (125, 125), (500, 500), (250, 125), (62.5, 62.5)]
)
def test_the_bus_sees_every_nth_sample_of_the_actuators(trial, actuator, bus, phase):
    samples = SampledRows.of(trial, Setup('', actuator=actuator, bus=bus), phase)
    assert phase in samples.rows
    assert set(samples.rows) <= set(samples.actuator)
    assert (np.diff(samples.actuator) == 500 / actuator).all()
    assert (np.diff(samples.rows) == 500 / bus).all()


def test_a_rate_that_the_simulation_does_not_have_is_a_sentence(trial):
    with raising(
        SimulationError, 'rate_divides_not', rate=200.0, simulation_rate=pytest.approx(500.0)
    ):
        trial.stride(200.0)


def test_ideal_accelerometers_are_those_of_the_simulation(trial, bench):
    """The sensors derived from the truth and MuJoCo's own sensors are the same."""
    from izmp_lab.simulation.mujoco.model import build_mujoco
    from izmp_lab.simulation.mujoco.plant import simulate
    from izmp_lab.walking.walk import plan_walk
    from izmp_lab.walking.walk_parameters import WalkParameters

    from .walking import biped31

    walk = plan_walk(biped31(), WalkParameters(steps=6))
    run = simulate(walk.plan, build_mujoco(FILE))
    rows = np.arange(len(trial))
    measured = [run.imu.specific_force, *run.accelerometers.values()]
    for sensor, values in zip(bench.sensors.accelerometers, measured, strict=True):
        np.testing.assert_allclose(bench.sensors.readings(trial, sensor, rows), values, atol=1e-8)


def test_an_averaging_accelerometer_reports_the_mean_of_its_interval(trial, bench):
    """Against the mean of instantaneous readings, in the limit of a root that hardly turns."""
    sensor, stride = bench.sensors.imu, 4
    instant = bench.sensors.readings(trial, sensor, np.arange(len(trial)))
    rows = np.arange(0, len(trial), stride)
    averaged = bench.sensors.readings(trial, sensor, rows, averaged=True)
    mean = np.array([instant[row - stride : row].mean(axis=0) for row in rows[1:]])
    assert np.isnan(averaged[0]).all()
    assert np.abs(averaged[1:] - mean).max() < 0.15
    assert np.abs((averaged[1:] - mean).mean(axis=0)).max() < 2e-3


@pytest.mark.parametrize('setup', PAPER_SETUPS, ids=lambda setup: setup.name)
def test_aligned_quotients_are_closer_to_the_truth(trial, bench, ground, setup):
    exact = bench.point(bench.exact_wrench(trial), ground, slice(None))
    errors = []
    for chosen in (setup, setup.aligned()):
        rows, points = bench.izmp(trial, ground, chosen)
        steady = trial.steady()[rows]
        errors.append(np.abs(points - exact[rows])[steady, :2].mean())
    assert errors[1] < errors[0]


@pytest.mark.parametrize('convention', ['paper', 'aligned'])
def test_the_quotients_are_those_of_the_robot_files_setting(trial, bench, convention):
    """q = t³, where the quotients of both settings differ from each other and from 6 t."""
    setup = Setup('', actuator=500.0, bus=500.0, convention=convention)
    count, h = 40, 0.002
    stamps = 2_000_000 * np.arange(1, count + 1)
    q = np.tile((h * np.arange(count))[:, None] ** 3, 2)
    acd = ActuatorDifferentiator(['a', 'b'], h, method=setup.quotient, acceleration_limit=None)
    expected = acd.batch(stamps, q)
    found = joint_state(setup, stamps, q)
    np.testing.assert_array_equal(found.qd[1:-1], expected.velocities)
    np.testing.assert_array_equal(found.qdd[1:-1], expected.accelerations)
    np.testing.assert_allclose(found.qdd[20], 6.0 * 20 * h, rtol=1e-9)
    moving = dataclasses.replace(
        trial, stamps=stamps, q=np.zeros((count, bench.model.dof)) + q[:, :1]
    )
    on_bus = Sampled(bench, moving, setup, SampledRows.of(moving, setup)).joints()
    late = {'paper': 1, 'aligned': 0}[convention]
    np.testing.assert_array_equal(on_bus.q[:, :2], q)
    np.testing.assert_array_equal(on_bus.qd[5:30, :2], expected.velocities[4:29])
    np.testing.assert_array_equal(
        on_bus.qdd[5:30, :2], expected.accelerations[4 - late : 29 - late]
    )


def test_the_gyroscope_is_differenced_as_by_its_stage(bench):
    setup = Setup('', angular_acceleration='gyro', step='actuator')
    stamps = 2_000_000 * np.arange(1, 41)
    omega = np.tile((0.002 * np.arange(40))[:, None] ** 3, 3)
    force = np.ones((40, 3))
    state = gyro_state(setup, np.zeros(3), stamps, omega, force)
    alpha, valid = backward_quotient(stamps, omega)
    np.testing.assert_array_equal(state.angular_acceleration[valid], alpha[valid])
    np.testing.assert_array_equal(
        root_velocity(setup, stamps, omega, np.tile(np.eye(3), (40, 1, 1)))[valid], alpha[valid]
    )
    assert np.isnan(state.angular_acceleration[~valid]).all()


def test_ideal_d_is_its_reference_at_the_ticks_of_the_bus(trial, bench, ground):
    rows, points = bench.izmp(trial, ground, SETUP_D)
    everywhere, reference = bench.izmp(trial, ground, SETUP_D.reference())
    np.testing.assert_array_equal(everywhere[rows], rows)
    np.testing.assert_array_equal(points, reference[rows])


@pytest.mark.parametrize('setup', PAPER_SETUPS, ids=lambda setup: setup.name)
def test_noise_depends_on_the_seed_and_vanishes_with_the_density(trial, bench, ground, setup):
    def points(density, seed):
        return bench.izmp(trial, ground, setup, Densities(density, density / 6000.0), seed)[1]

    np.testing.assert_array_equal(points(60.0, 3), points(60.0, 3))
    assert np.nanmax(np.abs(points(60.0, 3) - points(60.0, 4))) > 1e-5
    _, ideal = bench.izmp(trial, ground, setup)
    np.testing.assert_allclose(points(1e-6, 3), ideal, atol=1e-6)


def test_a_robot_without_accelerometers_is_a_sentence():
    with raising(SensingError, 'no_accelerometers'):
        RootSensors.of(make_rig(dataclasses.replace(FILE, accelerometers=())))


def test_the_steps_that_are_left_out(trial):
    begins, used = trial.step_begins, trial.times[trial.steady()]
    assert used[0] == pytest.approx(begins[2])
    assert used[-1] == pytest.approx(begins[-3] - 0.002)
    short = dataclasses.replace(trial, step_begins=begins[:5])
    with raising(SimulationError, 'walk_too_short', steps=4):
        short.steady()


def test_the_full_step_begins_on_the_right_foot():
    begins = 1.5 + 0.448 * np.arange(21)
    start, stop = full_step(begins)
    assert stop - start == pytest.approx(0.896)
    assert round((start - 1.5) / 0.448) % 2 == 1


def test_the_example_experiment_is_the_default():
    example = load_experiment(find_resource('config/paper_experiment.yaml'))
    assert dataclasses.replace(example, path=None) == Experiment()


def test_the_setup_of_the_example_can_be_read(tmp_path):
    lines = find_resource('config/paper_experiment.yaml').read_text().splitlines()
    start = lines.index('# setups:')
    path = tmp_path / 'experiment.yaml'
    path.write_text('\n'.join(line.removeprefix('# ') for line in lines[start:]))
    (own,) = load_experiment(path).setups
    assert own == Setup('mine', actuator=250.0, convention='aligned')


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('', 'is empty'),
        ('seeds: 1', r'seeds is 1; valid: 2 to 10000'),
        ('steps: 5', r'steps is 5; valid: 6'),
        ('sedes: 3', "unknown key 'sedes'.*Did you mean 'seeds'"),
        ('setups: [{name: a, bus: 130}]', '130 Hz does not divide 500 Hz'),
        ('setups: [{name: a}, {name: a}]', "two setups are called 'a'"),
        ('setups: [{name: A}]', "'A' is a setup of the paper"),
        ('noise: {accelerometer: none}', 'noise.accelerometer must be a number'),
        ('seeds: [', 'experiment.yaml'),
        ('robot: nobody.yaml', r'nobody\.yaml'),
    ],
)
def test_a_bad_experiment_file_is_a_sentence(tmp_path, text, sentence):
    path = tmp_path / 'experiment.yaml'
    path.write_text(text)
    with pytest.raises(RobotFileError, match=sentence):
        PaperStudy.of(load_experiment(path))
