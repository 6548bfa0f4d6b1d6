"""All pictures of `izmp experiments paper`, and the words of their page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from izmp_dynamics.experiments import (
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
from izmp_dynamics.experiments.campaign import Campaign
from izmp_dynamics.experiments.experiment import Experiment
from izmp_dynamics.experiments.publish import Results, publish, selected
from izmp_dynamics.model.settings import flatten

FIGURES: dict[str, tuple[ModuleType, str]] = {
    'fig6': (fig06, 'MR-AD and IR-MD with ideal sensors over one full step'),
    'fig7': (fig07, 'convergence of both methods with the time step'),
    'fig8': (fig08, 'noisy sensors at 125 Hz, with the predicted band'),
    'fig9': (fig09, 'relative errors of the setups A to D, and the table of all setups'),
    'fig10': (fig10, 'angular acceleration from accelerometers or gyroscope (B, E, D)'),
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
    'accelerometer’s, as in the paper. Repetition i has the noise of seed i. ± is the 95 % '
    'confidence interval of the mean.'
)


def make_paper(
    experiment: Experiment,
    folder: Path,
    *,
    only: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Results:
    """Make figures and tables.

    Args:
        experiment: what is wanted.
        folder: where everything goes; finished runs in it are used again.
        only: names of `FIGURES`; all of them if empty.
        jobs: number of processes.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong; finished runs are kept.
    """
    from izmp_dynamics.experiments.page import Words, render

    words = Words(
        title='The paper’s figures, measured',
        heading='The paper’s figures and tables, measured',
        lead=_LEAD.format(robot=experiment.robot or 'biped31, a stand-in for their robot Sweaty'),
        method=_METHOD,
    )
    return publish(
        chosen(only),
        Campaign.of(experiment),
        lambda pictures: render(words, flatten(experiment), pictures),
        folder,
        jobs=jobs,
        progress=progress,
    )


def chosen(only: Sequence[str]) -> list[ModuleType]:
    """Return the figures that are wanted, in the order of the page.

    Raises:
        UnknownNameError: if one does not exist.
    """
    return selected(FIGURES, only)
