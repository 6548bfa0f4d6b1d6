"""Fig. 10: ZMP and CoG over time with the constant vector."""

from izmp_dynamics.experiments.itu_biped import SHOWN, Study
from izmp_dynamics.experiments.itu_figures.fig09 import picture_of
from izmp_dynamics.experiments.picture import Picture
from izmp_dynamics.experiments.runs import Load, Run


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return (study.tracks('constant', SHOWN),)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return picture_of('constant', load(study.tracks('constant', SHOWN)))
