"""Benchmarks run and print what they say; what they measure is no matter of tests."""

import json
import os
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

from .conftest import REPOSITORY
from .requiring import need

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
    need('rclpy')
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


def test_parts_of_a_replay(sound_bag, biped31, tmp_path):
    command = ('replay', sound_bag, '--robot', biped31.path, '-o', tmp_path / 'result')
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
