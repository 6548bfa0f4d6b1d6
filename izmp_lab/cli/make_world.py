"""`izmp make-world`: a world of Webots for a robot, made from its URDF."""

import argparse
import sys
from pathlib import Path
from typing import Any

from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.cli.terminal import add_output_options


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'make-world',
        help='make a world for Webots from a URDF: PROTO, sensors, ground, plugin',
        description='Make a world for Webots from the URDF that a robot file names: the PROTO '
        'with sensors and soles, the ground, a URDF with the plugin for webots_ros2_driver, and a '
        'robot file that fits.',
    )
    parser.add_argument('--robot', type=Path, metavar='FILE', help='robot file (default: biped31)')
    parser.add_argument(
        '--slope-deg', type=float, default=0.0, metavar='DEG',
        help='a ramp behind a level start (default: 0, level)',
    )  # fmt: skip
    parser.add_argument(
        '--time-step', type=int, default=2, metavar='MS',
        help='of the simulation: 2 or 8 (default: 2)',
    )  # fmt: skip
    parser.add_argument('--gait', metavar='NAME', help='walk (default), sway or none')
    parser.add_argument('--speed', metavar='M/S', help='of the walk (default: 0.3)')
    parser.add_argument('--steps', metavar='N', help='of the walk (default: 20)')
    parser.add_argument(
        '--push', action='append', default=[], metavar='N:DIRECTION:T[:DURATION]',
        help='as in izmp simulate walk; repeatable',
    )  # fmt: skip
    add_output_options(
        parser, 'FOLDER', 'for the files', 'replace an earlier world', 'no list of the files'
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the world and say where it is."""
    from izmp_lab.simulation.webots.world import make_world

    named = {name: getattr(options, name) for name in ('gait', 'speed', 'steps')}
    world = make_world(
        options.robot or find_resource('robots/biped31/robot.yaml'),
        options.output,
        options.slope_deg,
        options.time_step,
        {**{name: text for name, text in named.items() if text}, 'push': ' '.join(options.push)},
        options.overwrite,
    )
    if world.remark:
        print(f'izmp: it stands with its joints at zero: {world.remark}', file=sys.stderr)
    if not options.quiet:
        files = {'World': world.world, 'PROTO': world.proto, 'URDF': world.urdf}
        for what, path in (files | {'Robot': world.robot}).items():
            print(f'{what + ":":8} {path}')
    return 0
