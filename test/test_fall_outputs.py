"""What subscribers to the fall alarm see."""

from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install 'izmp_dynamics[ros]'")

from izmp_dynamics.nodes.fall_outputs import FallOutputs
from izmp_dynamics.nodes.health import Health, Input
from izmp_dynamics.stability.fall_alarm import FallAlarm

from .test_fall_alarm import STEP, G, balance


class Topic:
    """Keeps the stamps and values that are published."""

    wanted = True

    def __init__(self):
        self.published = []

    def __call__(self, make, stamp, value):
        self.published.append((stamp, make(stamp, value).data))

    def numbers(self, stamp, frame, values):
        self.published.append((stamp, values[0]))


def outputs_and_topics(health):
    topics = defaultdict(Topic)
    node = SimpleNamespace(
        health=health,
        get_logger=lambda: SimpleNamespace(error=lambda *args, **options: None),
        advertise=lambda topic, msgtype: topics[topic],
    )
    return FallOutputs(node, Topic()), topics


def test_an_alarm_ends_when_nothing_comes_any_more():
    health = Health('izmp', 'biped', publishers=lambda topic: 1)
    outputs, topics = outputs_and_topics(health)
    joints, orientation = Input('/joint_states', ''), Input('/pose', '', required=False)
    health.inputs += [joints, orientation]
    joints.received(7)
    outputs.put(7, FallAlarm(G, 2).push(balance([[0.0, 0.0]], [[2.0, 0.0]])))
    orientation.last -= 60.0
    assert health.status().message.startswith('Fall alarm: ')
    assert [value for _, value in topics['fall_alarm'].published] == [True]
    joints.last -= 60.0
    for _ in range(2):
        health.status()
    assert topics['fall_alarm'].published == [(7, True), (7, False)]
    assert not health.holds('fall_alarm')
    assert health.values['fall'].endswith('nothing comes on /joint_states.')


def test_the_end_of_an_alarm_is_published_once_also_while_nothing_is_known():
    outputs, topics = outputs_and_topics(SimpleNamespace(judges=[]))
    alarm = FallAlarm(G, 2)
    outputs.put(0, alarm.push(balance([[0.0, 0.0]], [[2.0, 0.0]])))
    stamps = np.round(1e9 * STEP * np.arange(1, 100)).astype(np.int64)
    risk = alarm.push_unknown(stamps, 'no joints')
    for row, stamp in enumerate(stamps.tolist()):
        outputs.put(stamp, risk.select(slice(row, row + 1)))
    said = [value for _, value in topics['fall_alarm'].published]
    assert said == [True] * (1 + np.count_nonzero(risk.alarm)) + [False]
    assert len(topics['fall_probability'].published) == 1


def test_an_alarm_ends_while_the_node_does_not_know_the_ground():
    from izmp_dynamics.nodes.izmp import Izmp
    from izmp_dynamics.pipeline.falling import FallStage

    stage = object.__new__(FallStage)
    stage._alarm, put = FallAlarm(G, 2), []
    assert stage._alarm.push(balance([[0.0, 0.0]], [[2.0, 0.0]])).alarm[0]
    outputs = SimpleNamespace(wanted=True, put=lambda stamp, risk: put.append(risk))
    node = SimpleNamespace(_falling=stage, _fall_outputs=outputs)
    for stamp in (int(STEP * 1e9), 10**9):
        instant = SimpleNamespace(stamp=stamp, payload=SimpleNamespace(stamps=np.array([stamp])))
        Izmp._put_fall(node, instant, None)
    assert [bool(risk.alarm[0]) for risk in put] == [True, False]
    assert put[-1].sentence().endswith('the ground is not known.')
