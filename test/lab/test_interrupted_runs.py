"""Ctrl-C at moments in the life of a process that computes runs."""

import subprocess
import sys

import pytest

pytest.importorskip('mujoco', reason='the experiments simulate walks with MuJoCo')
pytest.importorskip('distributed', reason='several processes are started by Dask')

from ..command_line import with_site_code

EVERY_PROCESS = """
import os, signal, sys
from multiprocessing import util

MOMENT, DONE = os.environ['MOMENT'], os.environ['DONE']
WORKER = '--multiprocessing-fork' in sys.orig_argv

def interrupt(*processes):
    try:
        os.close(os.open(DONE, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    for process in processes:
        os.kill(process, signal.SIGINT)

def start_and_interrupt(path, arguments, files, start=util.spawnv_passfds):
    number = start(path, arguments, files)
    if '--multiprocessing-fork' in map(os.fsdecode, arguments):
        interrupt(os.getpid())
    return number

class Finder:
    def find_spec(name, path, target=None):
        if name == 'izmp_lab.studies.runs':
            interrupt(os.getpid(), os.getppid())

if MOMENT == 'before it is told what to do' and not WORKER:
    util.spawnv_passfds = start_and_interrupt
if MOMENT == 'as it starts' and WORKER:
    interrupt(os.getpid(), os.getppid())
if MOMENT == 'as it unpickles what to do' and WORKER:
    sys.meta_path.insert(0, Finder)
"""
"""A process interrupts itself and its parent, once for all processes."""


@pytest.mark.parametrize(
    'moment', ['before it is told what to do', 'as it starts', 'as it unpickles what to do']
)
def test_an_interrupt_leaves_no_traceback(tmp_path, moment):
    done = tmp_path / 'done'
    command = [sys.executable, '-m', 'izmp_dynamics.cli.main', 'experiments', 'paper', '--quick',
               '--quiet', '--jobs', '2', '--only', 'fig6', '-o', f'{tmp_path}/out']  # fmt: skip
    ended = subprocess.run(
        command,
        env=with_site_code(tmp_path / 'site', EVERY_PROCESS, MOMENT=moment, DONE=str(done)),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.exists(), 'it was not interrupted'
    assert (ended.returncode, ended.stderr) == (
        130,
        'izmp: interrupted; nothing was left half-written.\n',
    )
    assert not list(tmp_path.glob('out/runs/.*'))
