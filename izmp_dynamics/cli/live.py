"""`izmp live`: the node graph in one process over real DDS, with live figures in the terminal."""

import argparse
import signal
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.cli.terminal import add_robot_options

MOTIONS = ('sway', 'walk')


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'live',
        help='run the node graph on a bag, a simulation or a robot, with live figures',
        description='Run all nodes in one process over DDS. The sensors come from BAG, from a '
        'simulation or, with neither, from the robot on the network. Needs rclpy: a ROS 2 '
        "distribution, or pip install '.[ros]' in the folder of izmp_dynamics.",
    )
    parser.add_argument('bag', type=Path, nargs='?', metavar='BAG', help='recording to play')
    parser.add_argument('--simulate', choices=MOTIONS, help='simulate a robot with this motion')
    add_robot_options(parser, default='with --simulate: biped31')
    parser.add_argument(
        '--record', type=Path, metavar='BAG', help='record all topics to this folder'
    )
    parser.add_argument('--overwrite', action='store_true', help='replace an earlier recording')
    parser.add_argument(
        '--rate', type=float, default=1.0, metavar='X', help='playback rate (default: 1)'
    )
    parser.add_argument('--quiet', action='store_true', help='no live figures')
    parser.add_argument(
        '--view',
        nargs='?',
        const='127.0.0.1',
        metavar='ADDRESS',
        help='show the robot in a web browser: on this computer only, or served at ADDRESS',
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run until the motion is over, or until SIGINT (Ctrl-C) or SIGTERM."""
    from izmp_dynamics.nodes.start_up import signals_handled

    as_main_does = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    with signals_handled(as_main_does):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_dynamics.nodes.main import require_ros

    if options.bag and options.simulate:
        raise IzmpError('Give a bag or --simulate, not both.', kind='two_sources')
    if not options.robot and not options.simulate:
        raise IzmpError("The robot file is missing; add '--robot FILE'.", kind='no_robot_file')
    if not 0.0 < options.rate <= 100.0:
        raise IzmpError(
            f'--rate is {options.rate:g}; valid: more than 0, up to 100.',
            kind='out_of_range', option='--rate', value=options.rate,
        )  # fmt: skip
    require_ros()
    from izmp_dynamics.cli.terminal import printable
    from izmp_dynamics.nodes.session import LiveSession

    path = options.robot or find_resource('robots/biped31/robot.yaml')
    robot = load_robot_file(path, options.urdf)
    own = bool(options.bag or options.simulate)
    session = LiveSession(path, robot, options.urdf, options.record, options.overwrite, own)
    with session:
        if options.bag:
            source = session.bag(options.bag, options.rate)
        elif options.simulate:
            source = session.simulation(options.simulate, options.rate)
        else:
            source = session.robot_itself()
        if options.view:
            session.view(options.view)
        summary = session.watch(source, quiet=options.quiet)
    for line in summary.split('\n'):
        print(printable(line))
    if session.recording_failure is not None:
        raise session.recording_failure
    if options.record:
        print(f'Bag: {options.record}')
    return 0
