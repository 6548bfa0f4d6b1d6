"""`izmp export`: results of `izmp replay` in the formats of other tools."""

import argparse
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'export',
        help='convert results of izmp replay for other tools: Rerun',
        description='Write a recording for the Rerun viewer from the results of izmp replay: the '
        'robot with soles, support polygon, points and forces, the time series and the events, '
        "at the log's own stamps.",
    )
    parser.add_argument(
        'results', type=Path, metavar='RESULT', help='folder that izmp replay -o wrote'
    )
    parser.add_argument(
        '--rerun',
        type=Path,
        required=True,
        metavar='FILE',
        help='its recording, e.g. run.rrd',
    )
    parser.add_argument(
        '--urdf',
        type=Path,
        metavar='FILE',
        help="the robot's URDF, to find meshes with relative or package:// names (default: only "
        'packages of the ROS installation)',
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an earlier recording')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write, and say where."""
    from izmp_dynamics.cli.terminal import printable
    from izmp_dynamics.export.rerun_file import write_rerun

    write_rerun(options.results, options.rerun, urdf=options.urdf, overwrite=options.overwrite)
    print(printable(f'Recording: {options.rerun}'))
    return 0
