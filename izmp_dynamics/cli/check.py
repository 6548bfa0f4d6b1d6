"""`izmp check`: contents of a recording, missing signals, anomalies, and how to fix them."""

import argparse
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import add_json_option, add_robot_options
from izmp_dynamics.files.plain_json import as_json

CONFUSING = frozenset({'feet_exchanged', 'imu_against_all', 'tilted_force'})
"""Findings with which nothing can be said about the force sensors."""


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'check',
        help='list the contents of a recording, missing signals and anomalies, with fixes',
        description='List the signals of a recording, missing signals and anomalies, each with a '
        'suggested fix. Exits with 1 if a replay would fail.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    add_robot_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the findings; 1 if a replay would fail."""
    from izmp_dynamics.calibration.force_sensors import force_sensor_findings
    from izmp_dynamics.check import check
    from izmp_dynamics.cli.check_view import show_result
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.cli.terminal import make_console
    from izmp_dynamics.model.robot_file import load_robot_file

    robot = load_robot_file(options.robot, options.urdf, with_urdf=True)
    with progress_bar('Checking') as progress:
        result = check(options.bag, robot, progress)
        if result.usable and not result.kinds & CONFUSING:
            result = result.with_findings(force_sensor_findings(options.bag, robot))
    if options.json:
        print(as_json({'usable': result.usable, **vars(result)}), end='')
    else:
        show_result(make_console(), result)
    return 0 if result.usable else 1
