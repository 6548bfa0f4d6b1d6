"""Which filter a recording gets, from its own noise: in check, in replay and in the robot file."""

import argparse
import dataclasses

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.check import check
from izmp_dynamics.cli.replay import _filter as option
from izmp_dynamics.diagnosis.filter_choice import Trial, propose_filter
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.method import Filter
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.recording.recording import Recording
from izmp_dynamics.sensing.noise import noise_floor

from .bag_surgery import ARRAY, IMU, JOINTS
from .raising import raising

STEP = 2.0 * np.pi / 2**14


def coarse(draft, robot):
    """Encoders of 14 bits: the IZMP scatters by decimetres."""
    draft[JOINTS]['position'] = np.round(draft[JOINTS]['position'] / STEP) * STEP


@pytest.fixture(scope='module')
def rough(sound, robot_content, sound_points, tmp_path_factory):
    """A desk with such a recording, replayed without any option."""
    from .command_line import Desk

    draft = sound.copy()
    coarse(draft, None)
    desk = Desk(tmp_path_factory.mktemp('rough'), draft, robot_content)
    return desk, desk.replay()


def half_width(desk):
    stated, unit = desk.report()['parameters']['filter.half_width'].split()
    assert unit == 's'
    return float(stated)


def test_replay_chooses_a_filter_and_says_which(rough, sound_points):
    desk, outcome = rough
    assert outcome.status == 0
    chosen = half_width(desk)
    assert 0.004 <= chosen <= 0.04
    assert f'half-width {1e3 * chosen:.0f} ms (bandwidth ' in outcome.out
    izmp = desk.points()['/mr_ad/izmp']
    gaps = [np.subtract(izmp[s], p) for s, p in sound_points['/mr_ad/izmp'].items() if s in izmp]
    assert len(gaps) > 0.9 * len(sound_points['/mr_ad/izmp'])
    assert np.sqrt(np.mean(np.square(gaps)[:, :2], axis=0)).max() <= 0.005  # as was promised


def test_the_option_filter():
    assert option('none') == {'method': 'none'}
    assert option('auto') == {'method': 'auto'}
    assert option('0.03') == {'method': 'matched', 'half_width': 0.03}
    for wrong in ('30 ms', '30', '-0.01', 'nan', 'off'):
        with pytest.raises(argparse.ArgumentTypeError, match='neither auto, none nor'):
            option(wrong)


def test_replay_can_be_told_not_to_filter(rough):
    desk, _ = rough
    results, desk.results = desk.results, desk.folder / 'unfiltered'
    outcome = desk.replay('--filter', 'none')
    parameters = desk.report()['parameters']
    desk.results = results
    assert outcome.status == 0
    assert parameters['filter.half_width'] == 'not given'
    assert 'filter.chosen' not in parameters


def test_check_proposes_the_half_width_that_replay_takes(rough):
    desk, _ = rough
    (found,) = (
        f for f in check(desk.bag, load_robot_file(desk.robot)).findings if f.kind == 'filter'
    )
    assert f'{1e3 * half_width(desk):.0f} ms' in found.sentence
    assert f'half_width: {half_width(desk):.4g}' in found.remedy


def test_a_larger_scatter_is_had_with_a_shorter_half_width(rough):
    desk, _ = rough
    robot = load_robot_file(desk.robot)
    model = load_model(robot.urdf_path, robot.root)
    files = (dataclasses.replace(robot, filter=Filter(scatter=s)) for s in (0.001, 0.05))
    with BagReader(desk.bag) as bag:
        strict, loose = (propose_filter(Trial(Recording(bag, file, model))) for file in files)
    assert strict.half_width > loose.half_width
    assert strict.scatter <= 0.001
    assert loose.scatter <= 0.05 < loose.unfiltered


def test_filter_in_the_robot_file():
    assert RobotFile('x.urdf').filter.method == 'auto'
    with raising(RobotFileError, 'missing_key', keys=('filter.half_width',)):
        Filter(method='matched')
    with raising(RobotFileError, 'key_without_effect', key='filter.half_width'):
        Filter(method='none', half_width=0.02)


def test_a_half_width_below_the_period_is_refused(corrupted):
    def short(draft, robot):
        robot['filter'] = {'half_width': 0.001}

    outcome = corrupted(short).replay()
    assert outcome.status == 1
    assert "shorter than the time between the messages of 'joints', 2 ms" in outcome.err


def test_noise_that_cannot_be_measured_is_no_silence(rough, monkeypatch):
    desk, _ = rough
    monkeypatch.setattr(
        'izmp_dynamics.diagnosis.filter_choice.noise_floor',
        lambda _, v: np.full(v.shape[1], np.nan),
    )
    robot = load_robot_file(desk.robot)
    evaluation = evaluate_bag(desk.bag, robot)
    said = evaluation.parameters['filter.chosen']
    assert 'No filter was chosen' in said
    assert 'joints and imu' in said
    assert said in evaluation.notes


def test_motion_at_60_hz_is_no_noise():
    """A joint of a walking human: four multiples of the step frequency, up to 12 Hz."""
    sigma = 1e-4
    stamps = np.round(1e9 / 60.0 * np.arange(1200)).astype(np.int64)
    phase = 2.0 * np.pi * 1e-9 * np.outer(stamps, [2.0, 4.0, 8.0, 12.0])
    angles = np.sin(phase) @ [0.3, 0.1, 0.02, 0.005]
    noise = np.random.default_rng(0).normal(0.0, sigma, len(angles))
    (found,) = noise_floor(stamps, (angles + noise)[:, None])
    assert found == pytest.approx(sigma, rel=0.2)


def test_a_filter_that_cannot_reach_its_aim_stops_where_it_costs_more_than_it_brings(rough):
    desk, _ = rough
    filtering = Filter(scatter=1e-6)
    robot = dataclasses.replace(load_robot_file(desk.robot), filter=filtering)
    with BagReader(desk.bag) as bag:
        recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
        choice = propose_filter(Trial(recording))
    assert choice.half_width < 0.1
    assert 0.2 * choice.scatter < choice.cut < 5.0 * choice.scatter
    assert 'RMS) from the CoP, noise included' in choice.text
    assert 'out of reach, as a longer one removes more of the CoP than of the noise' in choice.text


def test_a_filter_does_not_hide_that_a_robot_flies(sound, rough, tmp_path):
    """In flight accelerometers measure nothing; the noise is the same, and no CoP is known."""
    robot = load_robot_file(rough[0].robot)
    feet = tuple(dataclasses.replace(foot, wrench=None) for foot in robot.feet)
    robot = dataclasses.replace(robot, feet=feet, filter=Filter(scatter=1e-6))
    choices = []
    for name in ('stands', 'jumps'):
        draft = sound.copy()
        coarse(draft, None)
        if name == 'jumps':
            for topic in (IMU, *ARRAY):
                draft[topic]['linear_acceleration'][400:600] *= 0.01
        with BagReader(draft.write(tmp_path / name)) as bag:
            recording = Recording(bag, robot, load_model(robot.urdf_path, robot.root))
            choices.append(propose_filter(Trial(recording)))
    stands, jumps = choices
    assert stands.half_width > 0.2
    assert jumps.half_width <= 0.05
    assert 'out of reach, as a longer one hides flights' in jumps.text
