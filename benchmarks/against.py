"""Latency of the composed graph and time of a replay against an earlier commit, in one run.

    python benchmarks/against.py REVISION [--seconds 20] [--repeat 3] [--separate]

Both are measured in turn, each time the other one first, so that a slow machine or other work on
it affects both alike; the medians over the repetitions are compared. Where other programs run,
`chrt -r 5` before the command lets these come first.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from child import python
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
ROBOT = 'robots/biped31/robot.yaml'
LATENCY = re.compile(
    r'^(?:composed|separate) +median +([\d.]+) ms +p99 +([\d.]+) ms.*\((\d+) instants\)', re.M
)
LOAD = re.compile(r'^ +\w+ +([\d.]+)% of a core', re.M)


def environment(root):
    """What a process needs to import the package of a checkout."""
    return {'PYTHONPATH': str(root)}


@contextmanager
def checkout(revision):
    """Folder with the files of a commit; the folder of a checkout is given as it is."""
    if Path(revision).is_dir():
        yield Path(revision).resolve()
        return
    git = ('git', '-C', str(HERE), 'worktree')
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / 'before'
        subprocess.run([*git, 'add', '--quiet', '--detach', str(root), revision], check=True)
        try:
            yield root
        finally:
            subprocess.run([*git, 'remove', '--force', str(root)], check=True)


def graph(root, kind, seconds):
    """Latency and load of all processes.

    Returns:
        Median and 99th percentile of the latency [ms], load of a core [%], and CPU time for each
        instant that was given [ms]: of a graph that is too slow for its core the load says less
        than it needs, as it works on fewer instants than come.
    """
    ran = subprocess.run(
        [sys.executable, 'benchmarks/bench_graph.py', '--only', kind, '--seconds', str(seconds)],
        cwd=root,
        env=os.environ | environment(root),
        capture_output=True,
        text=True,
    )
    latency, loads = LATENCY.search(ran.stdout), LOAD.findall(ran.stdout)
    if not loads:
        sys.exit(f'bench_graph.py failed in {root}:\n{ran.stdout}{ran.stderr}')
    if not latency:
        print(f'{root}: no result came in time, {kind}; the computer has too much other work')
        return np.nan, np.nan, np.nan, np.nan
    median, p99, instants = map(float, latency.groups())
    load = sum(map(float, loads))
    return median, p99, load, 10.0 * load * seconds / instants


def replay(root, bag, folder):
    """CPU time of a replay on one core [s]."""
    out = str(Path(folder) / 'out')
    needed = python(
        '-m', 'izmp_dynamics.cli.main', 'replay', str(bag), '--robot', str(root / ROBOT),
        '-o', out, '--overwrite', environment=environment(root), cwd=root,
    )  # fmt: skip
    return needed.cpu


def kinds(options):
    """The graphs that are measured."""
    return ('composed', 'separate') if options.separate else ('composed',)


def measure(roots, options, folder):
    """Measure both checkouts in turn; return name → (repetitions, 4 per kind of graph and 1)."""
    bag = Path(folder) / 'walk'
    python(
        '-m', 'izmp_dynamics.cli.main', 'simulate', 'walk', '--speed', '0.3',
        '--steps', str(options.steps), '-o', str(bag), environment=environment(HERE),
    )  # fmt: skip
    for root in roots.values():  # the first run compiles
        replay(root, bag, folder)
    rows = {name: [] for name in roots}
    for turn in range(options.repeat):
        for name, root in list(roots.items())[:: (-1) ** turn]:
            graphs = [
                figure for kind in kinds(options) for figure in graph(root, kind, options.seconds)
            ]
            rows[name].append((*graphs, replay(root, bag, folder)))
    return {name: np.array(values) for name, values in rows.items()}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('revision', help='commit, or folder of a checkout, to compare with')
    parser.add_argument('--seconds', type=float, default=20.0, help='of each run of the graph')
    parser.add_argument('--steps', type=int, default=120, help='of the walk that is replayed')
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--separate', action='store_true', help='measure separate processes, too')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, checkout(options.revision) as before:
        measured = measure({'before': before, 'now': HERE}, options, folder)
    title = f'against {options.revision}, medians of {options.repeat} runs in turn'
    table = Table(title=f'{title}, load {os.getloadavg()[0]:.0f}')
    for head in ('', 'before', 'now', 'ratio'):
        table.add_column(head, justify='left' if not head else 'right')
    figures = (
        'latency, median [ms]', 'latency, p99 [ms]', 'load of a core [%]', 'CPU per instant [ms]',
    )  # fmt: skip
    rows = [f'{kind}, {figure}' for kind in kinds(options) for figure in figures]
    rows.append('replay, CPU time [s]')
    old, new = (np.nanmedian(measured[name], axis=0) for name in ('before', 'now'))
    for name, a, b in zip(rows, old, new, strict=True):
        table.add_row(name.replace('[', r'\['), f'{a:.2f}', f'{b:.2f}', f'{b / a:.2f}')
    Console().print(table)


if __name__ == '__main__':
    main()
