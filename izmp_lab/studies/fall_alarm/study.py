"""Which trials the experiment makes, and what alarms are worth in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.resources import find_resource
from izmp_dynamics.stability.alarm_rule import AlarmRule
from izmp_lab.studies.fall_alarm.trials import OVERLAP, FallTrial, trial
from izmp_lab.studies.robot_key import RobotKey
from izmp_lab.studies.runs import Run

ROBOT = 'robots/biped31/robot.yaml'
KINDS = ('walking', 'standing')
IMPULSES = {'walking': 8.0, 'standing': 16.0}
"""Largest impulse of a push [N·s]."""


@dataclass(frozen=True)
class FallStudy:
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
    def of(cls, trials: int, first_seed: int) -> 'FallStudy':
        """Prepare so many walks."""
        return cls(trials, first_seed, RobotKey.of(find_resource(ROBOT)))

    def runs(self) -> dict[tuple[str, int], Run]:
        """All of them, by kind and seed."""
        return {
            (kind, seed): Run(
                trial,
                {'robot': self.robot, 'kind': kind, 'seed': seed, 'impulse': IMPULSES[kind]},
                FallTrial,
            )
            for kind in KINDS
            for seed in range(self.first_seed, self.first_seed + self.count(kind))
        }

    def count(self, kind: str) -> int:
        """How many trials there are of a kind."""
        return self.trials if kind == 'walking' else max(1, self.trials // 10)


def trials_by_kind(found: Mapping[tuple[str, int], FallTrial]) -> dict[str, list[FallTrial]]:
    """Part the results of `FallStudy.runs`."""
    return {kind: [each for (of, _), each in found.items() if of == kind] for kind in KINDS}


LAST = 2.0
"""Time before a fall that does not count as survived; an alarm that begins in it is not false, and
no lead is longer [s]."""

AFTER = 4.0
"""Time after the last push that still counts [s]."""

TOO_LATE = 0.2
"""A lead below it is too short to act [s]."""


@dataclass(frozen=True)
class Outcome:
    """What became of the trials of a kind.

    Attributes:
        leads: (F,) time to the fall, when the trunk is tilted by 45°, from the start of the alarm
            that is raised until then, counted as above [s]; 0 without such an alarm.
        cautious: (F,) the same, where every lead counts from the last push if that is later.
        raised: (F,) the same from the start of the alarm whatever pushes came since, at most
            `LAST` [s].
        pushed_later: falls with a push after the alarm.
        fell_anyway: those of them that came without these pushes as well.
        seeds: (F,) of the trials that ended in a fall.
        untilted: falls of which the trial ended before the trunk was tilted by 45°; they count
            at its end.
        hours: survived, from the first push on [h].
        pushes: survived.
        false_alarms: their starts, in the time that was survived [s].
        undecided: alarms of which it is not known whether they are false.
    """

    leads: Array
    cautious: Array
    raised: Array
    pushed_later: int
    fell_anyway: int
    seeds: Array
    untilted: int
    hours: float
    pushes: int
    false_alarms: tuple[float, ...]
    undecided: int

    @classmethod
    def of(cls, trials: list[FallTrial], threshold: float | None = None) -> 'Outcome':
        """Count.

        Args:
            trials: of one kind.
            threshold: probability from which on the alarm is raised; that of the product if None.
        """
        leads: list[_Lead] = []
        seeds, false_alarms = [], []
        survived, pushes, untilted, undecided = 0.0, 0, 0, 0
        for tried in trials:
            fell = bool(np.isfinite(tried.fallen))
            over, begins = tried.fallen - LAST if fell else _end(tried), tried.pushes[:, 0]
            lead = _Lead()
            for first, last in _episodes(tried, threshold):
                begin = float(tried.time[first])
                if not fell and last == len(tried.time) - 1 and begin > tried.time[-1] - LAST:
                    undecided += 1
                elif begin < over or not fell:
                    false_alarms.append(begin)
                if fell and last == np.count_nonzero(tried.time < tried.fallen) - 1:
                    lead = _Lead.of(tried, begin)
            if fell:
                leads.append(lead)
                seeds.append(tried.seed)
                untilted += int(tried.fallen > tried.time[-1] - 1e-3)
            survived += max(over - float(begins.min(initial=np.inf)), 0.0)
            pushes += int(np.count_nonzero(begins < over))
        hours = survived / 3600.0
        return cls(
            np.array([each.lead for each in leads]),
            np.array([each.cautious for each in leads]),
            np.array([each.raised for each in leads]),
            sum(each.pushed_later for each in leads),
            sum(each.fell_anyway for each in leads),
            np.array(seeds), untilted, hours, pushes, tuple(false_alarms), undecided,
        )  # fmt: skip

    @property
    def in_time(self) -> float:
        """Share of the falls with a lead that is long enough to act."""
        return share_in_time(self.leads)

    @property
    def rate(self) -> float:
        """False alarms per hour."""
        return len(self.false_alarms) / self.hours if self.hours else float('nan')

    @property
    def rate_bound(self) -> float:
        """One-sided 95 % bound of the rate of false alarms, which are counted (Poisson) [1/h]."""
        if not self.hours:
            return float('nan')
        return float(chi2.ppf(0.95, 2 * len(self.false_alarms) + 2)) / 2.0 / self.hours


def share_in_time(leads: Array) -> float:
    """Share of leads that are long enough to act."""
    return float(np.mean(leads >= TOO_LATE)) if len(leads) else float('nan')


def least(leads: Array) -> float:
    """Smallest lead [s]; NaN without a fall."""
    return float(leads.min()) if len(leads) else float('nan')


@dataclass(frozen=True)
class _Lead:
    """Of a fall; see `Outcome`."""

    lead: float = 0.0
    cautious: float = 0.0
    raised: float = 0.0
    pushed_later: bool = False
    fell_anyway: bool = False

    @classmethod
    def of(cls, trial: FallTrial, begin: float) -> '_Lead':
        """Count from the start of an alarm that is raised until the fall [s]."""
        pushed = trial.pushes[trial.pushes[:, 0] < trial.fallen, 0]
        later = pushed[pushed > begin]
        raised = min(trial.fallen - begin, LAST)
        if not len(later):
            return cls(raised, raised, raised)
        cautious = min(raised, trial.fallen - float(later[-1]))
        same = len(later) == np.count_nonzero(pushed > trial.raised)  # as those left out
        if not same or not trial.unpushed - begin <= LAST:
            return cls(cautious, cautious, raised, True)
        lead = min(raised, trial.unpushed - begin)
        return cls(lead, cautious, raised, True, True)


def _end(trial: FallTrial) -> float:
    """When a trial that the robot survived is over: some time after its last push [s]."""
    last = trial.pushes[-1, 0] if len(trial.pushes) else 0.0
    return min(float(trial.time[-1]), float(last) + AFTER)


def _episodes(trial: FallTrial, threshold: float | None) -> Iterator[tuple[int, int]]:
    raised = trial.alarm
    if threshold is not None:
        raised = AlarmRule(threshold).push(trial.time, trial.probability, OVERLAP)
    if np.isfinite(trial.fallen):
        raised = raised & (trial.time < trial.fallen)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], raised, [False]]).astype(int)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield begin, end - 1
