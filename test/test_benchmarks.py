"""Benchmarks run and print what they say; what they measure is no matter of tests."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from .conftest import REPOSITORY

BENCHMARKS = REPOSITORY / 'benchmarks'


def output_of(*command):
    """Run a benchmark from the root of the repository; return what it printed."""
    run = subprocess.run(
        [sys.executable, '-X', 'faulthandler', *map(str, command)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_latency_of_the_composed_graph():
    pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
    printed = output_of(BENCHMARKS / 'bench_graph.py', '--only', 'composed', '--seconds', 1)
    row = re.search(r'^composed +median +([\d.]+) ms .*\((\d+) instants\)$', printed, re.M)
    assert row, printed
    assert float(row[1]) > 0.0
    assert int(row[2]) > 0
    assert re.search(r'composed +[\d.]+% of a core', printed)


COMMANDS = sorted(
    path for path in BENCHMARKS.glob('*.py')
    if 'ArgumentParser' in path.read_text('utf-8') or path.name.startswith('bench_')
)  # fmt: skip


@pytest.mark.parametrize('path', COMMANDS, ids=lambda path: path.stem)
def test_help_is_printed_and_nothing_measured(path, monkeypatch, capsys):
    monkeypatch.setattr(os, 'environ', dict(os.environ))
    monkeypatch.setattr(sys, 'path', [str(BENCHMARKS), *sys.path])
    monkeypatch.setattr(sys, 'argv', [str(path), '--help'])
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(path), run_name='__main__')
    except ModuleNotFoundError as error:
        if (error.name or '').startswith('izmp_dynamics'):
            raise
        pytest.skip(f'{error.name} is missing')
    assert not ended.value.code
    assert capsys.readouterr().out.startswith('usage: ')


def test_a_soak_finds_the_reason_of_a_loss_however_late_it_hears_of_it(monkeypatch):
    """Of what did not come the numbers of the messages say it, of other losses the reports.

    The node itself is 4 s late for a while, with its results and with what it counts.
    """
    pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
    from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
    from geometry_msgs.msg import PointStamped

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from soak import Soak
    from soak_table import UNSEEN, Record, losses

    def stamped(kind, stamp):
        message = kind()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        return message

    samples = 1000 * 10**9 + 2_000_000 * np.arange(10 * 500)
    record = Record(np.stack([samples, samples], axis=1))
    run = Soak((), None, SimpleNamespace(create_subscription=lambda *given: None), record)
    skipped, unseen = range(600, 625), range(900, 920)
    given = [k for k in range(10 * 125) if k not in skipped]
    for number, k in enumerate(given, 1):
        stamp = int(samples[4 * k])
        late = 4 * 10**9 if abs(k - 610) < 60 else 0
        info = {'source_timestamp': stamp + late, 'publication_sequence_number': number}
        if k not in unseen:
            run.take(stamped(PointStamped, stamp), info)
    for second in range(10):  # all at once, in the end
        report = stamped(DiagnosticArray, int(samples[500 * second]))
        values = [KeyValue(key='imu.skipped', value=str(25 * (second > 8)))]
        report.status = [DiagnosticStatus(name='/izmp', values=values)]
        run.count(report)
    _, table, unknown = losses(record)
    assert not len(unknown)
    assert {reason: row[1] for reason, row in table.items()} == {
        'computer too slow (skipped)': len(skipped), UNSEEN: len(unseen)
    }  # fmt: skip


def test_a_soak_that_is_interrupted_ends_with_its_table():
    pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
    command = [sys.executable, str(BENCHMARKS / 'soak.py'), '--minutes', '1']
    run = subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert run.stdout.readline().startswith('The robot publishes.')
    run.send_signal(signal.SIGINT)
    printed = run.communicate(timeout=300.0)[0]
    assert run.returncode == 0, printed
    assert 'Ended by Ctrl-C' in printed
    assert 'Results that came twice: 0' in printed
    assert 'Traceback' not in printed


def test_parts_of_a_replay(sway, biped31, tmp_path):
    command = ('replay', sway[1], '--robot', biped31.path, '-o', tmp_path / 'result')
    times = json.loads(output_of(BENCHMARKS / 'timed_replay.py', *command).splitlines()[-1])
    assert {'reading', 'evaluating', 'writing', 'start-up'} <= set(times), times
    assert all(times[part] > 0.0 for part in ('reading', 'evaluating', 'writing'))


def planted_errors():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import planted
    finally:
        sys.path.remove(str(BENCHMARKS))
    return planted.ERRORS


@pytest.mark.parametrize('error', planted_errors(), ids=lambda error: error.name)
def test_an_error_to_plant_is_about_a_text_that_is_there_once(error):
    source = (REPOSITORY / error.file).read_text()
    assert source.count(error.right) == 1
    assert error.wrong not in source
    for name in error.tests:
        assert [*(REPOSITORY / 'test').glob(f'**/test_{name}.py')]


def test_results_are_the_same_within_a_billionth(monkeypatch):
    pytest.importorskip('rosbags', reason="rosbags is missing: pip install '.[offline]'")
    monkeypatch.setattr(sys, 'path', [str(BENCHMARKS), *sys.path])
    script = runpy.run_path(str(BENCHMARKS / 'same_results.py'))
    before = {'x': [1e3, np.nan, 1], 'y': 'a', 'n': None, 'hashes': {'a.urdf': '12'}}

    def wrong(**changed):
        found = script['differences'](before, before | changed)
        return [key for key, _, _, distance in found if distance > script['TOLERANCE']]

    assert not wrong(x=[1e3 + 9e-7, np.nan, 1.0], hashes={'a.urdf': '34'})
    assert wrong(x=[1e3 + 2e-6, 0.0, 2, 0.0]) == ['/x[0]', '/x[1]', '/x[2]', '/x[3]']
    assert wrong(y='b', n=0.0, hashes={}) == ['/y', '/n', '/hashes/a.urdf']
    assert wrong(z=0) == ['/z']
