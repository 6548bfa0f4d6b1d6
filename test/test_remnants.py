"""What a process leaves that is killed while it writes is named and removed by the next one.

Bags and results of a replay are in test_writer.py and test_result_folder.py.
"""

import signal
import subprocess
import sys
import tempfile

import pytest

from izmp_dynamics.files.temporary_folder import temporary_folder
from izmp_dynamics.files.whole_file import write_whole
from izmp_dynamics.pages.files import write_files
from izmp_lab.studies.campaign import perform_all
from izmp_lab.studies.store import Store

from .command_line import izmp
from .conftest import REPOSITORY

BIPED31 = REPOSITORY / 'robots' / 'biped31' / 'robot.yaml'
DIE = 'import os, signal, sys; die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n'


def killed(program, *arguments):
    """Run statements that end in `die()` in another process."""
    command = [sys.executable, '-c', DIE + program, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder of the system's, for this and for other processes."""
    folder = tmp_path / 'tmp'
    folder.mkdir()
    monkeypatch.setenv('TMPDIR', str(folder))
    monkeypatch.setattr(tempfile, 'tempdir', None)
    return folder


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path):
    def fail(file):
        file.write(b'half')
        raise KeyboardInterrupt

    write_whole(tmp_path / 'new' / 'a', b'first')
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / 'new' / 'a', fail)
    assert (tmp_path / 'new' / 'a').read_bytes() == b'first'
    assert names(tmp_path / 'new') == ['a']


def test_what_is_being_written_is_no_remnant(tmp_path):
    def meanwhile(file):
        write_whole(tmp_path / 'a', b'second')
        file.write(b'first')

    write_whole(tmp_path / 'a', meanwhile)
    assert (tmp_path / 'a').read_bytes() == b'first'
    assert names(tmp_path) == ['a']


def test_temporary_folders_of_killed_processes(temporary, caplog):
    killed(
        'from izmp_dynamics.files.temporary_folder import temporary_folder\n'
        'with temporary_folder("izmp_x_") as folder:\n'
        '    (folder / "big").write_bytes(bytes(1000)); die()\n'
    )
    (remnant,) = names(temporary)
    with temporary_folder('izmp_x_') as first, temporary_folder('izmp_x_') as second:
        assert names(temporary) == sorted([first.name, second.name])
    assert remnant in caplog.text
    assert names(temporary) == []


def test_figures_of_a_killed_experiment(tmp_path, caplog):
    killed(
        'from izmp_dynamics.files.whole_file import write_whole\n'
        'from pathlib import Path\n'
        'write_whole(Path(sys.argv[1]) / "fig6.png", die)\n',
        tmp_path,
    )
    (remnant,) = names(tmp_path)
    write_files({'fig6.png': b'x'}, tmp_path)
    assert names(tmp_path) == ['fig6.png']
    assert remnant in caplog.text


def test_runs_of_a_killed_experiment(tmp_path, caplog):
    killed(
        'from izmp_lab.studies import store\n'
        'store._save = die\n'
        'store.Store(sys.argv[1]).keep("run", {}, {})\n',
        tmp_path,
    )
    (remnant,) = names(tmp_path)
    perform_all([], Store(tmp_path))
    assert names(tmp_path) == []
    assert remnant in caplog.text


def test_a_killed_make_world(tmp_path, caplog):
    pytest.importorskip('urdf2webots', reason='urdf2webots makes the PROTO')
    command = ['make-world', '--robot', BIPED31, '-o', tmp_path / 'world']
    killed(
        'from izmp_lab.simulation.webots import world\n'
        'from izmp_dynamics.cli.main import main\n'
        'write, done = world.write_whole, []\n'
        'def stop(path, content):\n'
        '    write(path, die if len(done) == 2 else content)\n'
        '    done.append(path)\n'
        'world.write_whole = stop\n'
        'main(sys.argv[1:])\n',
        *command,
    )
    (remnant,) = tmp_path.rglob('.*.partial-*')
    outcome = izmp(*command)
    assert outcome.status == 0
    assert remnant.name in caplog.text
    assert not list(tmp_path.rglob('.*'))


def test_a_killed_simulation(tmp_path, sway, biped31, caplog):
    from izmp_lab.simulation.recording import record

    bag = tmp_path / 'sway'
    killed(
        'from izmp_dynamics.bags.writer import BagWriter\n'
        'with BagWriter(sys.argv[1]) as bag:\n'
        '    bag.add_topic("/imu", "sensor_msgs/msg/Imu", {}); die()\n',
        bag,
    )
    (remnant,) = names(tmp_path)
    record(sway[0], biped31, bag)
    assert names(tmp_path) == ['sway']
    assert remnant in caplog.text


def test_a_killed_live_recording_is_kept_under_another_name(tmp_path):
    pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")
    from .node_processes import PATIENCE, Processes, wait_until

    command = [sys.executable, '-m', 'izmp_dynamics.cli.main', 'live', '--robot', str(BIPED31),
               '--record', str(tmp_path / 'bag')]  # fmt: skip
    log = tmp_path / 'said'

    def start():
        with log.open('w') as said:
            return subprocess.Popen(
                command, env=Processes(tmp_path).environment, stdout=said, stderr=said
            )

    live = start()
    try:
        assert wait_until(lambda: list(tmp_path.glob('.bag.partial-*/.recording')))
    finally:
        live.kill()
        live.wait()
    live = start()
    try:
        assert wait_until(lambda: 'Waiting for /joint_states, /imu' in log.read_text())
        live.send_signal(signal.SIGINT)
        assert live.wait(PATIENCE) == 0
    finally:
        live.kill()
    (kept,) = tmp_path.glob('bag-recovered-*')
    assert kept.name in log.read_text()
    assert not list(tmp_path.glob('.*'))
