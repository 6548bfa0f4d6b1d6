"""Fuzz campaign: corrupted recordings, robot files and URDFs must end in results or in a sentence.

Every case spoils a sound recording of a simulated sway (bytes and records of mcap files, bytes and
rows of sqlite3 files, messages, metadata.yaml), the robot file or the URDF, and runs `izmp check`
and `izmp replay` (`izmp model` too) on it, in children with limits of time and memory; what is
usable is replayed once in four cases. With --others each case runs one of draft, calibrate,
compare, compare-runs, export, fleet, experiments real and replay --expect in their place. Allowed
are complete results, all numbers finite, and refusals in one sentence that leave nothing behind;
check and replay must agree. A case follows from seed and number alone::

    python benchmarks/fuzz.py --seed 7 --minutes 30
    python benchmarks/fuzz.py --seed 7 --case 1234 --keep case    # again, its files kept

Ends with 1 if there was a fault.
"""

import argparse
import contextlib
import gc
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from fuzz_case import HARMLESS, KINDS, Case, Verdict, clear
from fuzz_inputs import ROBOT, Inputs
from fuzz_others import OtherCase

from izmp_dynamics.cli.main import main as izmp


def main() -> int:
    """Run the campaign; return the exit status."""
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        recording = options.recording or _sway(scratch / 'sway')
        inputs = Inputs.of_recording(recording, scratch)
        _warm_up(inputs, scratch, options.others)
        print(f'seed {options.seed}')
        verdicts: list[Verdict] = []
        with contextlib.suppress(KeyboardInterrupt):
            for number in _numbers(options):
                verdicts += _run(number, inputs, options.keep or scratch / 'case', options)
        _print_table(verdicts)
    return int(any(verdict.is_fault for verdict in verdicts))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n')[0])
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--minutes', type=float, default=1.0, help='how long (default: 1)')
    parser.add_argument('--cases', type=int, help='how many, instead of how long')
    parser.add_argument('--case', type=int, help='this one only, and what came of it')
    parser.add_argument('--first', type=int, default=0, help='number of the first case')
    parser.add_argument('--kinds', nargs='+', choices=KINDS, default=KINDS)
    parser.add_argument('--others', action='store_true', help='commands other than check, replay')
    parser.add_argument('--seconds', type=float, default=20.0, help='CPU time of a command')
    parser.add_argument('--recording', type=Path, help='of the sway; simulated by default')
    parser.add_argument('--keep', type=Path, metavar='DIR', help='keep the files of the last case')
    return parser.parse_args()


def _numbers(options: argparse.Namespace) -> Iterator[int]:
    if options.case is not None:
        yield options.case
        return
    end = time.monotonic() + 60.0 * options.minutes
    for number in count(options.first):
        done = number - options.first
        if done >= options.cases if options.cases is not None else time.monotonic() > end:
            return
        yield number


def _sway(path: Path) -> Path:
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_lab.simulation.scenarios import simulate_sway

    simulate_sway(load_robot_file(ROBOT / 'robot.yaml'), path)
    return path


def _warm_up(inputs: Inputs, scratch: Path, others: bool) -> None:
    """Load and compile in this process what all children then have."""
    folder = scratch / 'sound'
    folder.mkdir()
    for name, content in inputs.bags['mcap'].items():
        (folder / name).write_bytes(content)
    given = [str(folder), '--robot', str(ROBOT / 'robot.yaml')]
    with Path(os.devnull).open('w') as nowhere, contextlib.redirect_stdout(nowhere):
        for command in (['check', *given], ['replay', *given, '-o', str(scratch / 'warm')]):
            if izmp(command):
                sys.exit('The sound recording is refused.')
        warm = str(scratch / 'warm')
        if others:
            izmp(['compare-runs', warm, warm, '-o', str(scratch / 'compared')])  # Matplotlib
    inputs.result.update(
        (str(path.relative_to(scratch / 'warm')), path.read_bytes())
        for path in (scratch / 'warm').rglob('*')
        if path.is_file()
    )
    gc.collect()
    gc.freeze()


def _run(
    number: int, inputs: Inputs, folder: Path, options: argparse.Namespace
) -> Iterator[Verdict]:
    """Run a case, if its kind is wanted, and tell what to know about it."""
    clear(folder)
    case = (OtherCase if options.others else Case)(
        inputs, options.seed, number, folder.absolute(), tuple(options.kinds)
    )
    if case.runs:
        verdict = case.run(options.seconds)
        _tell(number, verdict, options)
        yield verdict
    if number % 100 == 99:
        print(f'case {number} done', file=sys.stderr)


def _tell(number: int, verdict: Verdict, options: argparse.Namespace) -> None:
    if verdict.is_fault or options.case is not None:
        print(f'case {number}: {verdict.kind}: {verdict.outcome}: {verdict.detail}', flush=True)


def _print_table(verdicts: list[Verdict]) -> None:
    """Cases by kind and outcome, and the slowest."""
    outcomes = list(dict.fromkeys([*HARMLESS, *(v.outcome for v in verdicts)]))
    counts = Counter((verdict.kind, verdict.outcome) for verdict in verdicts)
    print(f'\n| corrupted | cases | {" | ".join(outcomes)} | slowest [s CPU] |')
    print(f'|---|{"---:|" * (len(outcomes) + 2)}')
    for kind in KINDS:
        slowest = max((v.cpu for v in verdicts if v.kind == kind), default=0.0)
        numbers = [counts[kind, outcome] for outcome in outcomes]
        row = [kind, sum(numbers), *numbers, f'{slowest:.1f}']
        print(f'| {" | ".join(map(str, row))} |')


if __name__ == '__main__':
    sys.exit(main())
