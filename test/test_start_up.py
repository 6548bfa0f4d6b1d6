"""The start of the nodes' processes: signals, refusals, and what is said about long work."""

import logging
import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from izmp_dynamics.launching.checked import end_if_refused
from izmp_dynamics.nodes import start_up
from izmp_dynamics.nodes.__main__ import main
from izmp_dynamics.nodes.main import REFUSED, run
from izmp_dynamics.nodes.registry import TASKS, nodes
from izmp_dynamics.nodes.start_up import ForwardedLog, announced

from .node_processes import PATIENCE, ROOT, Processes
from .requiring import need

BUSY = """
import ctypes
from izmp_dynamics.nodes.start_up import interruptible
with interruptible() as started:
    {before}
    print('busy', flush=True)
    while True:
        ctypes.CDLL(None).usleep(100_000)  # as the compiler: no handler of Python runs meanwhile
"""


def busy(before=''):
    program = BUSY.format(before=before)
    process = subprocess.Popen(
        [sys.executable, '-c', program],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == 'busy\n'
    return process


@pytest.mark.parametrize(
    ('number', 'before'),
    [(signal.SIGINT, ''), (signal.SIGTERM, ''), (signal.SIGINT, 'import rclpy; rclpy.init()')],
)
def test_a_signal_ends_a_start_at_once_and_without_a_trace(number, before):
    """Also after ROS has taken the signals."""
    if before:
        need('rclpy')
    process = busy(before)
    process.send_signal(number)
    assert process.communicate(timeout=PATIENCE) == ('', '')
    assert process.returncode == 0


def test_a_signal_that_was_blocked_ends_a_start_as_well():
    """The launch files block it: while Python starts, it would print a traceback."""
    need('rclpy')

    def interrupted():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)

    ended = subprocess.run(
        [sys.executable, '-m', 'izmp_dynamics.nodes', 'acd'],
        cwd=ROOT, preexec_fn=interrupted, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, '', '')


def test_after_the_start_signals_are_for_ros_to_act_on():
    process = busy('started(60.0)')
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.kill()
    process.communicate(timeout=PATIENCE)


def test_what_does_not_end_after_a_signal_is_ended():
    """A call into a library does not return; the sentence names it."""
    process = busy('started(1.5)')
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert errors == 'Ended after 1.5 s; still busy: MainThread in <module> of <string>.\n'


def test_a_call_that_keeps_the_lock_of_python_is_ended_too_and_shown():
    keeps = 'from izmp_dynamics.nodes import start_up; start_up.time.sleep = keep'
    process = busy(f'keep = lambda _: ctypes.PyDLL(None).sleep(1000); {keeps}; started(3.0)')
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert errors.startswith('Timeout')
    assert 'in <lambda>' in errors


@pytest.mark.parametrize('name', ['acd', 'simulation', 'player'])
def test_a_node_that_cannot_work_ends_with_a_status_of_its_own(tmp_path, name):
    need('rclpy')
    need('mujoco')
    given = '--ros-args', '-p', 'robot:=absent.yaml', '-p', 'bag:=absent'
    done = subprocess.run(
        [sys.executable, '-m', 'izmp_dynamics.nodes', name, *given],
        env=Processes(tmp_path).environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == REFUSED
    assert 'absent.yaml' in done.stderr
    assert 'Traceback' not in done.stderr


@pytest.fixture
def here(monkeypatch):
    """Let nodes start in this process, which they leave as it is."""
    need('rclpy')
    monkeypatch.setattr(os, 'environ', dict(os.environ))
    monkeypatch.setattr(
        'izmp_dynamics.nodes.main.interruptible', lambda: nullcontext(lambda longest: None)
    )


@pytest.mark.parametrize(
    ('given', 'sentence'),
    [
        ('--nonsense', "there are no arguments ['--nonsense']. A parameter is set by"),
        ('-p foo', "Couldn't parse parameter override rule: '-p foo'."),
        ('--params-file', "Couldn't parse trailing --params-file flag. No file path provided. A"),
        ('--params-file absent', "'--params-file absent'. Error: Error opening YAML file."),
    ],
)
@pytest.mark.usefixtures('here')
def test_arguments_that_ros_cannot_read_are_refused(capsys, given, sentence):
    assert run('acd', ['--ros-args', *given.split()]) == REFUSED
    said = capsys.readouterr().err
    assert said.startswith('acd: error: ROS does not start: ')
    assert sentence in said


@pytest.mark.usefixtures('here')
def test_a_parameter_file_that_ros_cannot_read_is_refused(capsys, tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text('/**:\n  ros__parameters:\n/**/acd: {ros__parameters: {}}\n')
    assert run('acd', ['--ros-args', '--params-file', str(path)]) == REFUSED
    said = capsys.readouterr().err
    assert f"Couldn't parse params file: '--params-file {path}'" in said
    assert 'ros__parameters at line 2' in said


@pytest.mark.parametrize('given', [[], ['acdc'], ['--help']])
def test_without_the_name_of_a_node_all_are_listed(given, capsys):
    status = main(given)
    said = capsys.readouterr()
    text = said.out if given == ['--help'] else said.err
    assert status == (0 if given == ['--help'] else REFUSED)
    assert all(name in text for name in nodes())
    assert ("'acdc'" in text) == (given == ['acdc'])


@pytest.mark.parametrize('name', nodes())
def test_a_node_that_is_asked_for_help_does_not_start(name, capsys):
    assert main([name, '--help']) == 0
    said = capsys.readouterr().out
    assert said.startswith(f'Node {name}: ') == (name in TASKS)
    assert f'usage: {name} [--ros-args' in said


@pytest.mark.parametrize(
    'given',
    ['--record --ros-args -p output:=bag', '--ros-args -p output:=bag -- --record'],
)
def test_arguments_that_are_none_of_ros_are_refused(given, capsys):
    assert main(['recorder', *given.split()]) == REFUSED
    assert "recorder: error: There is no argument '--record'." in capsys.readouterr().err


def test_a_refusal_ends_the_launch_and_a_crash_does_not():
    running, ending = SimpleNamespace(is_shutdown=False), SimpleNamespace(is_shutdown=True)
    refused = SimpleNamespace(returncode=REFUSED, process_name='acd-1')
    for status in (0, 1, -9):
        end_if_refused(SimpleNamespace(returncode=status, process_name='acd-1'), running)
    end_if_refused(refused, ending)
    with pytest.raises(RuntimeError, match='acd-1'):
        end_if_refused(refused, running)


class Log:
    """Collects what is said."""

    def __init__(self):
        self.lines, self.came = [], threading.Event()

    def info(self, text):
        self.lines.append(text)
        self.came.set()

    warning = info


def test_what_takes_long_is_said_while_it_lasts(monkeypatch):
    monkeypatch.setattr(start_up, 'SAID_AFTER', 0.0)
    log = Log()
    with announced(log, 'Planning'):
        assert log.came.wait(PATIENCE)
    assert log.lines == ['Planning…']
    monkeypatch.undo()
    with announced(log, 'Planning what is quick'):
        pass
    assert log.lines == ['Planning…']


def test_what_the_core_says_comes_in_the_log_of_ros():
    log, core = Log(), logging.getLogger('a core of this test')
    core.setLevel(logging.INFO)
    core.addHandler(ForwardedLog(log))
    core.info('Compiling %s', 'it')
    core.debug('nothing')
    assert log.lines == ['Compiling it']
