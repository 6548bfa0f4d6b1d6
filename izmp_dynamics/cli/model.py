"""`izmp model`: show what a URDF says, and what is wrong with it."""

import argparse
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'model',
        help='show the tree, masses, joints and problems of a URDF',
        description='Show the tree, masses, centre of mass, joints, sensor frames and problems '
        'of a URDF.',
    )
    parser.add_argument(
        'urdf',
        type=Path,
        metavar='URDF',
        help='URDF or xacro file',
    )
    parser.add_argument(
        '--root', metavar='LINK', help="link to use as floating base (default: the URDF's root)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the model; 1 if it cannot be used."""
    from rich.console import Console

    from izmp_dynamics.cli.model_view import show_model, show_problems
    from izmp_dynamics.cli.terminal import printable
    from izmp_dynamics.model.audit import audit
    from izmp_dynamics.model.robot_model import load_model
    from izmp_dynamics.model.urdf import read_urdf

    console = Console(highlight=False)
    urdf = read_urdf(options.urdf)
    problems = audit(urdf)
    if any(problem.severity == 'error' for problem in problems):
        sentence = printable(f"Robot '{urdf.robot.name}' cannot be used:")
        console.print(sentence, style='bold', markup=False)
        show_problems(console, problems)
        return 1
    show_model(console, load_model(urdf, options.root))
    show_problems(console, problems)
    return 0
