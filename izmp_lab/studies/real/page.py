"""The page of `izmp experiments real`."""

from izmp_dynamics.pages.page import Missing, Page
from izmp_lab.studies.real.figure import LogFigure
from izmp_lab.studies.real.logs import CUTOFF
from izmp_lab.studies.real.study import Study

FIGURES: dict[str, tuple[LogFigure, str]] = {}
"""Depends on the recordings: see `figures`."""

NOTHING = (
    'There are no recordings to evaluate: name a folder with --logs FOLDER. Every folder below it '
    'with a metadata.yaml (rosbag2) and a robot.yaml is evaluated.'
)

_LEAD = (
    'Fig. 12 of Gießler and Waltersberger (2023) is the IZMP of their real robot. Its recording '
    'is '
    'not public; here are {count} recordings of other robots and of a human being, evaluated by '
    'MR-AD as “izmp replay” does it, as they were recorded and with a low-pass.'
)
_METHOD = (
    f'Raw: without any filter. Filtered: a zero-phase low-pass of {CUTOFF:g} Hz on all signals '
    '(low_pass.cutoff). Derivatives, ground plane and soles are those of the robot files.'
)
_SWEATY = Missing(
    'Fig. 12: Sweaty’s IZMP',
    'There is no public recording of Sweaty.',
    'Its recording, and its model.',
)


def figures(study: Study) -> dict[str, tuple[LogFigure, str]]:
    """Return the figures of the recordings that there are."""
    return {log.name: (LogFigure(log), str(log.bag)) for log in study.logs.found}


def page(study: Study) -> Page:
    """Return what `study` shows and says."""
    skipped = (Missing('A recording', sentence, 'See there.') for sentence in study.logs.skipped)
    return Page(
        figures=figures(study),
        title='Real robots',
        heading='The IZMP of real robots',
        lead=_LEAD.format(count=len(study.logs.found)),
        method=_METHOD,
        settings={'low-pass of the filtered evaluation': f'{CUTOFF:g} Hz'},
        missing=(_SWEATY, *skipped),
    )
