"""`simulate_walk` and `izmp simulate walk`: the recording of a walk, its accuracy, and falls."""

import filecmp

import numpy as np
import pytest

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import BagError, SimulationError, UnknownNameError
from izmp_dynamics.cli.main import main
from izmp_dynamics.evaluate import evaluate_bag
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import AnkleFeedback, simulate
from izmp_lab.simulation.noisy_signals import sensor_noise
from izmp_lab.simulation.physics import Physics, Shove
from izmp_lab.simulation.scenarios import simulate_walk
from izmp_lab.simulation.terrain import Flat, Slope, Uneven
from izmp_lab.walking.walk_parameters import WalkParameters

from ..bag_columns import points
from ..raising import raising
from .walking import FILE, ROBOT_FILE, SLOPE_10_DEG, planned

SHORT = WalkParameters(steps=2, stand=0.5)
WALKS = {
    'level': WalkParameters(steps=10, stand=1.0),
    'slope': WalkParameters(steps=10, stand=1.0, slope=SLOPE_10_DEG),
}


@pytest.fixture(scope='module', params=WALKS)
def recorded(request, tmp_path_factory):
    """A walk, its recording, and the recording evaluated."""
    folder = tmp_path_factory.mktemp(request.param)
    walk = simulate_walk(FILE, folder / 'bag', parameters=WALKS[request.param])
    return walk, folder / 'bag', evaluate_bag(folder / 'bag', FILE)


def test_the_walk_goes_as_planned(recorded):
    walk, _, _ = recorded
    walk.run.require_standing()
    assert walk.run.truth.root.position[-1, 0] > 1.0
    assert np.abs(walk.off_course).max() <= 0.010
    assert (walk.cop_rms <= 0.015).all()
    ramp = walk.planned.ramp
    assert walk.terrain == (Slope(ramp) if ramp.slope else Flat())


def test_izmp_of_the_recording_is_the_true_cop(recorded):
    """ACD at 500 Hz, bus at 125 Hz, aligned stamps: 1 mm in the mean, 3 mm at most.

    On the slope both lie in its plane; while the feet stand on two planes, the replay takes that
    of one foot and the truth one between them, so the points differ.
    """
    walk, bag, evaluation = recorded
    izmp = evaluation.tracks['mr_ad']
    true_stamps, cop = points(bag, '/ground_truth/cop')
    common, rows, true_rows = np.intersect1d(
        evaluation.stamps[izmp.valid], true_stamps, return_indices=True
    )
    assert len(common) > 0.98 * 125 * walk.planned.plan.duration
    pitch = np.arcsin(-walk.run.truth.ground_normal[true_rows, 0])
    one_plane = (pitch < 1e-6) | (pitch > walk.planned.ramp.slope - 1e-6)
    assert one_plane.mean() > 0.95
    error = np.linalg.norm(izmp.point[izmp.valid][rows] - cop[true_rows], axis=1)[one_plane]
    assert error.mean() <= 0.001
    assert error.max() <= 0.003


def test_gap_to_the_measured_cop_stays_in_its_band(recorded):
    """Both on the same plane, whatever the ground: 1 mm in the mean, 3 mm at most."""
    tracks = recorded[2].tracks
    distance = np.linalg.norm(tracks['mr_ad'].point - tracks['cop'].point, axis=1)
    distance = distance[np.isfinite(distance)]
    assert len(distance) > 500
    assert distance.mean() <= 0.001
    assert distance.max() <= 0.003


def test_two_runs_with_the_same_seed_give_bit_identical_bags(tmp_path):
    everything = {
        'parameters': SHORT,
        'terrain': Uneven(5),
        'noise': sensor_noise('xsens_mti20'),
        'pushes': [Shove(20.0, 'left', 0.7)],
        'feedback': AnkleFeedback(),
    }
    for name, seed in (('a', 7), ('b', 7), ('c', 8)):
        simulate_walk(FILE, tmp_path / name / 'bag', seed=seed, **everything)
    names = sorted(path.name for path in (tmp_path / 'a' / 'bag').iterdir())
    assert len(names) == 2
    for other, same in (('b', names), ('c', [])):
        found, _, _ = filecmp.cmpfiles(
            tmp_path / 'a' / 'bag', tmp_path / other / 'bag', names, shallow=False
        )
        assert sorted(found) == same


@pytest.mark.parametrize('rate', [0.0, -500.0, np.nan, np.inf, 99.0, 333.0, 20_000.0])
def test_a_physics_rate_that_cannot_be_is_refused(rate):
    with raising(SimulationError, 'physics_rate'):
        Physics.at_rate(rate)


def test_a_turn_is_off_course_against_its_own_heading():
    """The walk ends facing left: 'ahead' is along y of the world."""
    parameters = WalkParameters(speed=0.2, steps=8, turn_rate=0.5)
    walk = simulate_walk(FILE, parameters=parameters)
    walk.run.require_standing()
    end, plan = walk.run.truth.root, walk.planned.plan.root
    heading = np.arctan2(plan.rotation[-1, 1, 0], plan.rotation[-1, 0, 0])
    assert heading > 1.2
    off = end.position[-1] - plan.position[-1]
    ahead, left, up = walk.off_course
    c, s = np.cos(heading), np.sin(heading)
    assert [ahead, left] == pytest.approx([c * off[0] + s * off[1], c * off[1] - s * off[0]])
    assert up == pytest.approx(off[2])
    assert abs(left) <= 0.010


