"""The folder of a replay's results: complete or absent; other files stay."""

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.files.place import write_whole
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.urdf import read_urdf
from izmp_dynamics.results.files import file_hash, input_hashes, result_folder

from .raising import raising

# ruff: noqa: PT012 (the body of the `with` statement under test belongs inside `raises`)


RESULTS = ('report.json', 'report.html')


def fill(folder, text='new'):
    """Write what a replay writes."""
    for name in RESULTS:
        (folder / name).write_text(text)


def texts(folder):
    """File → its text."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def names(folder):
    """What lies in a folder, hidden files included."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize('overwrite', [False, True])
def test_what_comes_to_the_place_meanwhile_stays(tmp_path, overwrite):
    place = tmp_path / 'out'
    with (
        raising(ReplayError, 'not_a_result' if overwrite else 'place_taken') as caught,
        result_folder(place, overwrite) as folder,
    ):
        fill(folder)
        place.mkdir()
        (place / 'thesis.txt').write_text('mine')
    assert texts(place) == {'thesis.txt': 'mine'}
    kept = caught.value.data['kept']
    assert texts(kept) == dict.fromkeys(RESULTS, 'new')
    assert str(kept) in str(caught.value)
    assert names(tmp_path) == sorted(['out', kept.name])


def test_what_is_put_into_a_result_that_is_replaced_stays(tmp_path):
    place = tmp_path / 'out'
    with result_folder(place, overwrite=False) as folder:
        fill(folder, 'old')
    with (
        raising(ReplayError, 'foreign_file', name='notes.txt') as caught,
        result_folder(place, overwrite=True) as folder,
    ):
        fill(folder)
        (place / 'notes.txt').write_text('mine')
    assert texts(place) == dict.fromkeys(RESULTS, 'old') | {'notes.txt': 'mine'}
    assert texts(caught.value.data['kept']) == dict.fromkeys(RESULTS, 'new')


def test_what_comes_in_the_last_moment_stays(tmp_path, monkeypatch):
    """Between the last look at the place and the renaming."""
    place = tmp_path / 'out'
    with (
        raising(ReplayError, 'place_taken', path=place) as caught,
        result_folder(place, overwrite=False) as folder,
    ):
        fill(folder)
        rename = type(place).rename

        def late(source, target):
            if target == place:
                place.mkdir(exist_ok=True)
                (place / 'thesis.txt').write_text('mine')
            return rename(source, target)

        monkeypatch.setattr(type(place), 'rename', late)
    assert texts(place) == {'thesis.txt': 'mine'}
    assert texts(caught.value.data['kept']) == dict.fromkeys(RESULTS, 'new')


def test_an_empty_folder_is_a_place(tmp_path):
    (tmp_path / 'out').mkdir()
    with result_folder(tmp_path / 'out', overwrite=False) as folder:
        fill(folder)
    assert names(tmp_path / 'out') == sorted(RESULTS)
    assert names(tmp_path) == ['out']


@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt])
def test_an_interrupted_replay_leaves_nothing(tmp_path, error):
    with pytest.raises(error), result_folder(tmp_path / 'a' / 'out', overwrite=False) as folder:
        fill(folder)
        raise error
    assert names(tmp_path) == []


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path):
    def fail(file):
        file.write(b'half')
        raise KeyboardInterrupt

    write_whole(tmp_path / 'new' / 'a', b'first')
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / 'new' / 'a', fail)
    assert (tmp_path / 'new' / 'a').read_bytes() == b'first'
    assert names(tmp_path / 'new') == ['a']


def test_two_may_write_one_file(tmp_path):
    def meanwhile(file):
        write_whole(tmp_path / 'a', b'second')
        file.write(b'first')

    write_whole(tmp_path / 'a', meanwhile)
    assert (tmp_path / 'a').read_bytes() == b'first'
    assert names(tmp_path) == ['a']


def test_others_may_read_it_as_any_file(tmp_path):
    write_whole(tmp_path / 'a', b'')
    (tmp_path / 'b').touch()
    assert (tmp_path / 'a').stat().st_mode == (tmp_path / 'b').stat().st_mode


def test_a_killed_process_leaves_the_file_as_it_was(tmp_path):
    write_whole(tmp_path / 'a.png', b'first')
    program = (
        'import os, signal, sys\n'
        'from pathlib import Path\n'
        'from izmp_dynamics.files.place import write_whole\n'
        'def die(file):\n'
        '    file.write(b"half"); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n'
        'write_whole(Path(sys.argv[1]), die)\n'
    )
    done = subprocess.run([sys.executable, '-c', program, tmp_path / 'a.png'], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / 'a.png').read_bytes() == b'first'
    write_whole(tmp_path / 'a.png', b'second')
    assert (tmp_path / 'a.png').read_bytes() == b'second'


ROBOT = Path(__file__).parents[1] / 'robots/biped31/robot.yaml'


@pytest.fixture
def inputs(tmp_path):
    """A bag of two files, a robot file and its URDF."""
    bag = tmp_path / 'bag'
    bag.mkdir()
    (bag / 'empty.mcap').write_bytes(b'')
    (bag / 'large.mcap').write_bytes(bytes(range(256)) * 40_000)  # more than is read at a time
    robot = load_robot_file(ROBOT)
    return bag, robot, read_urdf(robot.urdf_path)


def test_they_are_the_sha_256_of_the_files(inputs):
    bag, robot, urdf = inputs
    found = input_hashes(*inputs)
    files = {path.name: path for path in (*bag.iterdir(), ROBOT)} | {robot.urdf: urdf.path}
    assert found == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
    }


def test_a_file_that_cannot_be_read_is_an_error_of_the_caller(inputs):
    bag, robot, urdf = inputs
    assert set(input_hashes(bag / 'missing', robot, urdf)) == {robot.urdf, ROBOT.name}
    with pytest.raises(FileNotFoundError):
        file_hash(bag / 'missing')
