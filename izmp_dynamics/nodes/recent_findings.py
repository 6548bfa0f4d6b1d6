"""Findings about the last seconds in the diagnostics, with the keys of the report; and events."""

from collections.abc import Callable, Iterable

from izmp_dynamics.nodes.event_topic import EventTopic
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.periodic_judge import PeriodicJudge
from izmp_dynamics.report.findings import ReportFinding
from izmp_dynamics.report.recent import Instant, Recent
from izmp_dynamics.stability.evaluation import Outage

EVERY = 5.0
"""Time between two judgements [s]; one takes some hundredths of a second."""


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
        health.judges.append(self.state)

    def given(self) -> tuple[tuple[Instant, ...], tuple[Outage, ...]]:
        """The last seconds, and when signals could not be used."""
        return self.recent.snapshot(), tuple(self._outages())

    def findings(
        self, given: tuple[tuple[Instant, ...], tuple[Outage, ...]]
    ) -> tuple[ReportFinding, ...]:
        """Judge them, and publish the events."""
        judged = self.recent.judge(*given)
        self._events.publish(judged.events, judged.first, judged.last)
        return judged.findings
