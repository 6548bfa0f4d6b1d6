"""Fig. 3: error of the angular momentum after the push."""

from izmp_dynamics.pages.picture import Picture
from izmp_lab.seesaw.study.figures.momentum import picture_of, runs
from izmp_lab.seesaw.study.tasks import Study
from izmp_lab.studies.runs import Load

__all__ = ['picture', 'runs']


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return picture_of(study, load, 'angular')