def test_the_plan_must_not_leave_the_uneven_ground():
    with raising(SimulationError, 'leaves_terrain', half_size=1.5):
        simulate_walk(FILE, parameters=WALKS['level'], terrain=Uneven(0, half_size=1.5))


def test_ankle_feedback_survives_pushes_that_throw_the_robot_without():
    plan, plant = planned(steps=10).plan, build_mujoco(FILE)
    pushes = [
        Shove(force, direction, start).push(plan)
        for force, direction, start in ((70.0, 'left', 3.0), (80.0, 'forward', 3.2))
    ]
    for how, falls in ((None, True), (AnkleFeedback(), False)):
        for push in pushes:
            assert bool(simulate(plan, plant, pushes=[push], feedback=how).fall) == falls


def test_ankle_feedback_leaves_an_undisturbed_walk_as_it_is():
    walk = simulate_walk(FILE, parameters=WALKS['level'], feedback=AnkleFeedback())
    walk.run.require_standing()
    assert (walk.cop_rms <= 0.015).all()
    assert np.abs(walk.off_course[1]) <= 0.010


# On the command line


def simulate_by_command(bag, *options):
    return main(['simulate', 'walk', '--steps', '2', *options, '-o', str(bag)])


def test_command_records_and_tells(tmp_path, capsys):
    bag = tmp_path / 'bag'
    options = ('--noise', 'xsens_mti20', '--seed', '3', '--sensor-rate', '250', '--turn', '0.1')
    assert simulate_by_command(bag, *options) == 0
    said = capsys.readouterr()
    assert 'Walk:    2 steps at 0.3 m/s' in said.out
    assert 'RMS from the planned ZMP' in said.out
    assert str(bag) in said.out
    with BagReader(bag) as reader:
        assert reader.custom_data['motion'] == 'walk'
        assert reader.custom_data['fell'] == 'no'
        assert reader.custom_data['seed'] == '3'
        assert reader.topics['/imu'].count == reader.topics['/noisy/imu'].count


def test_command_walks_with_another_robot(tmp_path):
    """It has other legs and no arms."""
    itu_biped = ROBOT_FILE.parents[1] / 'itu_biped' / 'robot.yaml'
    options = ('--robot', str(itu_biped), '--speed', '0.1', '--com-height', '0.45', '--quiet')
    assert simulate_by_command(tmp_path / 'bag', *options) == 0
    with BagReader(tmp_path / 'bag') as reader:
        assert reader.custom_data['robot'] == 'itu_biped'


def test_command_after_a_fall_keeps_and_marks_the_bag(tmp_path, capsys):
    bag = tmp_path / 'bag'
    assert simulate_by_command(bag, '--push', '150:left:2.0:0.2', '--quiet') == 1
    said = capsys.readouterr()
    assert not said.out
    assert 'The robot fell at' in said.err
    assert 'kept and marked' in said.err
    with BagReader(bag) as reader:
        assert reader.custom_data['fell'] == 'yes'
        assert 'The robot fell at' in reader.custom_data['fall']


@pytest.mark.parametrize(
    ('options', 'words'),
    [
        (('--speed', '0.9'), "joint 'l_knee' would stretch"),
        (('--slope-deg', '10', '--uneven', '1'), '--slope-deg'),
        (('--uneven', '-1'), 'seed of 0 or more'),
        (('--sensor-rate', '300'), 'does not divide'),
        (('--friction', '0'), 'friction must be above 0'),
        (('--noise', 'bosch'), 'valid: xsens_mti20'),
        (('--noise', 'xsens_mti20', '--seed', '-1'), 'seed of the noise'),
        (('--push', '40:sideways:3'), 'valid: forward, back, left'),
        (('--push', '-40:left:3'), 'above zero, not -40 N'),
        (('--segments', ''), "no link ''"),
        (('--push', '40:left:2', '--push-on', 'tail'), "no frame 'tail'"),
        (('--robot', str(ROBOT_FILE.with_name('robot_noisy.yaml'))), 'noisy copies'),
    ],
    ids=str,
)
def test_command_refuses_in_a_sentence_and_leaves_nothing(tmp_path, capsys, options, words):
    assert simulate_by_command(tmp_path / 'bag', *options) == 1
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith('izmp: error: ')
    assert said.count('\n') == 1
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_recorded_is_refused_before_the_walk(tmp_path, monkeypatch):
    def simulated(*args, **options):
        raise AssertionError('this takes the user a minute')

    monkeypatch.setattr('izmp_lab.simulation.scenarios.simulate', simulated)
    (tmp_path / 'taken').mkdir()
    (tmp_path / 'taken' / 'thesis.txt').touch()
    with pytest.raises(BagError):
        simulate_walk(FILE, tmp_path / 'taken', parameters=SHORT)
    with pytest.raises(UnknownNameError):
        simulate_walk(FILE, tmp_path / 'bag', parameters=SHORT, storage='tape')
