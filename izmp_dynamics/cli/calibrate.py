"""`izmp calibrate`: errors of sensors and model from recordings of the robot walking."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import (
    add_json_option,
    add_output_options,
    add_robot_options,
    listed,
    printable,
)


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'calibrate',
        help='estimate delays, mountings, offsets and masses from recordings of a walk',
        description='Estimate the errors of sensors and model from recordings of the robot '
        "walking: Newton's equations must hold, and a foot in stance must not move. Writes "
        'OUT/robot.calibrated.yaml (and .urdf, if masses are corrected), OUT/report.html and '
        'OUT/report.json. A correction must improve the prediction of held-out motion. If there '
        'is nothing to correct, or the calibration is refused, only the report is written. A '
        'refusal says what to record, and the exit status is 1.',
    )
    parser.add_argument('bags', type=Path, nargs='+', metavar='BAG', help='rosbag2 folder or file')
    add_robot_options(parser)
    add_output_options(
        parser, 'OUT', 'folder for the results', 'replace an earlier result in OUT',
        'no progress bar, no summary',
    )  # fmt: skip
    parser.add_argument(
        '--only',
        type=listed,
        metavar='GROUPS',
        help='what to correct, comma-separated: delays, imu_rotation, gyroscope_bias, '
        'accelerometer_bias, ft_offsets, ft_rotation, ft_scale, ft_matrix, units, '
        'unit_places, payload (default: all but gains and unit_places; '
        'ft_matrix if it predicts held-out motion better)',
    )
    parser.add_argument(
        '--find-ft-frame',
        action='store_true',
        help='correct force sensors that are rotated by right angles or have the opposite sign',
    )
    parser.add_argument(
        '--payload-link', metavar='LINK', help='link with a payload (default: the heaviest link)'
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Calibrate; 1 if the calibration is refused."""
    from izmp_dynamics.calibration.calibrate import estimate_corrections
    from izmp_dynamics.calibration.files import ROBOT, write_calibration
    from izmp_dynamics.calibration.result import render_json, summary
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.model.robot_file import load_robot_file

    robot = load_robot_file(options.robot, options.urdf, with_urdf=True)
    with progress_bar('Calibrating', options.quiet) as progress:
        calibration = estimate_corrections(
            options.bags,
            robot,
            groups=options.only,
            find_ft_frame=options.find_ft_frame,
            payload_link=options.payload_link,
            progress=progress,
        )
        result = write_calibration(calibration, options.output, options.overwrite)
    if options.json:
        print(render_json(result), end='')
    elif not options.quiet:
        for line in summary(result):
            print(printable(line))
        for name, path in result.files.items():
            print(printable(f'{name}: {path}'))
        if ROBOT in result.files:
            given = (shlex.quote(str(path)) for path in (options.bags[0], result.files[ROBOT]))
            print(printable('Next: izmp replay {} --robot {} -o OUT'.format(*given)))
    if result.accepted or result.agrees:
        return 0
    if options.quiet:
        print(printable(f'izmp: {result.reason}'), file=sys.stderr)
    return 1
