"""`izmp plan`: a motion, planned only: what it asks of the robot, in numbers and as a plot."""

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from izmp_dynamics.base.resources import find_resource

if TYPE_CHECKING:
    from izmp_lab.walking.walk_parameters import WalkParameters

GENERATORS = ('cart_table', 'angular_momentum')
SCHEMES = ('E1', 'E2', 'E3', 'E4')

_NUMBERS = (
    ('--speed', 'speed', 'M/S', 'along the path (default: 0.3)'),
    ('--turn', 'turn_rate', 'RAD/S', 'rate of turning, positive to the left (default: 0)'),
    ('--step-time', 'step_time', 'S', 'from landing to landing (default: 0.448; 0.8 *)'),
    (
        '--double-support',
        'double_support',
        'PART',
        'part of a step on both feet (default: 0.2; 0.25 *)',
    ),
    ('--swing-height', 'swing_height', 'M', 'of the swinging foot (default: 0.04)'),
    ('--step-width', 'step_width', 'M', 'between the soles (default: that of the hips)'),
    ('--com-height', 'com_height', 'M', 'of the centre of mass (default: 0.8; 0.75 *)'),
)


def compile_kernels() -> None:
    """Plan a walk, so that none waits for its kernels: for `izmp compile`."""
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_lab.walking.walk import make_plan

    make_plan(load_robot_file('biped31'), 'walk', 0.01, steps=2)


def add_walk_options(parser: argparse.ArgumentParser) -> None:
    """Add the options; `walk_parameters` reads them."""
    group = parser.add_argument_group('walk')
    group.add_argument(
        '--generator', choices=GENERATORS, default=GENERATORS[0],
        help='cart_table: all at once, with a dynamics filter (default); angular_momentum: '
        'replanned every 0.1 s with estimated angular momentum; it has the defaults marked *',
    )  # fmt: skip
    group.add_argument(
        '--scheme', choices=SCHEMES,
        help='of angular_momentum: E1 point mass, E2 its second iteration, E3 16 uniform nodes, '
        'E4 8 nodes, half of them early (default)',
    )  # fmt: skip
    group.add_argument('--steps', type=int, metavar='N', help='number of steps (default: 20)')
    for option, name, unit, text in _NUMBERS:
        group.add_argument(option, dest=name, type=float, metavar=unit, help=text)
    group.add_argument(
        '--slope-deg', type=float, default=0.0, metavar='DEG',
        help='walk from level ground up a slope (default: 0)',
    )  # fmt: skip


def notes(parameters: 'WalkParameters') -> list[str]:
    """Return what a user should know of a walk although it can be planned, line by line."""
    from izmp_lab.walking.walk_parameters import off_knots

    note = off_knots(parameters)
    return [f'Note:    {note}'] if note else []


def walk_parameters(options: argparse.Namespace) -> 'WalkParameters':
    """Return the parameters of a walk; what was not given has its default."""
    from izmp_dynamics.base.errors import MotionError
    from izmp_lab.walking.walk_parameters import MomentumParameters, WalkParameters

    names = ('steps', *(name for _, name, _, _ in _NUMBERS))
    given = {name: getattr(options, name) for name in names}
    stated = {name: value for name, value in given.items() if value is not None}
    if options.scheme:
        if options.generator != 'angular_momentum':
            raise MotionError(
                'A --scheme is for --generator angular_momentum.', kind='scheme_without_generator'
            )
        stated['momentum'] = MomentumParameters.scheme(options.scheme)
    slope = math.radians(options.slope_deg)
    return WalkParameters.by(options.generator, slope=slope, **stated)


