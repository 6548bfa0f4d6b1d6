"""All pictures of `izmp experiments itu_biped`, and the words of their page."""

from izmp_dynamics.pages.page import Missing, Page
from izmp_lab.studies.itu_biped import falls, open_parameters, over_time, postures
from izmp_lab.studies.itu_biped.study import ItuStudy, foot_text
from izmp_lab.studies.publish import Figure

FIGURES: dict[str, tuple[Figure, str]] = {
    'exact': (falls.exact, 'on the exact motion the IZMP is the CoP, in every walk'),
    'fig7': (postures.fig7, 'poses with and without CCG'),
    'fig8': (postures.fig8, 'wanted and simulated tracks of the CoG'),
    'fig9': (over_time.fig9, 'ZMP and CoG over time with CCG'),
    'fig10': (over_time.fig10, 'ZMP and CoG over time with the constant vector'),
    'fig11': (over_time.fig11, 'error of the CoG over time'),
    'literal': (postures.literal, 'Algorithm 1 as it is printed, on position servos'),
    'falls': (falls.falls, 'who falls over step time, foot size and friction'),
    'zmp_gap': (falls.zmp_gap, 'why fast steps are not for CCG'),
    'open': (open_parameters.left_open, 'what the paper leaves open, and what depends on it'),
    'iterations': (open_parameters.iterations, 'what Algorithm 1 costs'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'Şanlıtürk and Kocabaş (2024) let the ITU Biped walk with the converging centre of gravity '
    '(CCG): the pelvis is moved until the CoG of all parts is where the point-mass model wants '
    'it. They compare it with a constant vector from pelvis to CoG. Here the same robot, from '
    'their tables, walks in MuJoCo by both, open loop as there, and by a third method: CCG behind '
    'this package’s dynamics filter, which corrects the wanted CoG until the ZMP of all bodies is '
    'the wanted one.'
)

_METHOD = (
    'Every walk is six steps of 0.3 m with the CoG at 0.45 m, planned with a row every 2 ms and '
    'executed by stiff servos with the torques of the plan. The error is the distance of the '
    'simulated CoG from the wanted one over the whole run, standing included; of a robot that '
    'falls, up to the fall. Nothing is random: the same setting gives the same walk.'
)


MISSING = (
    Missing(
        'Figs. 9 and 11: the error of the CoG with CCG, 23.8 mm in the mean and 55.9 mm at most',
        'Not reproduced by the walks of figs. 7 to 11 here, which stay much closer to the wanted '
        'CoG: dense points, the exact form, and servos that know the torques of the motion. '
        'Algorithm 1 as it is printed, on position servos, has errors of the paper’s size, on '
        'some feet and steps (see that figure).',
        'The paper’s size of the feet, duration of a step, friction and joints.',
    ),
    Missing(
        'Figs. 7, 8 and 10: without CCG the robot falls in the fourth step',
        'It falls, but in another step, and only on small feet; step time, size of the feet and '
        'friction are not stated (see “What the paper leaves open”).',
        'These three numbers.',
    ),
    Missing(
        'The contacts of table 4 (6·10⁴ N/m and 6·10³ N·s/m per sphere)',
        'MuJoCo has no such contacts: its stiffness and damping are those of a constraint that is '
        'solved implicitly, scaled by the inertia that the contact sees.',
        'A simulator with penalty contacts, and its friction law.',
    ),
    Missing(
        'Calculation time: 414 µs per point, 1.66 ms for the first',
        'Measured in MATLAB on another computer; the figure on Algorithm 1 gives the times here.',
        'That computer and MATLAB.',
    ),
)
"""What is not reproduced."""


def page(study: ItuStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='The ITU Biped, measured',
        heading='Converging centre of gravity on the ITU Biped, measured',
        lead=_LEAD,
        method=_METHOD,
        settings=settings(study),
        missing=MISSING,
    )


def settings(study: ItuStudy) -> dict[str, str]:
    """List what is tried, for the page."""
    grid = study.grid
    listed = {
        'step times': ', '.join(f'{time:.1f}' for time in grid.step_times) + ' s',
        'feet': ', '.join(map(foot_text, grid.feet)),
        'frictions': ', '.join(f'{friction:.1f}' for friction in grid.frictions),
    }
    varied: dict[str, list[str]] = {}
    for each in open_parameters.variations(study):
        if not each.usual:
            varied.setdefault(each.label, []).append(each.number)
    return listed | {f'{name}, varied': ', '.join(values) for name, values in varied.items()}
