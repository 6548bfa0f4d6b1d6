"""`izmp experiments real`: which recordings are found, and their page."""

import re
import shutil

import numpy as np
import pytest
import yaml

from izmp_dynamics.cli.main import main
from izmp_lab.studies.publish import publish
from izmp_lab.studies.real import NOTHING, WINDOW, LogStudy, _liveliest, page

from ..bag_surgery import IMU
from ..conftest import REPOSITORY
from .walking import ROBOT_FILE

EXPERIMENT = ('experiments', 'real', '--jobs', '1')


@pytest.fixture(scope='module')
def logs(sound_bag, tmp_path_factory):
    """A folder with a recording, one without a robot file and one whose robot file is broken."""
    folder = tmp_path_factory.mktemp('logs')
    for name in ('one', 'bare', 'broken'):
        shutil.copytree(sound_bag, folder / name)
    for file in (ROBOT_FILE, ROBOT_FILE.with_name('biped31.urdf')):
        shutil.copy(file, folder / 'one' / file.name)
    (folder / 'broken' / 'robot.yaml').write_text('rooot: pelvis')
    return folder


def test_what_is_found_and_why_others_are_not(logs):
    found = LogStudy.of(logs)
    assert [log.name for log in found.found] == ['one']
    assert len(found.skipped) == 2
    assert 'bare' in found.skipped[0]
    assert 'has no robot*.yaml' in found.skipped[0]
    assert 'broken' in found.skipped[1]


def test_two_robot_files_are_two_evaluations(logs, tmp_path):
    shutil.copytree(logs / 'one', tmp_path / 'one')
    shutil.copy(tmp_path / 'one' / 'robot.yaml', tmp_path / 'one' / 'robot_foot.yaml')
    names = [log.name for log in LogStudy.of(tmp_path).found]
    assert names == ['one_robot', 'one_robot_foot']


def test_another_recording_is_another_run(logs, tmp_path):
    shutil.copytree(logs / 'one', tmp_path / 'one')
    (log,) = LogStudy.of(tmp_path).found
    study = LogStudy.of(tmp_path)
    before = study.evaluation(log, filtered=True).key()
    assert before != study.evaluation(log, filtered=False).key()
    with (tmp_path / 'one' / 'robot.yaml').open('a') as file:
        file.write('\n')
    assert study.evaluation(log, filtered=True).key() != before


def test_a_recording_makes_a_page(logs, tmp_path):
    study = LogStudy.of(logs)
    results = publish(page(study), study, tmp_path / 'out')
    (picture,) = results.pictures
    facts = {fact.key: fact for fact in picture.facts}
    assert facts['force'].holds
    assert facts['gap_raw'].value < 5.0  # the sway is simulated, its signals are exact
    text = results.page.read_text()
    assert 'has no robot*.yaml' in text.replace('\u00a0', ' ')
    assert (tmp_path / 'out' / 'one.png').is_file()


def test_one_robot_file_may_be_that_of_all_recordings(logs, tmp_path, capsys):
    shutil.copytree(logs / 'one', tmp_path / 'logs' / 'one')
    robot = tmp_path / 'logs' / 'one' / 'robot.yaml'
    robot = robot.rename(robot.with_name('mine.yaml'))  # beside its URDF
    command = [*EXPERIMENT, '--logs', str(tmp_path / 'logs'), '--quiet', '-o']
    assert main([*command, str(tmp_path / 'none')]) == 1
    assert 'has no robot*.yaml' in capsys.readouterr().out
    assert main([*command, str(tmp_path / 'out'), '--robot', str(robot)]) == 0
    assert (tmp_path / 'out' / 'one.png').is_file()


def test_a_recording_that_cannot_be_evaluated_is_a_row(sway, sound, robot_yaml, tmp_path, capsys):
    """Two without an instant; of one with a stamp years off, or seconds, there is a figure."""
    for name in ('bare', 'light', 'far', 'late'):
        draft, robot = sound.copy(), robot_yaml | {'ground': {}}
        if name == 'bare':
            draft.keep(IMU, draft[IMU].stamps < 0)
        elif name == 'light':
            robot['ground'] = {'minimum_force': 5000.0}
        else:
            draft[IMU].stamps[1] += 2**32 if name == 'late' else 2**59
        draft.write(tmp_path / 'logs' / name)
        (tmp_path / 'logs' / name / 'robot.yaml').write_text(yaml.safe_dump(robot))
    out = tmp_path / 'out'
    assert main([*EXPERIMENT, '-o', str(out), '--logs', str(tmp_path / 'logs')]) == 0
    said = capsys.readouterr().out
    assert re.search('bare: .*imu', said)
    assert 'light: MR-AD has an IZMP at no instant' in said
    assert 'bare' in (out / 'index.html').read_text()
    assert [path.stem for path in sorted(out.glob('*.png'))] == ['far', 'late']


def test_the_window_is_found_at_once_where_one_stamp_is_years_off():
    times = np.append(np.arange(0.0, 30.0, 0.01), 4e8)
    assert _liveliest(times, np.sin(times)) <= 30.0


def test_without_recordings_there_is_a_sentence(tmp_path, capsys):
    for options in ([], ['--logs', str(tmp_path)]):
        assert main(['experiments', 'real', '-o', str(tmp_path / 'out'), *options]) == 1
        assert NOTHING in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_the_window_is_where_y_moves_most():
    times = np.arange(0.0, 30.0, 0.01)
    y = np.where((times > 20.0) & (times < 22.0), np.sin(30.0 * times), 0.0)
    start = _liveliest(times, y)
    assert start <= 20.0
    assert start + WINDOW >= 22.0


def test_a_robot_file_of_the_examples_serves_a_recording_without_one(icub_walking):
    (log,) = LogStudy.of(icub_walking).found
    assert log.robot == REPOSITORY / 'examples' / 'icub_walking' / 'robot.yaml'
    assert log.urdf == icub_walking / 'robot.urdf'
