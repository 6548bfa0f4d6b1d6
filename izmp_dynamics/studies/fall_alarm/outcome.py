"""Alarms against falls: which are true, how early they come, which are false.

The time that a robot survives begins with the first push and ends `LAST` before a fall, or `AFTER`
the last push; an alarm that begins before the end of it is false, even if it lasts until a fall.
An alarm is true if it is raised at the last instant before the fall. It cannot have foreseen
a push, so its lead counts from the last one before the fall at the soonest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from izmp_dynamics.conventions import Array
from izmp_dynamics.stability.fall_alarm import HOLD
from izmp_dynamics.studies.fall_alarm.trials import Trial

LAST = 2.0
"""Time before a fall that does not count as survived; an alarm that begins in it is not false, and
no lead is longer [s]."""

AFTER = 4.0
"""Time after the last push that still counts [s]."""

TOO_LATE = 0.2
"""A lead below it is too short to act [s]."""


@dataclass(frozen=True)
class FalseAlarm:
    """An alarm that no fall followed within `LAST`.

    Attributes:
        seed: of the trial.
        begin: [s].
        probability: the largest one.
        push: begin, impulse, direction and duration of the last push before it.
    """

    seed: int
    begin: float
    probability: float
    push: tuple[float, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of the trials of a kind.

    Attributes:
        leads: (F,) time to the fall, when the trunk is tilted by 45°, from the begin of the alarm
            that is raised until then, or from the last push if that is later [s]; 0 without an
            alarm at the last instant before the fall.
        raised: (F,) the same from the begin of the alarm whatever pushes came since, at most
            `LAST` [s]: the lead if none of them changed anything.
        seeds: (F,) of the trials that ended in a fall.
        untilted: falls of which the trial ended before the trunk was tilted by 45°; they count
            at its end.
        hours: survived, from the first push on [h].
        pushes: survived.
        false_alarms: in the time that was survived.
    """

    leads: Array
    raised: Array
    seeds: Array
    untilted: int
    hours: float
    pushes: int
    false_alarms: tuple[FalseAlarm, ...]

    @classmethod
    def of(cls, trials: list[Trial], threshold: float | None = None) -> 'Outcome':
        """Count.

        Args:
            trials: of one kind.
            threshold: probability from which on the alarm is raised; that of the product if None.
        """
        leads, raised, seeds, false_alarms = [], [], [], []
        survived, pushes, untilted = 0.0, 0, 0
        for trial in trials:
            fell = bool(np.isfinite(trial.fallen))
            over, begins = trial.fallen - LAST if fell else _end(trial), trial.pushes[:, 0]
            lead = since = 0.0
            for first, last in _episodes(trial, threshold):
                begin = float(trial.time[first])
                if begin < over or not fell:
                    false_alarms.append(_false_alarm(trial, first, last))
                if fell and last == np.count_nonzero(trial.time < trial.fallen) - 1:
                    since = min(trial.fallen - begin, LAST)
                    lead = min([since, *(trial.fallen - begins[begins < trial.fallen]).tolist()])
            if fell:
                leads.append(lead)
                raised.append(since)
                seeds.append(trial.seed)
                untilted += int(trial.fallen > trial.time[-1] - 1e-3)
            survived += max(over - float(begins.min(initial=np.inf)), 0.0)
            pushes += int(np.count_nonzero(begins < over))
        hours = survived / 3600.0
        return cls(
            np.array(leads), np.array(raised), np.array(seeds), untilted, hours, pushes,
            tuple(false_alarms),
        )  # fmt: skip

    @property
    def in_time(self) -> float:
        """Share of the falls with a lead that is long enough to act."""
        return float(np.mean(self.leads >= TOO_LATE)) if len(self.leads) else float('nan')

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


def _end(trial: Trial) -> float:
    """When a trial that the robot survived is over: some time after its last push [s]."""
    last = trial.pushes[-1, 0] if len(trial.pushes) else 0.0
    return min(float(trial.time[-1]), float(last) + AFTER)


def _episodes(trial: Trial, threshold: float | None) -> Iterator[tuple[int, int]]:
    """First and last instant of each alarm, up to the fall."""
    raised = trial.alarm
    if threshold is not None:
        reason = np.where(trial.probability >= threshold, trial.time, -np.inf)
        raised = np.less(trial.time - np.maximum.accumulate(reason), HOLD)
    if np.isfinite(trial.fallen):
        raised = raised & (trial.time < trial.fallen)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], raised, [False]]).astype(int)))
    for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield begin, end - 1


def _false_alarm(trial: Trial, begin: int, end: int) -> FalseAlarm:
    time = float(trial.time[begin])
    before = trial.pushes[trial.pushes[:, 0] <= time]
    push = tuple(before[-1].tolist()) if len(before) else ()
    largest = float(np.nanmax(trial.probability[begin : end + 1]))
    return FalseAlarm(trial.seed, time, largest, push)
