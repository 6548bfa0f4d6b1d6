"""Findings about the last seconds: stated while they hold, with the keys of the report."""

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from izmp_dynamics.nodes import recent_findings
from izmp_dynamics.nodes.health import OK, WARN, Health
from izmp_dynamics.nodes.recent_findings import RecentFindings
from izmp_dynamics.report.findings import ReportFinding

from .node_processes import wait_until

BIASED = ReportFinding('biased[mr_ad]', 'The IZMP (MR-AD) is biased.')


class Judged:
    """Stands for the last seconds: finds what a test says."""

    def __init__(self):
        self.found = ()

    def snapshot(self):
        return ()

    def findings(self, instants):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def health(monkeypatch):
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    return Health('/izmp', 'biped31', publishers=lambda topic: 1)


def shows(health, key):
    """Whether the status has a finding."""
    return f'finding {key}' in {entry.key for entry in health.status().values}


def test_a_finding_is_stated_while_it_holds(health):
    judged = Judged()
    RecentFindings(judged, health)
    assert health.status().level == OK
    judged.found = (BIASED,)
    assert wait_until(lambda: shows(health, 'biased[mr_ad]'))
    assert health.status().level == WARN
    judged.found = ()
    assert wait_until(lambda: not shows(health, 'biased[mr_ad]'))


def test_a_judgement_that_fails_is_counted_and_tried_again(health):
    judged = Judged()
    judged.found = ValueError('no such thing')
    RecentFindings(judged, health)
    assert wait_until(lambda: shows(health, 'findings.raised'))
    judged.found = (BIASED,)
    assert wait_until(lambda: shows(health, 'biased[mr_ad]'))
