"""Recordings of real robots: which runs there are."""

from dataclasses import dataclass
from pathlib import Path

from izmp_lab.studies.real.logs import CUTOFF, Log, Logs, find_logs
from izmp_lab.studies.runs import Run

_EVALUATION = 'izmp_lab.studies.real.tasks:evaluation'


@dataclass(frozen=True)
class Study:
    """The runs of the experiment.

    Attributes:
        logs: the recordings.
    """

    logs: Logs

    @classmethod
    def of(cls, folder: Path | None) -> 'Study':
        """Find the recordings below a folder; none without one."""
        return cls(find_logs(folder))

    def evaluation(self, log: Log, *, filtered: bool) -> Run:
        """Describe the evaluation of a recording."""
        parameters = {
            'bag': str(log.bag.resolve()), 'robot': str(log.robot.resolve()),
            'urdf': str(log.urdf.resolve()) if log.urdf else None,
            'cutoff': CUTOFF if filtered else None,
        }  # fmt: skip
        return Run(_EVALUATION, parameters, data=log.digest())
