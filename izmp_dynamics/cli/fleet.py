"""`izmp fleet`: evaluate many recordings; a table, a page, and the reports if wanted."""

import argparse
from typing import Any

from izmp_dynamics.cli.process_options import add_process_options, processes_of
from izmp_dynamics.cli.terminal import add_output_options, printable


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'fleet',
        help='evaluate many recordings: a table and a page, worst first',
        description='Evaluate many rosbag2 recordings as `izmp replay` does, on all cores: '
        'OUT/fleet.html, OUT/fleet.parquet and OUT/fleet.json with a row per bag. After an '
        'interruption, run the same command again to resume.',
    )
    parser.add_argument(
        'logs',
        nargs='+',
        metavar='LOGS',
        help='folders, bags, globs, or .txt files that list them',
    )
    parser.add_argument(
        '--robot',
        action='append',
        required=True,
        metavar='[PATTERN=]FILE',
        help='robot file, or a robot: go2, g1, …; with PATTERN, for bags whose path or name '
        "matches, e.g. 'icub_*=icub.yaml'; {bag} in FILE is the bag's folder; repeatable",
    )
    add_output_options(parser, 'OUT', 'folder for the results', quiet='no progress, no summary')
    parser.add_argument(
        '--reports', action='store_true', help='write the full report of every bag to OUT/reports'
    )
    add_process_options(parser, '--workers', None)
    parser.add_argument(
        '--strict', action='store_true', help='exit with 1 if any bag could not be evaluated'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate all and say what came out."""
    from izmp_dynamics.cli.progress import fleet_progress
    from izmp_dynamics.fleet.campaign import run_fleet

    processes = processes_of(options)
    with fleet_progress(options.quiet) as progress:
        fleet = run_fleet(
            options.logs, options.robot, options.output, processes,
            reports=options.reports, progress=progress,
        )  # fmt: skip
    if not options.quiet:
        for line in _lines(fleet):
            print(printable(line))
    failed = [row['state'] == 'error' for row in fleet.rows]
    return int(any(failed) if options.strict else all(failed))


def _lines(fleet: Any) -> list[str]:
    """What the terminal shows at the end."""
    from collections import Counter

    from izmp_dynamics.fleet.campaign import NUMBERS, PAGE, TABLE
    from izmp_dynamics.fleet.row import STATES

    counts = Counter(row['state'] for row in fleet.rows)
    words = {'error': 'not evaluated', 'unclear': 'cannot say'}
    states = ', '.join(f'{counts[s]} {words.get(s, s)}' for s in STATES if counts[s])
    kept = f' ({fleet.kept} of an earlier run)' if fleet.kept else ''
    worst = [row for row in fleet.rows[:5] if row['state'] != 'stable']
    damaged = [row for row in fleet.rows if row['damage']]
    more = [f'{len(damaged) - 5} more bags are damaged.'] if len(damaged) > 5 else []
    return [
        f'{fleet.bags} {"bag" if fleet.bags == 1 else "bags"}{kept}: {states}.',
        *(f'{row["name"]}: {row["verdict"]}' for row in worst),
        *(f'{row["name"]}: {row["damage"]}' for row in damaged[:5]),
        *more,
        f'Page:    {fleet.folder / PAGE}',
        f'Table:   {fleet.folder / TABLE}',
        f'Numbers: {fleet.folder / NUMBERS}',
    ]