if TYPE_CHECKING:
    from izmp_lab.walking.biped import Biped
    from izmp_lab.walking.walk import PlannedWalk


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        'plan',
        help='plan a motion without executing it: footsteps, ZMP, joints against their limits',
        description='Plan a motion of a robot without executing it.',
    )
    motions = parser.add_subparsers(metavar='MOTION', required=True)
    walk = motions.add_parser(
        'walk',
        help='a walk on level ground, up a slope or in a curve',
        description='Plan a walk: footsteps, ZMP, centre of mass, the motion of every joint and '
        'its torque. A walk that the robot cannot do is refused with step, joint and value.',
    )
    add_walk_options(walk)
    walk.add_argument('--robot', type=Path, metavar='FILE', help='robot file (default: biped31)')
    walk.add_argument('--plot', type=Path, metavar='FILE', help='e.g. plan.png, .svg or .pdf')
    walk.add_argument('--quiet', action='store_true', help='no summary')
    walk.set_defaults(run=run_walk)


def run_walk(options: argparse.Namespace) -> int:
    """Plan a walk, say what it takes, and draw it."""
    from izmp_dynamics.model.robot_file import load_robot_file
    from izmp_lab.walking.biped import Biped
    from izmp_lab.walking.walk import plan_walk

    robot = load_robot_file(options.robot or find_resource('robots/biped31/robot.yaml'))
    biped = Biped.of(robot)
    walk = plan_walk(biped, walk_parameters(options))
    if not options.quiet:
        for line in summary_lines(walk, biped):
            print(line)
    if options.plot:
        from izmp_lab.cli.walk_figure import save_walk_figure

        save_walk_figure(walk, biped, options.plot)
        if not options.quiet:
            print(f'Plot:    {options.plot}')
    if walk.stopped:
        print(f'izmp: the robot stops early: {walk.stopped}', file=sys.stderr)
    return 1 if walk.stopped else 0


def summary_lines(walk: 'PlannedWalk', biped: 'Biped') -> list[str]:
    """Say in sentences what a walk takes."""
    import numpy as np

    parameters, plan, model = walk.parameters, walk.plan, biped.model
    lines = [
        f'Walk:    {walk.timing.steps} steps of {parameters.step_length:.3f} m in '
        f'{parameters.step_time:g} s, {plan.duration:.2f} s with standing'
    ]
    lines += [_zmp_line(walk), *notes(parameters)]
    span = np.minimum(plan.q - model.position_lower, model.position_upper - plan.q).min(axis=0)
    span[np.ptp(plan.q, axis=0) == 0.0] = np.inf
    torques = np.zeros_like(plan.q) if plan.feed_forward is None else plan.feed_forward
    for name, share in (
        ('speed', np.abs(plan.qd).max(axis=0) / model.velocity_limit),
        ('torque', np.abs(torques).max(axis=0) / model.effort_limit),
    ):
        joint = int(np.argmax(share))
        lines.append(
            f'Joints:  largest {name} {100.0 * share[joint]:.0f} % of its limit, '
            f'at {model.joint_names[joint]}'
        )
    joint = int(np.argmin(span))
    lines.append(
        f'Joints:  smallest distance to a joint limit {np.degrees(span[joint]):.1f}° '
        f'at {model.joint_names[joint]}'
    )
    return lines


def _zmp_line(walk: 'PlannedWalk') -> str:
    import numpy as np

    before, after = (1e3 * np.array(walk.filter_errors[index]) for index in (0, -1))
    if walk.parameters.generator == 'cart_table':
        return (
            f'ZMP:     mean error {after[0]:.2f} mm (x), {after[1]:.2f} mm (y) after '
            f'{len(walk.filter_errors) - 1} passes of the dynamics filter, '
            f'{before[0]:.1f} and {before[1]:.1f} mm before'
        )
    rms = 1e3 * np.sqrt(np.mean(walk.zmp_errors**2, axis=0))
    most = 1e3 * np.abs(walk.zmp_errors).max(axis=0)
    return (
        f'ZMP:     of all bodies within {rms[0]:.1f} mm (x), {rms[1]:.1f} mm (y) RMS of the '
        f'desired one, {most[0]:.1f} and {most[1]:.1f} mm at most'
    )
