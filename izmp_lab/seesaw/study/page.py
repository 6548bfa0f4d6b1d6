"""All pictures of `izmp experiments seesaw`, and the words of their page."""

from izmp_dynamics.pages.picture import Missing, Page
from izmp_lab.seesaw.study import checks, limits, printed
from izmp_lab.seesaw.study.tasks import SeesawStudy
from izmp_lab.studies.publish import Figure

FIGURES: dict[str, tuple[Figure, str]] = {
    'equations': (checks.equations, 'the equations of the paper in moving states'),
    'izmp': (checks.izmp, 'the IZMP on the moving board against the true CoP'),
    'fig2': (printed.fig2, 'error of the linear momentum after a push'),
    'fig3': (printed.fig3, 'error of the angular momentum after a push'),
    'fig4': (printed.fig4, 'angle of the board after a push'),
    'fig5': (printed.fig5, 'lateral CoM tracking a sine'),
    'gains': (limits.gains, 'the same gains for both controllers'),
    'push_limit': (limits.push_limit, 'how hard a push the robot stands'),
    'plants': (checks.plants, 'MuJoCo against ideal constraints'),
}
"""Name → figure, and what it shows."""

_LEAD = (
    'Nava et al. (2017) let iCub balance with both feet on a semi-cylindrical seesaw by control '
    'of momentum: of the robot’s, or of the mixed momentum, the linear one of the robot and the '
    'angular one of robot and seesaw together. Here both controllers are made again, with three '
    'errata of the paper corrected, and run on two plants: ideal constraints, and MuJoCo, where '
    'contact alone holds the feet and rolls the board. For this package the seesaw is the hard '
    'case of its own idea: a ground that moves and accelerates.'
)

_METHOD = (
    'iCub has 23 joints (example-robot-data; wrists and neck locked, the missing inertias of the '
    'right leg mirrored from the left one) and friction of 1 N·m·s/rad in each, of which the '
    'controllers do not know. It begins at rest on the level board with bent knees. Controllers '
    'run at 100 Hz and hold their torques; they know the state exactly. Gains, board and limits '
    'are those of the authors’ public controller. Nothing is random: the same setting gives the '
    'same run.'
)


MISSING = (
    Missing(
        'Figs. 2 to 5: values',
        'The curves of the paper are pictures without numbers in the text at hand; what is '
        'compared is what its text says of them.',
        'The data behind its figures.',
    ),
    Missing(
        'Fig. 5: the gains',
        'The paper tunes the gains for the sine and does not print them; here those of the '
        'authors’ public controller are taken, and tuned ones of our own beside them.',
        'Its gains.',
    ),
    Missing(
        'Eq. 12: how the posture is held',
        'As printed, K N_Λ M_j (q − q_d), its gains are in 1/s² and are not stated; the authors’ '
        'public controller has K (q − q_d). Fig. 5 shows both with the same numbers.',
        'Its gains.',
    ),
    Missing(
        'The simulator Gazebo with ODE',
        'Here MuJoCo, and a plant of ideal constraints; the figure on the plants shows that they '
        'agree.',
        'Gazebo, and the authors’ model of the seesaw.',
    ),
    Missing(
        'iCub’s friction',
        'Without friction in the joints the sampled loop is unstable here (see the figure on '
        'friction); the paper does not mention any. 1 N·m·s/rad is taken.',
        'The friction of the authors’ model.',
    ),
)
"""What is not reproduced."""


def page(study: SeesawStudy) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='iCub on a seesaw, measured',
        lead=_LEAD,
        method=_METHOD,
        settings={
            'robot': study.robot,
            'runs of the paper': f'{study.duration:g} s',
            'push': f'100 N for 10 ms at {study.push_time:g} s',
            'reference': '2.5 cm at 0.25 Hz to the sides',
        },
        missing=MISSING,
    )
