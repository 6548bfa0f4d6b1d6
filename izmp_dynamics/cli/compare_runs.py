"""`izmp compare-runs`: several results of `izmp replay` on one page."""

import argparse
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import add_output_options, listed, printable


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'compare-runs',
        help='compare results of izmp replay on one page, with confidence bands',
        description='Compare results of izmp replay with the first of them, aligned by time or '
        'by gait cycle: OUT/index.html, OUT/numbers.csv and a picture of '
        'each quantity. To compare methods with the ground truth, see izmp compare.',
    )
    parser.add_argument(
        'results', type=Path, nargs='+', metavar='RESULT', help='folder that izmp replay -o wrote'
    )
    add_output_options(parser, 'OUT', 'folder for the page', 'replace an earlier page')
    parser.add_argument(
        '--align',
        choices=('time', 'steps'),
        default='',
        help='by time from the start, or by gait cycle from touchdown to touchdown (default: '
        'steps if every result has three strides)',
    )
    parser.add_argument(
        '--foot', default='', help='its touchdowns start the cycle (default: the one with most)'
    )
    parser.add_argument(
        '--names',
        type=listed,
        default=(),
        metavar='LIST',
        help='comma-separated names of the results (default: the folder names)',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, and say what came out."""
    from izmp_dynamics.compare.publish import compare_runs

    found = compare_runs(
        options.results, options.output, names=options.names, by=options.align, foot=options.foot,
        overwrite=options.overwrite,
    )  # fmt: skip
    for caveat in found.caveats:
        print(printable(f'Note: {caveat}'))
    for line in (*found.verdicts, found.aligned):
        print(printable(line))
    for row in found.shown.texts():
        quantity, result, _, mean, _, _, difference = row
        print(printable(f'{quantity}, {result}: {mean}; difference: {difference}'))
    print(printable(f'Page: {found.page}'))
    return 0
