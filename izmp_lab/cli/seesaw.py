"""`izmp simulate seesaw`: a humanoid balances on a seesaw."""

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import SimulationError
from izmp_dynamics.cli.progress import progress_bar


def add_seesaw(motions: Any) -> None:
    """Add the motion to `izmp simulate`."""
    parser = motions.add_parser(
        'seesaw',
        help='balance on a seesaw by momentum control (iCub or biped31)',
        description='A humanoid balances with both feet on a semi-cylindrical seesaw, controlled '
        'by torques at 100 Hz after Nava et al.; see docs/seesaw.md.',
    )
    parser.add_argument(
        '--robot', default='icub', metavar='NAME', help='icub (default) or biped31'
    )
    parser.add_argument(
        '--controller', choices=('mixed', 'robot'), default='mixed',
        help='controls the linear momentum of the robot and the angular momentum of the whole '
        'system (mixed, default), or both of the robot (robot)',
    )  # fmt: skip
    parser.add_argument(
        '--gains', choices=('authors', 'tuned'), default='authors', help='default: authors'
    )
    parser.add_argument(
        '--plant', choices=('mujoco', 'kkt'), default='mujoco',
        help='mujoco: real contacts and sensors (default); kkt: ideal constraints, states only',
    )  # fmt: skip
    parser.add_argument(
        '--reference', default='constant', metavar='R',
        help='of the centre of mass: constant (default) or sine:METRES:HERTZ to the sides, e.g. '
        'sine:0.025:0.25',
    )  # fmt: skip
    parser.add_argument(
        '--push', action='append', default=[], metavar='N:DIRECTION:T[:DURATION]',
        help='push the torso, e.g. 100:lateral:20.0:0.01; repeatable',
    )  # fmt: skip
    parser.add_argument(
        '--duration', type=float, default=60.0, metavar='S', help='[s] (default: 60)'
    )
    parser.add_argument(
        '--damping', type=float, metavar='D',
        help='friction of all joints [N·m·s/rad] (default: 1, as iCub in Gazebo)',
    )  # fmt: skip
    parser.add_argument(
        '-o', '--output', type=Path, required=True, metavar='BAG',
        help='folder for the bag; seesaw.csv in it is the log of the controller',
    )  # fmt: skip
    parser.add_argument('--overwrite', action='store_true', help='replace an earlier bag')
    parser.add_argument('--storage', choices=('mcap', 'sqlite3'), default='mcap')
    parser.add_argument('--quiet', action='store_true', help='no progress bar, no summary')
    parser.set_defaults(run=run_seesaw)


def run_seesaw(options: argparse.Namespace) -> int:
    """Check the loop, simulate, record and sum up."""
    from izmp_lab.seesaw.scenario import simulate_seesaw

    robot, controller = _controller(options)
    with progress_bar('Simulating', options.quiet) as progress:
        outcome = simulate_seesaw(
            robot,
            controller,
            options.output,
            plant=options.plant,
            duration=options.duration,
            pushes=_pushes(options),
            storage=options.storage,
            overwrite=options.overwrite,
            progress=progress,
        )
    if not options.quiet:
        for line in outcome.summary_lines():
            print(line)
        print(f'Bag:     {options.output}')
    run = outcome.run
    if run.unsolved:
        print(
            f'izmp: {run.unsolved} of {len(run.times)} ticks had no solution; they held the last '
            f'torques (the first at {run.times[~run.solved][0]:.2f} s).',
            file=sys.stderr,
        )
    if run.fall:
        print(f'izmp: {run.fall} The bag is kept: {options.output}', file=sys.stderr)
    return 1 if run.fall else 0


def _controller(options: argparse.Namespace) -> Any:
    import numpy as np

    from izmp_lab.seesaw.balancing_robot import load_balancing_robot
    from izmp_lab.seesaw.board import Seesaw
    from izmp_lab.seesaw.controller import MomentumController
    from izmp_lab.seesaw.gains import gains
    from izmp_lab.seesaw.reference import ComReference

    reference = ComReference.parse(options.reference)
    robot = load_balancing_robot(options.robot)
    if options.damping is not None:
        if not 0.0 <= options.damping <= 1e3:
            raise SimulationError(
                f'--damping is {options.damping:g}; valid: 0 to 1000 N·m·s/rad.',
                kind='damping',
                damping=options.damping,
            )
        damping = np.full(robot.model.dof, options.damping)
        robot = dataclasses.replace(robot, damping=damping)
    chosen = gains(options.controller, robot.model.joint_names, options.gains)
    controller = MomentumController(robot, Seesaw(), options.controller, chosen, reference)
    return robot, controller


def _pushes(options: argparse.Namespace) -> Any:
    from izmp_lab.simulation.shove import Shove

    return [Shove.parse(text) for text in options.push]
