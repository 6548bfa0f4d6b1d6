"""Findings about what a running robot did last, in the diagnostics while they hold."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.nodes.event_topic import EventTopic
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.verdict.recent import Instant, Recent


class PeriodicJudge(ABC):
    """Judges now and then, in a thread of its own, so that no result waits for it.

    Args:
        health: takes the findings.
        every: time between two judgements [s].
    """

    def __init__(self, health: Health, every: float) -> None:
        self._health = health
        self._every = every
        self._last = time.monotonic()
        self._working = False
        self._found: tuple[Finding, ...] | str | None = None
        self._stated: set[str] = set()

    @abstractmethod
    def given(self) -> Any:
        """What there is to judge; it must not take long."""

    @abstractmethod
    def findings(self, given: Any) -> tuple[Finding, ...]:
        """Judge it."""

    def due(self) -> bool:
        """Whether the next judgement is due."""
        return time.monotonic() - self._last >= self._every

    def state(self) -> None:
        """State what the last judgement found, and begin the next one if it is due."""
        found, self._found = self._found, None
        if isinstance(found, str):
            self._health.fail('findings', found)
        elif found is not None:
            for key in self._stated - {finding.key for finding in found}:
                self._health.clear(key)
            for finding in found:
                self._health.remark(finding.key, finding.level, finding.sentence)
            self._stated = {finding.key for finding in found}
        if not self._working and self.due():
            self._last, self._working = time.monotonic(), True
            threading.Thread(target=self._judge, args=(self.given(),), daemon=True).start()

    def _judge(self, given: Any) -> None:
        try:
            self._found = self.findings(given)
        except Exception as error:  # a judgement that fails costs nothing but itself
            self._found = repr(error)
        finally:
            self._working = False


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
