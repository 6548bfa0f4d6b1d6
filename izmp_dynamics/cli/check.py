"""`izmp check`: what is in a recording, what is missing, what is odd, and the remedy."""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from izmp_dynamics.cli.progress import progress_bar
from izmp_dynamics.model.robot_file import load_robot_file

_STYLES = {'error': 'red', 'odd': 'yellow', 'note': 'dim'}


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'check',
        help='say what is in a recording, what is missing or odd, and the remedy',
        description='Say what is in a recording, what is missing, what is odd, and the remedy '
        'for each. Exits with 1 if a replay would fail.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    parser.add_argument('--robot', type=Path, required=True, metavar='FILE', help='robot file')
    parser.add_argument('--urdf', type=Path, metavar='FILE', help='instead of the one it names')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the findings; 1 if a replay would fail."""
    from izmp_dynamics.replay.check import check

    robot = load_robot_file(options.robot, options.urdf)
    with progress_bar('Checking') as progress:
        result = check(options.bag, robot, progress)
    console = Console(highlight=False)
    console.print(_signals(result.signals) if result.signals else _topics(result.topics))
    used = {signal.topic for signal in result.signals}
    others = [topic.name for topic in result.topics if topic.name not in used]
    if result.signals and others:
        console.print(f'Not used: {", ".join(others)}', style='dim', markup=False)
    for finding in result.findings:
        text = Text(f'{finding.severity}: {finding.message}', style=_STYLES[finding.severity])
        console.print(text.append(f' {finding.remedy}'.rstrip(), style='not dim default'))
    odd = sum(finding.severity == 'odd' for finding in result.findings)
    if not result.usable:
        console.print('This recording cannot be replayed with this robot file.')
        return 1
    console.print(f'This recording can be replayed; {odd or "no"} odd finding{"s"[: odd != 1]}.')
    return 0


def _signals(signals: Any) -> Table:
    table = Table(title='Signals in use', title_justify='left')
    for heading in ('topic', 'used as'):
        table.add_column(heading, overflow='fold')
    for heading in ('messages', 'rate [Hz]', 'longest gap [ms]', 'gated'):
        table.add_column(heading, justify='right')
    for signal in signals:
        table.add_row(
            Text(signal.topic),
            signal.used_as,
            str(signal.count),
            f'{signal.rate:.1f}',
            f'{1e3 * signal.longest_gap:.1f}',
            str(sum(signal.gated.values())),
        )
    return table


def _topics(topics: Any) -> Table:
    table = Table(title='Topics in the bag', title_justify='left')
    for heading in ('topic', 'type', 'messages'):
        table.add_column(
            heading, overflow='fold', justify='right' if heading == 'messages' else 'left'
        )
    for topic in topics:
        table.add_row(Text(topic.name), topic.msgtype, str(topic.count))
    return table
