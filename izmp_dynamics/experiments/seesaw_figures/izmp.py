"""The IZMP on the moving board."""

from izmp_dynamics.experiments import seesaw_izmp
from izmp_dynamics.experiments.picture import Picture
from izmp_dynamics.experiments.runs import Load, Run
from izmp_dynamics.experiments.seesaw_study import Study


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return seesaw_izmp.runs(study.robot)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return seesaw_izmp.picture(study.robot, load)
