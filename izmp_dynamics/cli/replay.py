"""`izmp replay`: evaluate a recording; results as a bag and a report."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'replay',
        help='evaluate a recording: IZMP of every method, as a bag and a report',
        description='Evaluate a rosbag2 recording: contact wrench and IZMP of every method, '
        'written as OUT/bag (rosbag2), OUT/report.html and OUT/report.json.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    parser.add_argument('--robot', type=Path, required=True, metavar='FILE', help='robot file')
    parser.add_argument('--urdf', type=Path, metavar='FILE', help='instead of the one it names')
    parser.add_argument(
        '-o', '--output', type=Path, required=True, metavar='OUT', help='folder for the results'
    )
    parser.add_argument(
        '--overwrite', action='store_true', help='replace an earlier result in OUT'
    )
    parser.add_argument(
        '--storage', choices=('mcap', 'sqlite3'), default='mcap', help='of the bag in OUT'
    )
    parser.add_argument(
        '--low-pass',
        type=float,
        metavar='HZ',
        help='zero-phase low-pass on all signals (overrides the robot file; default: none)',
    )
    parser.add_argument('--quiet', action='store_true', help='no progress bar, no summary')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate and say what came out."""
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.cli.terminal import printable
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.replay.run import replay
    from izmp_dynamics.report.summary import summary_lines

    robot = load_robot_file(options.robot, options.urdf)
    if options.low_pass is not None:
        low_pass = dataclasses.replace(robot.low_pass, cutoff=options.low_pass)
        robot = dataclasses.replace(robot, low_pass=low_pass)
    with progress_bar('Evaluating', options.quiet) as progress:
        result = replay(
            options.bag,
            robot,
            options.output,
            storage=options.storage,
            overwrite=options.overwrite,
            progress=progress,
        )
    if not options.quiet:
        for note in result.notes:
            print(printable(f'Note: {note}'))
        verdict, *figures = summary_lines(result.summary)
        for line in (verdict, result.summary.verdict.advice, *result.summary.remarks, *figures):
            if line:
                print(printable(line))
        print(f'Report: {result.html}')
        print(f'Bag:    {result.bag}')
    return 0
