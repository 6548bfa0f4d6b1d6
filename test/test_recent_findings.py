"""Findings about the last seconds: stated while they hold, with the keys of the report."""

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from izmp_dynamics.nodes import recent_findings
from izmp_dynamics.nodes.event_topic import EventTopic
from izmp_dynamics.nodes.health import OK, WARN, Health
from izmp_dynamics.nodes.recent_findings import RecentFindings
from izmp_dynamics.report.events.event import Event
from izmp_dynamics.report.findings import ReportFinding
from izmp_dynamics.report.recent import Judgement

from .node_processes import wait_until

SECOND, START = 10**9, 1_720_000_000_000_000_000
BIASED = ReportFinding('biased[mr_ad]', 'The IZMP (MR-AD) is biased.')


class Judged:
    """Stands for the last seconds: finds what a test says."""

    def __init__(self):
        self.found = ()
        self.events = ()

    def snapshot(self):
        return ()

    def judge(self, instants, outages):
        if isinstance(self.found, Exception):
            raise self.found
        return Judgement(self.found, self.events, START, START + round(8.0 * SECOND))


class Published:
    """Stands for a topic: keeps what is published."""

    def __init__(self):
        self.messages = []

    def publish(self, message):
        self.messages.append(message)


@pytest.fixture
def health(monkeypatch):
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    return Health('/izmp', 'biped31', publishers=lambda topic: 1)


def shows(health, key):
    """Whether the status has a finding."""
    return f'finding {key}' in {entry.key for entry in health.status().values}


def test_a_finding_is_stated_while_it_holds(health):
    judged = Judged()
    RecentFindings(judged, health, EventTopic(Published()))
    assert health.status().level == OK
    judged.found = (BIASED,)
    assert wait_until(lambda: shows(health, 'biased[mr_ad]'))
    assert health.status().level == WARN
    judged.found = ()
    assert wait_until(lambda: not shows(health, 'biased[mr_ad]'))


def test_a_judgement_that_fails_is_counted_and_tried_again(health):
    judged = Judged()
    judged.found = ValueError('no such thing')
    RecentFindings(judged, health, EventTopic(Published()))
    assert wait_until(lambda: shows(health, 'findings.raised'))
    judged.found = (BIASED,)
    assert wait_until(lambda: shows(health, 'biased[mr_ad]'))


def test_each_event_is_published_once_when_it_is_over(health):
    judged, topic = Judged(), Published()
    RecentFindings(judged, health, EventTopic(topic))
    push = Event(2.0, 2.25, 'push', 'Pushed from behind', size=42.0, unit='N', significance=9.0)
    new = Event(7.8, 7.9, 'slip', 'Slides')
    lowest = Event(3.0, 3.0, 'lowest margin', 'Smallest margin')
    judged.events = (push, lowest, new)
    assert wait_until(lambda: health.status() and topic.messages)
    judged.found = (BIASED,)  # from now on the next judgement has been made
    assert wait_until(lambda: shows(health, 'biased[mr_ad]'))
    (message,) = topic.messages
    assert message.header.stamp.sec == START // SECOND + 2
    (status,) = message.status
    assert (status.name, status.message, status.level) == ('push', 'Pushed from behind', WARN)
    values = {entry.key: entry.value for entry in status.values}
    assert (values['size'], values['unit'], values['significance']) == ('42', 'N', '9')


def test_a_clock_that_is_set_back_begins_a_new_time():
    topic = Published()
    events = EventTopic(topic)
    push = (Event(2.0, 2.25, 'push', 'Pushed from behind'),)
    events.publish(push, START, START + 8 * SECOND)
    events.publish(push, START, START + 9 * SECOND)
    events.publish(push, START - 100 * SECOND, START - 92 * SECOND)
    assert len(topic.messages) == 2
