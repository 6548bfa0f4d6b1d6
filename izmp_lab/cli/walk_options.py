"""What `izmp plan walk` and `izmp simulate walk` have in common: how the robot walks."""

import argparse
import math
from typing import TYPE_CHECKING

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
    from izmp_lab.walking.knot_alignment import off_knots

    note = off_knots(parameters)
    return [f'Note:    {note}'] if note else []


def walk_parameters(options: argparse.Namespace) -> 'WalkParameters':
    """Return the parameters of a walk; what was not given has its default.

    Raises:
        MotionError: if a number is out of range, or a scheme does not belong to the generator.
    """
    from izmp_dynamics.base.errors import MotionError
    from izmp_lab.walking.momentum_parameters import MomentumParameters
    from izmp_lab.walking.walk_parameters import WalkParameters

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
