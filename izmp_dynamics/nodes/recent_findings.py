"""Findings about the last seconds in the diagnostics, with the keys of the report; and events."""

import threading
import time
from collections.abc import Callable, Iterable

from izmp_dynamics.nodes.event_topic import EventTopic
from izmp_dynamics.nodes.health import WARN, Health
from izmp_dynamics.report.findings import ReportFinding
from izmp_dynamics.report.recent import Instant, Recent
from izmp_dynamics.stability.evaluation import Outage

EVERY = 5.0
"""Time between two judgements [s]; one takes some hundredths of a second."""


class RecentFindings:
    """Judges now and then, in a thread of its own, so that no result waits for it.

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
        self.recent = recent
        self._health = health
        self._events, self._outages = events, outages
        self._last = time.monotonic()
        self._working = False
        self._found: tuple[ReportFinding, ...] | str | None = None
        self._stated: set[str] = set()
        health.judges.append(self.state)

    def state(self) -> None:
        """State what the last judgement found, and begin the next one if it is due."""
        found, self._found = self._found, None
        if isinstance(found, str):
            self._health.fail('findings', found)
        elif found is not None:
            for key in self._stated - {finding.key for finding in found}:
                self._health.clear(key)
            for finding in found:
                self._health.remark(finding.key, WARN, finding.sentence)
            self._stated = {finding.key for finding in found}
        if not self._working and time.monotonic() - self._last >= EVERY:
            self._last, self._working = time.monotonic(), True
            given = self.recent.snapshot(), tuple(self._outages())
            threading.Thread(target=self._judge, args=given, daemon=True).start()

    def _judge(self, instants: tuple[Instant, ...], outages: tuple[Outage, ...]) -> None:
        try:
            judged = self.recent.judge(instants, outages)
            self._events.publish(judged.events, judged.first, judged.last)
            self._found = judged.findings
        except Exception as error:  # a judgement that fails costs nothing but itself
            self._found = repr(error)
        finally:
            self._working = False
