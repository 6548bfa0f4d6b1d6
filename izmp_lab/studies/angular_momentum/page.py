"""All pictures of `izmp experiments angular_momentum`, and the words of their page."""

from izmp_dynamics.pages.page import Missing, Page
from izmp_lab.studies.angular_momentum import execution, grid, schemes
from izmp_lab.studies.angular_momentum.study import MomentumStudy
from izmp_lab.studies.angular_momentum.walks import DOUBLE_SUPPORT
from izmp_lab.studies.publish import Figure
from izmp_lab.walking.walk_parameters import SCHEMES

FIGURES: dict[str, tuple[Figure, str]] = {
    'schemes': (schemes.schemes, 'E1 to E4: the ZMP of all bodies against the wanted one'),
    'zmp': (schemes.zmp, 'the same over time'),
    'com': (schemes.com, 'the centre of mass over time, E1 to E4'),
    'grid': (grid.grid, 'step time and step length: where it works, and why it stops'),
    'execution': (execution.execution, 'the walks in MuJoCo, on shorter and shorter soles'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'Mayr, Gattringer and Bremer replan the motion of the centre of mass every 0.1 s, as a '
    'quadratic programme over the contact forces and torques of the next 1.6 s. What legs and '
    'arms do to the angular momentum is estimated at a few nodes of the plan before, and is part '
    'of the contact constraint. E4 of the poster has 8 nodes “concentrated at the beginning”; '
    'here 4 of them are in the first 0.3 s, the others far ahead. Here their experiments E1 to '
    'E4 are made with biped31 and, where example-robot-data is installed, with TALOS; and every '
    'plan is judged by the ZMP of all bodies, not by its own.'
)

_METHOD = (
    'A walk is planned interval by interval as a robot would do it online; then inverse dynamics '
    'of the executed motion, every 2 ms, gives the ZMP of all bodies. Errors count from the '
    'beginning of the first step to the end of the last one. Lift-offs and landings are at knots '
    'of the splines unless stated otherwise: between them the errors are larger, see “Step time '
    'and step length”. The poster states window, splines, interval and number of nodes; the '
    'robot, the gait, the weights, the terminal condition and the places of the nodes are open, '
    'and listed below. Nothing is random.'
)


MISSING = (
    Missing(
        'The table of ZMP errors and calls',
        'Rows and columns cannot be distinguished in the text here. 63.6, 23.2 and 5.9 stand in '
        'one row, 45, 14.6 and 1.6 in another, 12.8 in a third; any digit may be misread, and '
        'which experiment, axis or measure a number belongs to is open. So nothing is compared.',
        'A legible poster.',
    ),
    Missing(
        'The values of the figure of the centre of mass over time',
        'They cannot be read in the text at hand, and robot and gait are not stated; the same '
        'figure is made here with biped31.',
        'A legible poster, the robot and its gait.',
    ),
    Missing('The robot', 'Not stated; here biped31 and TALOS.', 'Its model.'),
    Missing(
        'That a walk planned with a point mass (E1) is executed worse, on long soles',
        'On its own soles, 0.24 m, biped31 tracks the centre of mass of E1 no worse than that of '
        'E4, as the ZMP of E1 stays below them; its CoP is the worse one. On short ones E1 falls. '
        'Without ankle feedback biped31 rocks with E3 and E4, by up to 27 mm of its centre of '
        'mass, and not with E1, and why is not known. The figure on execution has the numbers.',
        'The robot and soles of the poster.',
    ),
    Missing(
        'Calculation times (150 µs per node on an i5-2500)',
        'Measured on another computer in another language; '
        '`benchmarks/bench_angular_momentum.py` gives those here.',
        'That computer and its programme.',
    ),
)
"""What is not reproduced."""


def page(study: MomentumStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='Angular-momentum estimation, measured',
        heading='Walking patterns with angular-momentum estimation, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
        missing=MISSING,
    )


def settings(study: MomentumStudy) -> dict[str, str]:
    """List what is taken, for the page."""
    early = SCHEMES['E4']
    nodes = ', '.join(f'{node:g}' for node in early.nodes[0])
    return {
        'robots': ', '.join(
            f'{robot.name}, centre of mass at {robot.height:.2f} m' for robot in study.robots
        ),
        'time on both feet': f'{DOUBLE_SUPPORT:.1f} s of every step',
        'window': f'{early.window:.1f} s, cubic B-spline of {early.pieces + 3} control points',
        'angular momentum': f'polygon of {early.pieces + 1} points, fitted to samples every '
        f'{early.interval / 2:g} s',
        'nodes of E4': f'{nodes} s',
        'nodes of E3': '0.1 to 1.6 s at knots, and between them in every other cycle',
        'weights': f'α = γ = {early.alpha:g}, β = 1/m² of the ZMP',
        'terminal condition': 'capture point that the wanted ZMP afterwards can hold',
        'contact': f'ZMP {1e3 * early.margin:g} mm inside the soles, friction {early.friction:g}',
        'wanted ZMP': 'from below the ankle to 0.04 m ahead of it while a foot carries alone',
        'swing': 'minimum jerk, 0.04 m high',
    }
