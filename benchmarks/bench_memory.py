"""How much memory `izmp replay` needs for a long log.

Run: ``python benchmarks/bench_memory.py [--minutes 1 6] [--report-hours 1] [--folder /tmp]``

The logs are those of `bench_replay`. An hour (`--minutes 60`) takes 5 GB for the log, 2.5 GB for
the results, 0.5 GB for what the report is made of, and a few minutes. The memory is the largest
resident set of the process: a part that does not depend on the log (libraries, one window, the
page), and the columns of numbers that the report works on at a time, one or more for every instant
at which the dynamics are evaluated (125 a second). The last line continues the line through the
shortest and the longest log to an hour.

With `--report-hours` only the report is written, on the results of a log of a minute that are
repeated as often (see `long_report`): ten hours take 5 GB while it runs.
"""

import argparse
import tempfile
from pathlib import Path

import child
from long_log import ROBOT, write_log
from rich.console import Console
from rich.table import Table

LONG_REPORT = Path(__file__).with_name('long_report.py')


def run(minutes: float, folder: Path) -> tuple[int, float, child.Needed]:
    """Messages and size [GB] of a log, and what its replay needed."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        bag, out = Path(name) / 'log', Path(name) / 'out'
        messages = write_log(bag, 60.0 * minutes)
        size = sum(file.stat().st_size for file in bag.iterdir()) / 1e9
        needed = child.izmp('replay', str(bag), '--robot', str(ROBOT), '-o', str(out), '--quiet')
    return messages, size, needed


def report_table(hours: list[float], folder: Path | None) -> Table:
    """What the report alone needs."""
    table = Table(title='Memory of the report')
    for head in ('log [h]', 'CPU [s]', 'memory [MB]'):
        table.add_column(head.replace('[', r'\['), justify='right')
    with tempfile.TemporaryDirectory(dir=folder) as name:
        bag = Path(name) / 'log'
        write_log(bag, 60.0)
        for length in hours:
            needed = child.python(str(LONG_REPORT), str(bag), str(ROBOT), f'{length}', name)
            table.add_row(f'{length:g}', f'{needed.cpu:.0f}', f'{needed.memory:.0f}')
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--minutes', type=float, nargs='+', default=[1.0, 6.0], help='lengths of the logs [min]'
    )
    parser.add_argument(
        '--report-hours', type=float, nargs='+', help='only reports, on so long logs [h]'
    )
    parser.add_argument('--folder', type=Path, help='where to put the logs')
    options = parser.parse_args()
    if options.report_hours:
        Console(width=100).print(report_table(options.report_hours, options.folder))
        return
    table = Table(title='Memory of izmp replay')
    for head in ('log [min]', 'messages', 'size [GB]', 'wall [s]', 'CPU [s]', 'memory [MB]'):
        table.add_column(head.replace('[', r'\['), justify='right')
    lengths, memories = sorted(options.minutes), []
    for minutes in lengths:
        messages, size, needed = run(minutes, options.folder)
        memories.append(needed.memory)
        table.add_row(
            f'{minutes:g}', f'{messages}', f'{size:.2f}', f'{needed.wall:.0f}',
            f'{needed.cpu:.0f}', f'{needed.memory:.0f}',
        )  # fmt: skip
    console = Console(width=100)
    console.print(table)
    if len(lengths) > 1 and lengths[-1] < 60.0:
        slope = (memories[-1] - memories[0]) / (lengths[-1] - lengths[0])
        console.print(f'Continued to an hour: {memories[-1] + slope * (60 - lengths[-1]):.0f} MB')


if __name__ == '__main__':
    main()
