"""Which trials the experiment makes."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from izmp_dynamics.base.resources import find_resource
from izmp_lab.studies.fall_alarm.trials import Trial, trials_of
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Load, Run

ROBOT = 'robots/biped31/robot.yaml'
BATCH = 5
"""Trials that make a run."""

KINDS = ('walking', 'standing')
IMPULSES = {'walking': 8.0, 'standing': 16.0}
"""Largest impulse of a push [N·s]."""


@dataclass(frozen=True)
class Study:
    """The trials.

    Attributes:
        trials: of walks; there is one stance to ten of them.
        first_seed: of the first trial of each kind.
        robot: which robot.
    """

    trials: int
    first_seed: int
    robot: RobotKey

    @classmethod
    def of(cls, trials: int, first_seed: int) -> 'Study':
        """Prepare so many walks."""
        return cls(trials, first_seed, RobotKey.of(find_resource(ROBOT)))

    def runs(self) -> tuple[Run, ...]:
        """All of them, in batches."""
        return tuple(run for kind in KINDS for run in self._of(kind))

    def found(self, kind: str, load: Load) -> list[Trial]:
        """Load the trials of a kind."""
        return [trial for run in self._of(kind) for trial in trials_of(load(run))]

    def count(self, kind: str) -> int:
        """How many trials there are of a kind."""
        return self.trials if kind == 'walking' else max(1, self.trials // 10)

    def _of(self, kind: str) -> Iterator[Run]:
        for first in range(0, self.count(kind), BATCH):
            yield Run(
                'izmp_lab.studies.fall_alarm.trials:batch',
                {
                    'robot': dataclasses.asdict(self.robot),
                    'kind': kind,
                    'first': self.first_seed + first,
                    'count': min(BATCH, self.count(kind) - first),
                    'impulse': IMPULSES[kind],
                },
            )
