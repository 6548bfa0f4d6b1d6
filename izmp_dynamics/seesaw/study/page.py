"""All pictures of `izmp experiments seesaw`, and the words of their page."""

from types import ModuleType

from izmp_dynamics.seesaw.study.figures import (
    damping,
    fig02,
    fig03,
    fig04,
    fig05,
    gains,
    izmp,
    plants,
    push_limit,
)
from izmp_dynamics.seesaw.study.tasks import Study
from izmp_dynamics.studies.page import Page

FIGURES: dict[str, tuple[ModuleType, str]] = {
    'izmp': (izmp, 'the IZMP on the moving board against the true CoP'),
    'fig2': (fig02, 'error of the linear momentum after a push'),
    'fig3': (fig03, 'error of the angular momentum after a push'),
    'fig4': (fig04, 'angle of the board after a push'),
    'fig5': (fig05, 'lateral CoM tracking a sine'),
    'gains': (gains, 'the same gains for both controllers'),
    'push_limit': (push_limit, 'how hard a push the robot stands'),
    'plants': (plants, 'MuJoCo against ideal constraints'),
    'damping': (damping, 'friction of the joints and the sampled loop'),
}
"""Name → module with `runs` and `picture`, and what it shows."""

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


def page(study: Study) -> Page:
    """Return what `study` shows and says."""
    return Page(
        figures=FIGURES,
        title='iCub on a seesaw, measured',
        heading='Momentum control on a seesaw, measured',
        lead=_LEAD,
        method=_METHOD,
        settings={
            'robot': study.robot,
            'runs of the paper': f'{study.duration:g} s',
            'push': f'100 N for 10 ms at {study.push_time:g} s',
            'reference': '2.5 cm at 0.25 Hz to the sides',
        },
    )
