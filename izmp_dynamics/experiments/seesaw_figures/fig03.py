"""Fig. 3: error of the angular momentum after the push."""

from izmp_dynamics.experiments.picture import Picture
from izmp_dynamics.experiments.runs import Load
from izmp_dynamics.experiments.seesaw_figures.momentum import picture_of, runs
from izmp_dynamics.experiments.seesaw_study import Study

__all__ = ['picture', 'runs']


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return picture_of(study, load, 'angular')
