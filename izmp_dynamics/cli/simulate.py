"""`izmp simulate`: a simulated robot moves; all sensors and the truth as a bag."""

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'simulate',
        help='let a simulated robot move; sensors and ground truth as a bag',
        description='Let a robot move in MuJoCo and record all its sensors and the truth.',
    )
    motions = parser.add_subparsers(metavar='MOTION', required=True)
    sway = motions.add_parser(
        'sway',
        help='shift the weight to the sides, fore and aft, and squat',
        description='The robot shifts its weight to the sides, fore and aft, and squats.',
    )
    sway.add_argument(
        '-o', '--output', type=Path, required=True, metavar='BAG', help='folder for the bag'
    )
    sway.add_argument(
        '--robot', type=Path, metavar='FILE', help='robot file (default: that of biped31)'
    )
    sway.add_argument('--overwrite', action='store_true', help='replace an earlier bag')
    sway.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    sway.add_argument('--quiet', action='store_true', help='no progress bar, no summary')
    sway.set_defaults(run=run_sway)


def run_sway(options: argparse.Namespace) -> int:
    """Simulate the sway and record it."""
    from izmp_dynamics.cli.progress import progress_bar
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.resources import find_resource
    from izmp_dynamics.simulation.scenarios import simulate_sway

    robot = load_robot_file(options.robot or find_resource('robots/biped31/robot.yaml'))
    with progress_bar('Simulating', options.quiet) as progress:
        simulated = simulate_sway(
            robot,
            options.output,
            storage=options.storage,
            overwrite=options.overwrite,
            progress=progress,
        )
    if simulated.fall:
        print(f'izmp: {simulated.fall} The bag is kept and marked.', file=sys.stderr)
        return 1
    if not options.quiet:
        print(f'Bag: {options.output}')
    return 0
