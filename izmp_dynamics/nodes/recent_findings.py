"""Findings about the last seconds in the diagnostics, under the keys of the report."""

import threading
import time

from izmp_dynamics.nodes.health import WARN, Health
from izmp_dynamics.report.findings import ReportFinding
from izmp_dynamics.report.recent import Instant, Recent

EVERY = 5.0
"""Time between two judgements [s]; one takes some hundredths of a second."""


class RecentFindings:
    """Judges now and then, in a thread of its own, so that no result waits for it.

    Args:
        recent: the last seconds.
        health: takes the findings; asks for them with every status.
    """

    def __init__(self, recent: Recent, health: Health) -> None:
        self.recent = recent
        self._health = health
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
            instants = self.recent.snapshot()
            threading.Thread(target=self._judge, args=(instants,), daemon=True).start()

    def _judge(self, instants: tuple[Instant, ...]) -> None:
        try:
            self._found = self.recent.findings(instants)
        except Exception as error:  # a judgement that fails costs nothing but itself
            self._found = repr(error)
        finally:
            self._working = False
