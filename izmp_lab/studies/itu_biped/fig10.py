"""Fig. 10: ZMP and CoG over time with the constant vector."""

from izmp_dynamics.pages.picture import Picture
from izmp_lab.studies.itu_biped.fig09 import picture_of
from izmp_lab.studies.itu_biped.study import SHOWN, Study
from izmp_lab.studies.runs import Load, Run


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return (study.tracks('constant', SHOWN),)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return picture_of('constant', load(study.tracks('constant', SHOWN)))
