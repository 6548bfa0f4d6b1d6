"""`izmp draft`: a robot file to begin with, from a recording and a URDF."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import add_json_option, add_output_options, printable
from izmp_dynamics.files.plain_json import as_json


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'draft',
        help='write a first robot file from a recording and a URDF',
        description='Write a first robot file: topics of joints, IMU and force sensors in the '
        'recording, links of the URDF on which they are mounted, and soles. Guesses are marked '
        'CHECK. The robot should stand or walk in the recording.',
    )
    parser.add_argument('bag', type=Path, metavar='BAG', help='rosbag2 folder or file')
    parser.add_argument(
        '--urdf',
        type=Path,
        metavar='FILE',
        help='URDF or xacro (default: the robot_description in BAG, saved beside FILE)',
    )
    add_output_options(parser, 'FILE', 'the robot file, *.yaml', 'replace FILE')
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the file and print it."""
    from izmp_dynamics.draft.write import write_draft

    guesses = write_draft(options.bag, options.urdf, options.output, options.overwrite)
    if options.json:
        text = options.output.read_text(encoding='utf-8')
        print(as_json({'file': options.output, 'text': text, 'to_check': guesses}), end='')
        return 0
    for line in options.output.read_text(encoding='utf-8').splitlines():
        print(printable(line))
    print()
    if guesses:
        print(f'To be checked: {len(guesses)}, marked CHECK.')
    print(printable(f'Written: {options.output}'))
    given = (shlex.quote(str(path)) for path in (options.bag, options.output))
    print(printable('Next:    izmp check {} --robot {}'.format(*given)))
    return 0
