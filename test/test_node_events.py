"""Events and findings of the running graph: those of the replay, on a latched topic."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy

from izmp_dynamics.base.finding import Finding
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.nodes import recent_findings
from izmp_dynamics.nodes.health import OK, WARN, Health
from izmp_dynamics.nodes.recent_findings import EventTopic, RecentFindings
from izmp_dynamics.verdict import recent
from izmp_dynamics.verdict.events.event import Event
from izmp_dynamics.verdict.recent import Judgement
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import JOINTS, LEFT
from .played_graph import COMPOSED, PlayedGraph, parameters
from .test_input_findings import hold
from .test_stage_node import is_free

pytestmark = pytest.mark.usefixtures('ros')


@pytest.fixture(scope='module')
def bag(slower, tmp_path_factory):
    """Of the sway; the force sensor of the left foot hangs for 0.4 s."""
    draft = slower.until(1.6)
    hold(draft[LEFT], 0.5, 0.9)
    return draft.write(tmp_path_factory.mktemp('hangs') / 'bag')


def test_the_running_node_publishes_a_push_and_the_fall_after_it(biped31, fall, monkeypatch):
    """The recording ends in mid-fall, so the fall is published when nothing more arrives."""
    monkeypatch.setattr(recent, 'LEAST', 1.0)
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    with PlayedGraph(biped31, parameters(), COMPOSED) as graph:
        graph.play(fall)
        node = graph.node('izmp')
        for _ in range(2):
            node.look_after(report=True)
        kinds = {message.status[0].name for message in graph.messages['/events'].values()}
    assert kinds >= {'push', 'fall', 'point of no return'}


def test_without_a_knee_the_fall_alarm_cannot_say(biped31, short_bag):
    def without_knee(topic, message):
        if topic == JOINTS:
            message.name = [{'l_knee': 'left_knee'}.get(name, name) for name in message.name]
        return message

    with PlayedGraph(biped31, parameters()) as graph:
        graph.play(short_bag, without_knee)
        assert graph.messages['/mr_ad/izmp']
        assert not any(topic.startswith('/fall') for topic in graph.published)
        _, values = graph.values('izmp')
    assert values['fall probability'] == 'unknown'
    assert values['fall'].startswith('Cannot say')
    assert 'l_knee' in values['fall']


def test_the_graph_publishes_the_events_of_the_replay(biped31, bag, monkeypatch):
    """Messages are taken while it judges; it may be deactivated meanwhile."""
    monkeypatch.setattr(recent, 'LEAST', 1.0)
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    expected = [
        event for event in summary_of(evaluate_bag(bag, biped31)).events
        if event.kind != 'lowest margin' and event.end < 1.4
    ]  # fmt: skip
    assert [event.kind for event in expected] == ['sensor fault']
    with PlayedGraph(biped31, parameters()) as graph:
        graph.play(bag)
        node = graph.node('izmp')
        judge, free = node.outputs.verdict.findings, []
        findings = judge.findings

        def deactivated_at_first(given):
            free.append(is_free(node._lock))
            if len(free) == 1:
                node.trigger_deactivate()
            return findings(given)

        monkeypatch.setattr(judge, 'findings', deactivated_at_first)
        node.look_after(report=True)
        assert not graph.messages['/events']
        node.trigger_activate()
        node.look_after(report=True)
        assert free == [True, True]
        ((_, message),) = graph.messages['/events'].items()
        (publisher,) = node.get_publishers_info_by_topic('/events')
        seen = judge.recent.snapshot()
    (status,) = message.status
    assert (status.name, status.hardware_id) == ('sensor fault', LEFT)
    values = {entry.key: entry.value for entry in status.values}
    assert float(values['size']) == pytest.approx(expected[0].size, abs=0.02)
    assert publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert np.isfinite(float(values['end']))
    up = np.stack([instant.world.R[0, 2] for instant in seen])
    np.testing.assert_allclose(np.linalg.norm(up, axis=1), 1.0)


# ---- Findings about the last seconds: stated while they hold, with the keys of the report -------


SECOND, START = 10**9, 1_720_000_000_000_000_000
BIASED = Finding('biased', 'warning', 'The IZMP (MR-AD) is biased.', subject='mr_ad')


class Judged:
    """Stands for the last seconds: finds what a test says."""

    def __init__(self):
        self.found = ()
        self.events = ()
        self.newest = self.era = 0

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
    return Health('/izmp', 'biped31', count=lambda topic: 1)


@pytest.fixture
def judged():
    return Judged()


@pytest.fixture
def topic():
    return Published()


@pytest.fixture
def shown(health, judged, topic):
    """Judges and returns the keys of the findings in the status."""
    judge = RecentFindings(judged, health, EventTopic(topic))

    def keys():
        judge.judge(nullcontext())
        return {entry.key.removeprefix('finding ') for entry in health.status().values}

    return keys


def test_a_finding_is_stated_while_it_holds(shown, judged, health):
    assert not shown()
    judged.found = (BIASED,)
    assert 'biased[mr_ad]' in shown()
    assert health.status().level == WARN
    judged.found = ()
    assert not shown()
    assert health.status().level == OK


def test_a_judgement_that_fails_is_counted_and_tried_again(shown, judged):
    judged.found = ValueError('no such thing')
    assert 'findings.raised' in shown()
    judged.found = (BIASED,)
    assert 'biased[mr_ad]' in shown()


def test_each_event_is_published_once_when_it_is_over(shown, judged, topic):
    push = Event(2.0, 2.25, 'push', 'Pushed from behind', size=42.0, unit='N', significance=9.0)
    new = Event(7.8, 7.9, 'slip', 'Slides')
    lowest = Event(3.0, 3.0, 'lowest margin', 'Smallest margin')
    judged.events = (push, lowest, new)
    shown()
    (message,) = topic.messages
    shown()
    _, goes_on = topic.messages  # nothing more arrives, so the slip is published too
    assert goes_on.status[0].name == 'slip'
    assert message.header.stamp.sec == START // SECOND + 2
    (status,) = message.status
    assert (status.name, status.message, status.level) == ('push', 'Pushed from behind', WARN)
    values = {entry.key: entry.value for entry in status.values}
    assert (values['size'], values['unit'], values['significance']) == ('42', 'N', '9')


@pytest.fixture
def published():
    """Publishes events of the seconds up to `last`; returns how many messages there are."""
    topic = Published()
    events = EventTopic(topic)

    def publish(last, *found, era=0):
        first = last - 8.0
        seen = tuple(replace(e, begin=e.begin - first, end=e.end - first) for e in found)
        stamps = (START + round(at * SECOND) for at in (first, last))
        events.publish(seen, *stamps, era)
        return len(topic.messages)

    return publish


def test_a_clock_that_is_set_back_begins_a_new_time(published):
    """By 3 s: the first judgement in the new time has a later stamp than the last before."""
    push = Event(7.0, 7.25, 'push', 'Pushed from behind')
    assert published(8.0, push) == 1
    assert published(9.0, push) == 1
    assert published(9.5, push, era=1) == 2


def test_two_events_in_quick_succession_are_two(published):
    push = Event(5.0, 5.2, 'push', 'Pushed from behind')
    again = Event(5.25, 5.4, 'push', 'Pushed from the left')
    assert published(8.0, push, again) == 2
    assert published(9.0, push, again) == 2


def test_what_does_not_end_is_published_once(published):
    fall = Event(7.0, 8.0, 'fall', 'The robot falls; the impact is not recorded')
    assert published(8.0, fall) == 0
    assert published(13.0, replace(fall, end=13.0)) == 1
    assert published(18.0, replace(fall, begin=10.0, end=18.0)) == 1
    assert published(23.0, replace(fall, begin=15.0, end=23.0)) == 1


def test_what_may_go_on_is_published_when_nothing_more_arrives(published):
    flight = Event(7.5, 8.0, 'flight', 'No foot carries load')
    assert published(8.0, flight) == 0
    assert published(8.0, flight) == 1
    assert published(13.0, replace(flight, end=9.0)) == 1


def test_a_fault_that_each_judgement_shifts_is_published_once(published):
    """The times in the air of a foot whose force sensor drifts."""
    for judged in range(5):
        last = 8.0 + 5.0 * judged
        offset = Event(last - 7.3, last - 0.9, 'sensor fault', 'The sensor drifts', 'left')
        assert published(last, offset) == 1
    assert published(last + 5.0, replace(offset, subject='right', end=last)) == 2
