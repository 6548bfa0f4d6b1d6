"""How long one waits before anything happens: start-up of the commands, compiling of the kernels.

Run: ``python benchmarks/bench_start.py [--repeat 5]``

Every figure is the best of `--repeat` processes, each on one core. Compiling is measured in
folders for numba's cache that are empty, and in the same folders again. Wall time counts other
programs on the core, CPU time does not.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import child
from long_log import ROBOT, write_log
from rich.console import Console
from rich.table import Table

URDF = ROBOT.with_name('biped31.urdf')
MR_AD = (
    'from izmp_dynamics.dynamics.mr_ad import MrAd; '
    'from izmp_dynamics.model.robot_model import load_model; '
    f'MrAd(load_model({str(URDF)!r}))'
)

Run = Callable[[], child.Needed]


def best(run: Run, repeat: int) -> child.Needed:
    """The run that needed least CPU time."""
    return min((run() for _ in range(repeat)), key=lambda needed: needed.cpu)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--repeat', type=int, default=5, help='processes; the best one counts')
    options = parser.parse_args()
    table = Table(title=r'Start-up \[s]')
    for head in ('', 'wall', 'CPU', 'said'):
        table.add_column(head, justify='left' if head in ('', 'said') else 'right')

    with tempfile.TemporaryDirectory() as name:
        for label, run, repeat in _cases(Path(name), options.repeat):
            needed = best(run, repeat)
            said = ' '.join(needed.errors.split('\n')[-2:]).strip()
            table.add_row(label, f'{needed.wall:.2f}', f'{needed.cpu:.2f}', said)
    Console(width=130).print(table)


def _cases(folder: Path, repeat: int) -> Iterator[tuple[str, Run, int]]:
    """Label, what to run, how often."""
    yield 'python, importing numpy', partial(child.python, '-c', 'import numpy'), repeat
    yield 'izmp --help', partial(child.izmp, '--help'), repeat
    yield 'izmp model', partial(child.izmp, 'model', str(URDF)), repeat
    bag, out = str(folder / 'log'), str(folder / 'out')
    write_log(Path(bag), 1.0)
    replay = ('replay', bag, '--robot', str(ROBOT), '-o', out, '--overwrite', '--quiet')
    for what, run in (
        ('making an MrAd', partial(child.python, '-c', MR_AD)),
        ('izmp replay of 10 s', partial(child.izmp, *replay)),
    ):
        cache = {'NUMBA_CACHE_DIR': str(folder / what)}
        yield f'{what}, empty cache', partial(run, environment=cache), 1
        yield f'{what}, filled cache', partial(run, environment=cache), repeat


if __name__ == '__main__':
    main()
