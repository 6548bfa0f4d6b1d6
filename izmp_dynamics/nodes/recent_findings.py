"""Findings about the last seconds in the diagnostics, with the keys of the report; and events."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.nodes.event_topic import EventTopic
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.periodic_judge import PeriodicJudge
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.verdict.recent import Instant, Recent

EVERY = 5.0
"""Time between two judgements [s], of the clock or the stamps: the one that has passed sooner.

One takes some hundredths of a second.
"""


class Given(NamedTuple):
    """What is judged.

    Attributes:
        instants: the last seconds.
        outages: when signals could not be used.
        era: how often the last seconds were forgotten before.
    """

    instants: tuple[Instant, ...]
    outages: tuple[Outage, ...]
    era: int


class RecentFindings(PeriodicJudge):
    """Judges the last seconds.

    Args:
        recent: the last seconds.
        health: takes the findings; asks for them with every status.
        events: publishes the events.
        outages: lists the times in which signals could not be used.
    """

    def __init__(
        self,
        recent: Recent,
        health: Health,
        events: EventTopic,
        outages: Callable[[], Iterable[Outage]] = tuple,
    ) -> None:
        super().__init__(health, EVERY)
        self.recent = recent
        self._events, self._outages = events, outages
        self._judged = 0
        health.judges.append(self.state)

    def due(self) -> bool:
        """Whether so much time has passed; a bag may be played faster than it was recorded."""
        passed = (self.recent.newest - self._judged) / NANOSECONDS
        return super().due() or passed >= self._every

    def given(self) -> Given:
        """The last seconds, and when signals could not be used."""
        self._judged = self.recent.newest
        return Given(self.recent.snapshot(), tuple(self._outages()), self.recent.era)

    def findings(self, given: Given) -> tuple[Finding, ...]:
        """Judge them, and publish the events."""
        judged = self.recent.judge(given.instants, given.outages)
        self._events.publish(judged.events, judged.first, judged.last, given.era)
        return judged.findings
