"""`izmp compare`: methods against a reference on one's own recording."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from izmp_dynamics.cli.terminal import add_json_option, add_robot_options, listed
from izmp_dynamics.files.plain_json import as_json

if TYPE_CHECKING:
    from izmp_dynamics.compare.compare import Comparison


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'compare',
        help="compare methods with a reference on a recording, with the paper's metrics",
        description='Evaluate a rosbag2 recording and compare the IZMP of each method with a '
        'reference: relative error, RMS, largest error, bias. To compare several results of izmp '
        'replay, see izmp compare-runs.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    add_robot_options(parser)
    parser.add_argument(
        '--methods',
        type=listed,
        metavar='LIST',
        help='comma-separated: mr_ad, ir_md, cop (default: mr_ad, and ir_md if the robot file '
        'states a position)',
    )
    parser.add_argument(
        '--reference',
        default='ground_truth',
        metavar='NAME',
        help='ground_truth (of a simulation), cop (from the feet), mr_ad or ir_md '
        '(default: ground_truth)',
    )
    add_json_option(parser)
    parser.add_argument('--quiet', action='store_true', help='no progress bar')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate and print the table."""
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.compare.compare import NO_POSITION, compare_bag
    from izmp_dynamics.model.robot_file import load_robot_file

    robot = load_robot_file(options.robot, options.urdf, with_urdf=True)
    methods = ('mr_ad', 'ir_md') if options.methods is None else options.methods
    if options.methods is None and robot.position is None:
        methods = ('mr_ad',)
        print(f'Note: IR-MD is left out. {NO_POSITION}', file=sys.stderr)
    with progress_bar('Comparing', options.quiet) as progress:
        comparisons = compare_bag(options.bag, robot, methods, options.reference, progress)
    if options.json:
        print(as_json({'reference': options.reference, 'methods': comparisons}), end='')
    else:
        _print_table(options.reference, comparisons)
    return 0


def _print_table(reference: str, comparisons: 'Sequence[Comparison]') -> None:
    from rich.table import Table
    from rich.text import Text

    from izmp_dynamics.cli.terminal import make_console
    from izmp_dynamics.pages.picture import number

    table = Table(title=f'Against {reference}, in nif', title_justify='left', box=None)
    table.add_column('method')
    table.add_column('axis')
    headings = ('Σ [%]', 'Δ [%]', 'mean [mm]', 'RMS [mm]', 'max [mm]', 'bias [mm]', 'count')
    for heading in headings:
        table.add_column(Text(heading), justify='right')
    for one in comparisons:
        for axis, found in (('x', one.x), ('y', one.y)):
            lengths = (found.mean, found.rms, found.largest, found.bias)
            table.add_row(
                one.method, axis, number(found.relative, 2), number(found.paper, 2),
                *(number(1e3 * length, 3) for length in lengths), str(found.count),
            )  # fmt: skip
    console = make_console()
    console.print(table)
    console.print('Σ: Σ|f − f_ref| / Σ|f_ref|; Δ: the relative error of the paper', style='dim')
    for one in comparisons:
        console.print(
            f'{one.method}: {number(1e3 * one.distance_mean, 3)} mm from {reference} in the plane '
            f'in the mean, at most {number(1e3 * one.distance_largest, 3)} mm',
            highlight=False, markup=False,
        )  # fmt: skip
