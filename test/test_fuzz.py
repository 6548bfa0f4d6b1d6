"""A short part of the fuzz campaign, and the campaign's own eyes: it sees what must not happen."""

import importlib
import os
import re
import signal
import subprocess
import sys

import pytest

from .conftest import REPOSITORY

BENCHMARKS = REPOSITORY / 'benchmarks'
CASES = 13
GENEROUS = 120  # [s] of computing time for a command, against what never ends


@pytest.fixture(scope='module')
def fuzz_case():
    """The module that makes, runs and judges cases."""
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module('fuzz_case')
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope='module')
def inputs(fuzz_case, sound_bag, tmp_path_factory):
    """The sound inputs."""
    return fuzz_case.Inputs.of_recording(sound_bag, tmp_path_factory.mktemp('inputs'))


@pytest.mark.parametrize('options', [[], ['--others']], ids=['replay', 'others'])
def test_corrupted_files_end_in_results_or_in_a_sentence(sound_bag, options):
    """In a process of its own, as the campaign limits memory; all that can be is replayed."""
    main = 'import sys, fuzz, fuzz_case; fuzz_case.REPLAYED = 1.0; sys.exit(fuzz.main())'
    command = [sys.executable, '-c', main, '--seed', '1', '--cases', str(CASES),
               '--seconds', str(GENEROUS), '--recording', str(sound_bag), *options]  # fmt: skip
    folders = [str(REPOSITORY), str(BENCHMARKS), *filter(None, [os.environ.get('PYTHONPATH')])]
    environment = os.environ | {'PYTHONPATH': os.pathsep.join(folders), 'OMP_NUM_THREADS': '1'}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = re.findall(r'^\| \w+ ' + 4 * r'\| (\d+) ' + r'\|', done.stdout, re.MULTILINE)
    cases, complete, usable, refused = (
        sum(map(int, column)) for column in zip(*numbers, strict=True)
    )
    assert cases == complete + usable + refused == CASES
    assert complete > 0
    assert refused > 3


def files(fuzz_case, inputs, seed, number, folder):
    """Name → content of everything a case consists of."""
    fuzz_case.clear(folder)
    case = fuzz_case.Case(inputs, seed, number, folder)
    return {path.relative_to(folder): path.read_bytes()
            for path in folder.rglob('*') if path.is_file()} | {'kind': case.kind}  # fmt: skip


def test_a_case_follows_from_seed_and_number(fuzz_case, inputs, tmp_path):
    cases = ((k, files(fuzz_case, inputs, 1, k, tmp_path / 'a')) for k in range(40))
    one_of_each = {case['kind']: (k, case) for k, case in cases}
    assert set(one_of_each) == set(fuzz_case.KINDS)
    for k, case in one_of_each.values():
        assert files(fuzz_case, inputs, 1, k, tmp_path / 'b') == case
        assert files(fuzz_case, inputs, 2, k, tmp_path / 'c') != case


def results(arguments):
    """Results that say what no report may say."""
    if arguments[0] != 'replay':
        return 0
    for name in ('bag', 'report.html', 'report.json'):
        os.makedirs('out', exist_ok=True)
        with open(f'out/{name}', 'w') as file:
            file.write('{"a": NaN}')
    return 0


def crash(arguments):
    raise ValueError


def compute(arguments):
    while True:
        pass


def fill(arguments):
    try:
        return len(bytearray(1 << 32))
    except MemoryError:
        print('izmp: error: the memory does not suffice.', file=sys.stderr)
        return 1


def write_and_refuse(arguments):
    with open('out', 'w') as file:
        file.write('half')
    return refuse(arguments)


def refuse(arguments):
    print('izmp: error: this is a sentence that says why.', file=sys.stderr)
    return 1


def disagree(arguments):
    return refuse(arguments) if arguments[0] == 'replay' else 0


@pytest.mark.parametrize(
    ('izmp', 'outcome'),
    [
        (refuse, 'refused'),
        (crash, 'traceback'),
        (compute, 'time'),
        (fill, 'memory'),
        (write_and_refuse, 'left behind'),
        (disagree, 'disagree'),
        (results, 'bad results'),
        (lambda arguments: 0, 'incomplete'),
        (lambda arguments: print('\x1b[31m') or 0, 'control characters'),
        (lambda arguments: print('x', file=sys.stderr) or 1, 'no sentence'),
        (lambda arguments: os.kill(os.getpid(), signal.SIGUSR1), 'SIGUSR1'),
    ],
)  # fmt: skip
def test_the_campaign_sees(fuzz_case, inputs, tmp_path, monkeypatch, izmp, outcome):
    monkeypatch.setattr(fuzz_case, 'main', izmp)
    folder = tmp_path / 'case'
    fuzz_case.clear(folder)
    case = fuzz_case.Case(inputs, 1, 0, folder)
    case.replays = True
    verdict = case.run(seconds=1)
    assert verdict.outcome == outcome
    assert verdict.is_fault == (outcome != 'refused')
