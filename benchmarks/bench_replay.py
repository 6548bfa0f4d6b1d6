"""How many times faster than real time `izmp replay` is, on one core, report included.

Run: ``python benchmarks/bench_replay.py [--seconds 60] [--rate 125] [--repeat 3]``

The log holds the sensors of the simulated robot biped31 at 500 Hz: 31 joints, IMU, three
accelerometers, position, two foot wrenches (see `long_log`). `izmp replay` runs as a user runs it,
as a process of its own: from its start to its end, with everything that it writes. Wall time
counts other programs on the core, CPU time does not. Kernels come from numba's cache.

As computers differ, the last column compares the CPU time with that of rosbags for reading and
deserializing the same messages, in a process of its own, by turns with the replays.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import child
import numpy as np
from long_log import ROBOT, write_log
from rich.console import Console
from rich.table import Table

TIMED = Path(__file__).with_name('timed_replay.py')

BY_ROSBAGS = """
import sys
from pathlib import Path
from rosbags.highlevel import AnyReader
with AnyReader([Path(sys.argv[1])]) as bag:
    for connection, _, raw in bag.messages():
        bag.deserialize(raw, connection.msgtype)
"""


def speeds(
    storage: str,
    runs: list[child.Needed],
    by_rosbags: list[child.Needed],
    messages: int,
    seconds: float,
) -> list[str]:
    """One row of the table of speeds."""
    wall, cpu, memory = np.median([[run.wall, run.cpu, run.memory] for run in runs], axis=0)
    rosbags = np.median([run.cpu for run in by_rosbags])
    return [
        storage, f'{messages}', f'{wall:.2f}', f'{cpu:.2f}', f'{seconds / wall:.1f}',
        f'{seconds / cpu:.1f}', f'{memory:.0f}', f'{rosbags:.2f}', f'{cpu / rosbags:.2f}',
    ]  # fmt: skip


def robot_file(folder: Path, rate: float) -> Path:
    """The robot file with dynamics at a rate [Hz]."""
    text = ROBOT.read_text('utf-8').replace('urdf: ', f'urdf: {ROBOT.parent}/')
    text, found = re.subn(r'bus: [\d.]+', f'bus: {rate}', text)
    assert found == 1
    path = folder / 'robot.yaml'
    path.write_text(text, 'utf-8')
    return path


def parts_table(parts: Mapping[str, float], seconds: float) -> Table:
    """Where the time goes."""
    table = Table(title='CPU time by part, mcap')
    for head in ('part', 's', 'share', 's per min of log'):
        table.add_column(head, justify='left' if head == 'part' else 'right')
    total = sum(parts.values())
    for name, time in sorted(parts.items(), key=lambda item: -item[1]):
        table.add_row(name, f'{time:.2f}', f'{time / total:.0%}', f'{60 * time / seconds:.2f}')
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the log [s]')
    parser.add_argument('--repeat', type=int, default=3, help='runs; the median counts')
    parser.add_argument('--rate', type=float, default=125.0, help='of the dynamics [Hz]')
    options = parser.parse_args()
    table = Table(
        title=f'izmp replay of {options.seconds:.0f} s at {options.rate:.0f} Hz on one core'
    )
    for head in (
        'storage', 'messages', 'wall [s]', 'CPU [s]', '× real time (wall)', '× real time (CPU)',
        'memory [MB]', 'rosbags: CPU [s]', '× rosbags (CPU)',
    ):  # fmt: skip
        table.add_column(
            head.replace('[', r'\['), justify='left' if head == 'storage' else 'right'
        )
    with tempfile.TemporaryDirectory() as folder:
        robot = robot_file(Path(folder), options.rate)
        for storage in ('mcap', 'sqlite3'):
            bag, out = Path(folder) / storage, Path(folder) / 'out'
            messages = write_log(bag, options.seconds, storage)
            replay = ('replay', str(bag), '--robot', str(robot), '-o', str(out), '--overwrite')
            child.izmp(*replay, '--quiet')  # fills numba's cache
            runs, by_rosbags = [], []
            for _ in range(options.repeat):
                by_rosbags.append(child.python('-c', BY_ROSBAGS, str(bag)))
                runs.append(child.izmp(*replay, '--quiet'))
            table.add_row(*speeds(storage, runs, by_rosbags, messages, options.seconds))
            if storage == 'mcap':
                timed = child.python(str(TIMED), *replay, '--quiet')
                parts = json.loads(timed.output)
    console = Console(width=120)
    console.print(table)
    console.print(parts_table(parts, options.seconds))


if __name__ == '__main__':
    main()
