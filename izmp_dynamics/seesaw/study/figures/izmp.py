"""The IZMP on the moving board."""

from izmp_dynamics.seesaw.study import izmp
from izmp_dynamics.seesaw.study.tasks import Study
from izmp_dynamics.studies.picture import Picture
from izmp_dynamics.studies.runs import Load, Run


def runs(study: Study) -> tuple[Run, ...]:
    """What the figure needs."""
    return izmp.runs(study.robot)


def picture(study: Study, load: Load) -> Picture:
    """Draw the figure."""
    return izmp.picture(study.robot, load)
