"""Findings about what a running robot did last, in the diagnostics while they hold."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.finding import Finding
from izmp_dynamics.nodes.health import Health, diagnostic_array
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.pipeline.evaluated import Evaluated
from izmp_dynamics.results.evaluation import Outage
from izmp_dynamics.verdict.events.event import Event, EventMessage, event_message
from izmp_dynamics.verdict.recent import Judgement, Recent

HOLD = round(0.5 * NANOSECONDS)
"""What is so new may still go on, or look different when more is known [ns]."""

GOES_ON = 2 * NANOSECONDS
"""What has lasted for so long is published though it goes on [ns].

Less than the seconds that are judged, without the time between two judgements: so the begin of
what is published is its own, not that of those seconds.
"""

SAME = round(0.1 * NANOSECONDS)
"""Another judgement may shift an event by so much [ns]."""

LEFT_OUT = ('lowest margin',)
"""Kinds that mean a whole recording."""


class EventTopic:
    """Publishes the events of the last seconds, whether anybody subscribes by now or later.

    The same event is found again in each judgement while it lies in the seconds that are judged.
    It is published in the first one after its end, or while it goes on, if it lasts or nothing
    more arrives.

    Args:
        output: of the topic, with `qos.EVENTS`.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._era = self._until = self._last = 0
        self._published: list[EventMessage] = []

    def publish(self, events: tuple[Event, ...], first: int, last: int, era: int = 0) -> None:
        """Publish those events that are new.

        Args:
            events: of the seconds that are judged; their times count from the first instant.
            first: stamp of the first instant [ns].
            last: stamp of the last one [ns].
            era: another one begins where the clock was set back.
        """
        if era != self._era:
            self._until, self._last, self._published = 0, 0, []
        until, paused = last - HOLD, last == self._last
        self._published = [earlier for earlier in self._published if earlier.end >= first - SAME]
        new = []
        for event in events:
            found = event_message(event, first)
            stated = paused or found.end <= until or found.end - found.begin >= GOES_ON
            known = self._continue(found) or found.end <= self._until
            if stated and not known and event.kind not in LEFT_OUT:
                self._output.publish(_message(found))
                new.append(found)
        self._published += new
        self._era, self._until, self._last = era, until, last

    def _continue(self, found: EventMessage) -> bool:
        """Whether an earlier judgement published an event; then remember that it goes on."""
        for k, earlier in enumerate(self._published):
            about = earlier.name == found.name and earlier.hardware_id == found.hardware_id
            if about and found.begin <= earlier.end + SAME and earlier.begin <= found.end + SAME:
                self._published[k] = earlier._replace(end=max(earlier.end, found.end))
                return True
        return False


def _message(found: EventMessage) -> DiagnosticArray:
    status = DiagnosticStatus(
        level=bytes([found.level]),
        name=found.name,
        message=found.message,
        hardware_id=found.hardware_id,
        values=[KeyValue(key=key, value=value) for key, value in found.values],
    )
    return diagnostic_array(found.begin, status)


class PeriodicJudge(ABC):
    """Judges every so many seconds, while messages are taken."""

    def __init__(self, health: Health, every: float) -> None:
        self._health = health
        self._every = every
        self._last = time.monotonic()
        self._stated: set[str] = set()

    @abstractmethod
    def given(self) -> Any:
        """What there is to judge; it must not take long."""

    @abstractmethod
    def findings(self, given: Any) -> tuple[Finding, ...]:
        """Judge it."""

    def state(self, found: tuple[Finding, ...]) -> None:
        """State what was found, and withdraw what is not found any more."""
        keys = {finding.key for finding in found}
        for key in self._stated - keys:
            self._health.clear(key)
        for finding in found:
            self._health.remark(finding.key, finding.level, finding.sentence)
        self._stated = keys

    def due(self) -> bool:
        """Whether the next judgement is due."""
        return time.monotonic() - self._last >= self._every

    def judge(
        self, lock: AbstractContextManager[Any], is_active: Callable[[], bool] = lambda: True
    ) -> bool:
        """Judge, if that is due, and state what is found, if the node is still active.

        Args:
            lock: excludes messages; it is free while it is judged.
            is_active: whether the node is.

        Returns:
            Whether it was due.
        """
        with lock:
            if not self.due():
                return False
            self._last = time.monotonic()
            given = self.given()
        try:
            found = self.findings(given)
        except Exception as error:  # a judgement that fails costs nothing but itself
            with lock:
                self._health.fail('findings', repr(error))
            return True
        with lock:
            if is_active():
                self.state(found)
        return True


EVERY = 5.0
"""Time between two judgements [s], of the clock or the stamps: the one that has passed sooner.

One takes about a tenth of a second.
"""


class RecentFindings(PeriodicJudge):
    """Judges the last seconds, with the times in which signals could not be used."""

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
        self._judged = self._era = 0
        self._judgement = Judgement()

    def due(self) -> bool:
        """Whether so much time has passed; a bag may be played faster than it was recorded."""
        passed = (self.recent.newest - self._judged) / NANOSECONDS
        return super().due() or passed >= self._every

    def given(self) -> tuple[tuple[Evaluated, ...], tuple[Outage, ...]]:
        """The last seconds, and when signals could not be used."""
        self._judged, self._era = self.recent.newest, self.recent.era
        return self.recent.snapshot(), tuple(self._outages())

    def findings(self, given: Any) -> tuple[Finding, ...]:
        """Judge them."""
        self._judgement = self.recent.judge(*given)
        return self._judgement.findings

    def state(self, found: tuple[Finding, ...]) -> None:
        """State what was found, and publish the events."""
        super().state(found)
        judged = self._judgement
        self._events.publish(judged.events, judged.first, judged.last, self._era)
