"""Findings about what a running robot did last, in the diagnostics while they hold."""

import threading
import time
from abc import ABC, abstractmethod
from typing import Any

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.nodes.health import Health


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
