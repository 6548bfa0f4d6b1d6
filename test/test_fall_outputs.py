"""What subscribers to the fall alarm see."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Vector3Stamped
from std_msgs.msg import Bool

from izmp_dynamics.nodes.health import Health, Input
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.verdict_outputs import FallOutputs
from izmp_dynamics.stability.fall_alarm import FallAlarm

from .test_fall_alarm import STEP, G, balance


class Topic:
    """Keeps the stamps and values that are published."""

    wanted = True

    def __init__(self):
        self.published = []

    def __call__(self, make, stamp):
        self.published.append((stamp, make(stamp).data))

    def numbers(self, stamp, frame, values):
        self.published.append((stamp, values if len(values) > 1 else values[0]))


class Publisher:
    """Keeps the values that are published."""

    def __init__(self, topic):
        self.topic_name, self.published = topic, []

    def get_subscription_count(self):
        return 1

    def publish(self, message):
        self.published.append(getattr(message, 'data', message))  # or its bytes


def watched(topics):
    """FallOutputs with real outputs, and their health."""
    health = Health('izmp', 'biped', count=lambda topic: 1)

    def advertise(topic, msgtype):
        node = SimpleNamespace(
            create_publisher=lambda msgtype, topic, qos, **options: topics.setdefault(
                topic, Publisher(topic)
            )
        )
        return Output(node, topic, msgtype, health)

    node = SimpleNamespace(
        health=health,
        get_logger=lambda: SimpleNamespace(error=lambda *args, **options: None),
        advertise=advertise,
    )
    events, risk = advertise('events', Bool), advertise('fall_risk', Vector3Stamped)
    return FallOutputs(node, events, risk), health


@pytest.mark.parametrize('handed_out', [False, True])
def test_an_alarm_ends_when_nothing_comes_any_more(handed_out):
    topics = {}
    outputs, health = watched(topics)
    joints = Input('/joint_states', '')
    health.inputs.append(joints)
    joints.received(7)
    risk = FallAlarm(G, 2).push(balance([[0.0, 0.0]], [[2.0, 0.0]]))
    outputs.put(7, risk)
    health.ahead = handed_out  # the last instants, in the pause that begins
    outputs.put(15, risk)
    health.ahead = False
    outputs.inspect()
    assert health.status().message.startswith('Fall alarm: ')
    assert health.logged == health.status().message  # which a report does not log again
    assert topics['fall_alarm'].published == [True, True]
    joints.last -= 60.0
    outputs._put_at -= 60.0
    for _ in range(2):
        outputs.inspect()
    assert topics['fall_alarm'].published == [True, True, False]
    assert not health.holds('fall_alarm')
    assert health.values['fall'].endswith('no messages on /joint_states any more.')


def test_an_alarm_goes_on_while_something_that_it_does_not_need_is_silent():
    topics = {}
    outputs, health = watched(topics)
    position = Input('/gps', '')
    health.inputs.append(position)
    position.received(7)
    position.last -= 60.0
    risk = FallAlarm(G, 2).push(balance([[0.0, 0.0]], [[2.0, 0.0]]))
    for stamp in (8, 16, 24):
        outputs.put(stamp, risk)
        outputs.inspect()
        assert health.holds('fall_alarm')
    assert topics['fall_alarm'].published == [True] * 3


def test_the_end_of_an_alarm_is_published_once_also_while_nothing_is_known():
    topics = defaultdict(Topic)
    node = SimpleNamespace(
        health=SimpleNamespace(),
        get_logger=lambda: SimpleNamespace(error=lambda *args, **options: None),
        advertise=lambda topic, msgtype: topics[topic],
    )
    risk_topic = topics['fall_risk']
    outputs, alarm = FallOutputs(node, Topic(), risk_topic), FallAlarm(G, 2)
    outputs.put(0, alarm.push(balance([[0.0, 0.0]], [[2.0, 0.0]])))
    stamps = np.round(1e9 * STEP * np.arange(1, 100)).astype(np.int64)
    risk = alarm.push_unknown(stamps, 'no joints')
    for row, stamp in enumerate(stamps.tolist()):
        outputs.put(stamp, risk.select(slice(row, row + 1)))
    said = [value for _, value in topics['fall_alarm'].published]
    assert said == [True] * (1 + np.count_nonzero(risk.alarm)) + [False]
    ((_, probability),) = topics['fall_probability'].published
    ((stamp, values),) = risk_topic.published
    assert (stamp, *values) == (0, probability, 1.0, 0.0)
