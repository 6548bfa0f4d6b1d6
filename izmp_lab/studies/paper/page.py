"""All pictures of `izmp experiments paper`, and the words of their page."""

from types import ModuleType

from izmp_dynamics.model.settings import flatten
from izmp_dynamics.pages.page import Page
from izmp_lab.studies.paper import (
    density,
    exact,
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    fig11,
    prediction,
    push,
    sensitivity,
    zero_crossing,
)
from izmp_lab.studies.paper.experiment import Experiment
from izmp_lab.studies.paper.tables import MISSING, TABLES

FIGURES: dict[str, tuple[ModuleType, str]] = {
    'exact': (exact, 'on the exact motion the IZMP is the CoP, in every walk'),
    'fig6': (fig06, 'MR-AD and IR-MD with ideal sensors over one full step'),
    'fig7': (fig07, 'convergence of both methods with the time step'),
    'fig8': (fig08, 'noisy sensors at 125 Hz, with the predicted band'),
    'fig9': (fig09, 'relative errors of the setups A to D, and the table of all setups'),
    'fig10': (fig10, 'angular acceleration from accelerometers or gyroscope (B, E, D)'),
    'density': (density, 'which noise densities the errors of the paper would need'),
    'fig11': (fig11, 'walking onto a slope of 10°, with the IMUs in the feet'),
    'zero_crossing': (zero_crossing, 'the trap in the paper’s relative error'),
    'prediction': (prediction, 'predicted and observed standard deviation of the IZMP'),
    'sensitivity': (sensitivity, 'error over accelerometer distance, noise density and rate'),
    'push': (push, 'the gap between CoP and IZMP under a push'),
}
"""Name → module with `runs` and `picture`, and what it shows."""


_LEAD = (
    'Gießler and Waltersberger (2023) compare MR-AD, which evaluates the equations of motion in'
    ' the robot’s own frame, with IR-MD, which differentiates momentum in the world. Here both '
    'run on simulated walks of {robot}. The paper’s conventions are kept: backward quotients '
    'that bear the newest sample’s stamp, and accelerometers that report the mean over their '
    'sample interval, as those of its simulator do. “Aligned quotients” are this package’s '
    'default: every derivative at the instant that it belongs to.'
)
_METHOD = (
    'Every walk is planned with the defaults of the walking pattern generator and executed in '
    'MuJoCo; all steps but the first and last two are evaluated. A noise density ν gives '
    'σ = ν√f at the sample rate f; the noise of the linear velocity has the number of the '
    'accelerometer’s, as in the paper. Repetition i has the noise of seed i; the setups of '
    'figs. 9 and 10 have five times as many repetitions as the others. ± is the 95 % confidence '
    'interval of the mean. Limits of what must hold are given with their reasons in the modules '
    'of the figures; benchmarks/mutations.py plants errors and shows which claim notices each.'
)


def page(experiment: Experiment) -> Page:
    """Return what `experiment` shows and says."""
    return Page(
        figures=FIGURES,
        title='The paper’s figures, measured',
        heading='The paper’s figures and tables, measured',
        lead=_LEAD.format(robot=experiment.robot or 'biped31, a stand-in for their robot Sweaty'),
        method=_METHOD,
        settings=flatten(experiment),
        missing=MISSING,
        tables=TABLES,
    )
