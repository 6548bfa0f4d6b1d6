"""A calibration whose work is shared: the same files, whatever happens to the workers."""

import dataclasses
import subprocess
import sys

import pytest
import yaml

from izmp_dynamics.model.settings import stated

from .command_line import izmp, with_site_code
from .planted import nominal, recorded

pytest.importorskip('mujoco', reason='the sway is simulated with MuJoCo')
pytest.importorskip('distributed', reason='several processes are started by Dask')

WORKER = """
import os, signal, sys

MOMENT, DONE = os.environ['MOMENT'], os.environ['DONE']

class Finder:
    def find_spec(name, path, target=None):
        if name != 'izmp_dynamics.calibration.calibrate':
            return
        try:
            os.close(os.open(DONE, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        if MOMENT == 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        for process in (os.getpid(), os.getppid()):
            os.kill(process, signal.SIGINT)

if '--multiprocessing-fork' in sys.orig_argv:
    sys.meta_path.insert(0, Finder)
"""
"""One worker is killed, or it and the command get Ctrl-C, as it unpickles its first task."""


@pytest.fixture(scope='module')
def robot(biped31, tmp_path_factory):
    file = tmp_path_factory.mktemp('robot') / 'robot.yaml'
    here = dataclasses.replace(nominal(biped31), urdf=str(biped31.urdf_path))
    file.write_text(yaml.safe_dump(stated(here)), encoding='utf-8')
    return file


@pytest.fixture(scope='module')
def bags(sway, biped31, tmp_path_factory):
    """Twice the same motion with other noise."""
    folder = tmp_path_factory.mktemp('bags')
    robot = nominal(biped31)
    return [recorded(sway[0], robot, folder / f'bag{seed}', seed=seed) for seed in (1, 2)]


def calibrate(folder, bags, robot, *options, moment):
    """Run the command in a folder; at a moment something happens to its workers."""
    folder.mkdir()
    done = folder / 'done'
    ended = subprocess.run(
        [sys.executable, '-m', 'izmp_dynamics.cli.main', 'calibrate', *map(str, bags), '--robot',
         str(robot), '-o', 'out', '--quiet', *options],
        cwd=folder, capture_output=True, text=True, timeout=900,
        env=with_site_code(folder / 'site', WORKER, MOMENT=moment, DONE=str(done)),
    )  # fmt: skip
    assert done.exists(), 'nothing happened to a worker'
    return ended


def test_workers_one_of_which_is_killed_give_the_files_of_one_process(
    bags, robot, tmp_path, monkeypatch
):
    groups = ('--only', 'delays,ft_offsets')
    (tmp_path / 'one').mkdir()
    monkeypatch.chdir(tmp_path / 'one')
    alone = izmp('calibrate', *bags, '--robot', robot, '-o', 'out', '--quiet', *groups)
    shared = calibrate(tmp_path / 'two', bags, robot, *groups, '--workers', '2', moment='kill')
    assert (alone.status, alone.err) == (shared.returncode, shared.stderr) == (0, '')
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / name / 'out').iterdir()}
        for name in ('one', 'two')
    )
    assert {'robot.calibrated.yaml', 'report.html', 'report.json'} <= set(one)
    assert one == two


def test_an_interrupt_leaves_nothing(bags, robot, tmp_path):
    ended = calibrate(tmp_path / 'here', bags, robot, '--workers', '2', moment='interrupt')
    assert (ended.returncode, ended.stderr) == (
        130,
        'izmp: interrupted; nothing was left half-written.\n',
    )
    assert not (tmp_path / 'here' / 'out').exists()
