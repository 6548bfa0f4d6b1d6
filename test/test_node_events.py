"""Events of the running graph: those of the replay, with their stamps, on a latched topic."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from rclpy.qos import DurabilityPolicy

from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.nodes import recent_findings
from izmp_dynamics.verdict import recent
from izmp_dynamics.verdict.summary import summary_of

from .bag_surgery import JOINTS, LEFT
from .node_processes import GRAPH, wait_until
from .played_graph import COMPOSED, PlayedGraph, parameters
from .test_input_findings import hold

pytestmark = pytest.mark.usefixtures('ros')


@pytest.fixture(scope='module')
def bag(slower, tmp_path_factory):
    """Two seconds of the sway; the force sensor of the left foot hangs for 0.4 s."""
    draft = slower.copy()
    hold(draft[LEFT], 0.5, 0.9)
    return draft.write(tmp_path_factory.mktemp('hangs') / 'bag')


def test_the_running_node_publishes_a_push_and_the_fall_after_it(biped31, fall, monkeypatch):
    """The recording ends in mid-fall, so the fall is published when nothing more arrives."""
    monkeypatch.setattr(recent, 'LEAST', 1.0)
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    with PlayedGraph(biped31, parameters(), COMPOSED) as graph:
        graph.play(fall)

        def kinds():
            graph.status(graph.node('izmp'))
            return {message.status[0].name for message in graph.messages['/events'].values()}

        assert wait_until(lambda: kinds() >= {'push', 'fall', 'point of no return'})


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
def test_without_a_knee_the_fall_alarm_cannot_say(names, biped31, short_bag):
    def without_knee(topic, message):
        if topic == JOINTS:
            message.name = [{'l_knee': 'left_knee'}.get(name, name) for name in message.name]
        return message

    with PlayedGraph(biped31, parameters(), names) as graph:
        graph.play(short_bag, without_knee)
        assert graph.messages['/mr_ad/izmp']
        assert not any(topic.startswith('/fall') for topic in graph.published)
        _, values = graph.values('izmp')
    assert values['fall probability'] == 'unknown'
    assert values['fall'].startswith('Cannot say')
    assert 'l_knee' in values['fall']


@pytest.mark.parametrize('names', [COMPOSED, GRAPH], ids=['composed', 'separate'])
def test_the_graph_publishes_the_events_of_the_replay(names, biped31, bag, monkeypatch):
    monkeypatch.setattr(recent, 'LEAST', 1.0)
    monkeypatch.setattr(recent_findings, 'EVERY', 0.0)
    expected = [
        event for event in summary_of(evaluate_bag(bag, biped31)).events
        if event.kind != 'lowest margin' and event.end < 1.4
    ]  # fmt: skip
    assert [event.kind for event in expected] == ['sensor fault']
    with PlayedGraph(biped31, parameters(), names) as graph:
        graph.play(bag)
        node = graph.node('izmp')
        assert wait_until(lambda: graph.status(node) and graph.messages['/events'])
        ((_, message),) = graph.messages['/events'].items()
        (publisher,) = node.get_publishers_info_by_topic('/events')
        seen = node.outputs.verdict._recent.snapshot()
    (status,) = message.status
    assert (status.name, status.hardware_id) == ('sensor fault', LEFT)
    values = {entry.key: entry.value for entry in status.values}
    assert float(values['size']) == pytest.approx(expected[0].size, abs=0.02)
    assert publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    assert np.isfinite(float(values['end']))
    up = np.stack([instant.up for instant in seen])
    np.testing.assert_allclose(np.linalg.norm(up, axis=1), 1.0)
