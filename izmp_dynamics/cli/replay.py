"""`izmp replay`: evaluate a recording; results as a bag and a report."""

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from izmp_dynamics.cli.terminal import add_output_options, add_robot_options, printable

if TYPE_CHECKING:
    from izmp_dynamics.evaluate import ReplayResult
    from izmp_dynamics.verdict.expect import Expectation

NOT_MET = 3
"""Exit status if a limit is not met."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'replay',
        help='evaluate a recording: IZMP of every method, as a bag and a report',
        description='Evaluate a rosbag2 recording: contact wrench and IZMP of every method, '
        'written to OUT/bag (rosbag2), OUT/report.html and OUT/report.json. Exit status: 0 done, '
        '1 failed, 2 wrong usage, 3 done, but a limit of --expect is not met.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    add_robot_options(parser)
    add_output_options(
        parser, 'OUT', 'folder for the results', 'replace an earlier result in OUT',
        'no progress bar, no summary',
    )  # fmt: skip
    parser.add_argument(
        '--storage', choices=('mcap', 'sqlite3'), default='mcap', help='format of the bag in OUT'
    )
    parser.add_argument(
        '--filter',
        type=_filter,
        metavar='SECONDS',
        help='half-width of the matched filter, none, or auto: chosen from the measured noise '
        '(default: as in the robot file; auto if it has no filter)',
    )
    parser.add_argument(
        '--expect',
        type=Path,
        metavar='LIMITS',
        help='limits that the recording must meet (as config/limits_example.yaml). OUT/expect.xml '
        '(JUnit) lists them; the exit status is 3 if one is not met; results are always written',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate and say what came out."""
    from izmp_dynamics.verdict.summary import summary_lines

    result = _evaluated(options)
    status = _state(result.expectations)
    met = sum(expectation.met for expectation in result.expectations)
    if not options.quiet:
        for note in result.notes:
            print(printable(f'Note: {note}'))
        verdict, *figures = summary_lines(result.summary)
        for line in (verdict, result.summary.verdict.advice, *result.summary.remarks, *figures):
            if line:
                print(printable(line))
        if result.expectations:
            print(f'{met} of {len(result.expectations)} limits met')
        print(f'Report: {result.html}')
        print(f'Bag:    {result.bag}')
    return status


def _evaluated(options: argparse.Namespace) -> 'ReplayResult':
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.evaluate import replay
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.verdict.expect import load_limits

    limits = None if options.expect is None else load_limits(options.expect)
    robot = load_robot_file(options.robot, options.urdf, with_urdf=True)
    if options.filter is not None:
        changes = {'method': 'auto', 'half_width': None} | options.filter
        robot = dataclasses.replace(robot, filter=dataclasses.replace(robot.filter, **changes))
    with progress_bar('Evaluating', options.quiet) as progress:
        return replay(
            options.bag,
            robot,
            options.output,
            storage=options.storage,
            overwrite=options.overwrite,
            limits=limits,
            progress=progress,
            command=shlex.join(['izmp', *sys.argv[1:]]),
        )


def _state(expectations: 'Sequence[Expectation]') -> int:
    """Say which limits are not met; return the exit status."""
    failed = [expectation for expectation in expectations if not expectation.met]
    for expectation in failed:
        line = f'Not met: {expectation.name}. {expectation.sentence}'
        print(printable(line), file=sys.stderr)
    return NOT_MET if failed else 0


def _filter(text: str) -> dict[str, Any]:
    """What --filter states, as changes of the robot file's `filter`."""
    if text in ('auto', 'none'):
        return {'method': text}
    try:
        half_width = float(text)
    except ValueError:
        half_width = -1.0
    if not 1e-4 <= half_width <= 1.0:
        raise argparse.ArgumentTypeError(
            f"'{text}' is neither auto, none nor a half-width of 0.0001 to 1 in seconds"
        )
    return {'method': 'matched', 'half_width': half_width}
