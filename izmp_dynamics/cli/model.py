"""`izmp model`: show what a URDF says, and what is wrong with it."""

import argparse
from pathlib import Path
from typing import Any

from izmp_dynamics.cli.terminal import add_json_option
from izmp_dynamics.files.plain_json import as_json


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'model',
        help='show the tree, masses, joints and problems of a URDF',
        description='Show the tree, masses, centre of mass, joints and problems of a URDF, and '
        'the pose of every sensor frame.',
    )
    parser.add_argument(
        'urdf',
        type=Path,
        metavar='URDF',
        help='URDF or xacro file, or a robot file (*.yaml), whose sensors and soles are shown too',
    )
    parser.add_argument(
        '--root', metavar='LINK', help="link to use as floating base (default: the URDF's root)"
    )
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the model; 1 if it cannot be used."""
    from izmp_dynamics.cli.model_view import model_facts, show_model, show_problems
    from izmp_dynamics.cli.terminal import make_console, printable
    from izmp_dynamics.model.audit import audit
    from izmp_dynamics.model.robot_file import load_robot_file, robot_file_path
    from izmp_dynamics.model.robot_model import load_model
    from izmp_dynamics.model.urdf import read_urdf

    console = make_console()
    robot = None
    path = robot_file_path(options.urdf)
    if path.suffix.lower() in ('.yaml', '.yml'):
        robot = load_robot_file(path, with_urdf=True)
    urdf = robot.read_urdf() if robot is not None else read_urdf(path)
    problems = audit(urdf)
    if any(problem.severity == 'error' for problem in problems):
        if options.json:
            print(as_json({'usable': False, 'problems': problems}), end='')
            return 1
        sentence = printable(f"Robot '{urdf.robot.name}' cannot be used:")
        console.print(sentence, style='bold', markup=False)
        show_problems(console, problems)
        return 1
    root = options.root or (robot.root if robot is not None else None)
    model = load_model(urdf, root)
    if options.json:
        facts = model_facts(model, robot)
        print(as_json({'usable': True, **facts, 'problems': problems}), end='')
        return 0
    show_model(console, model, robot)
    show_problems(console, problems)
    return 0
