"""What is counted of results, with a publisher of the test in place of DDS."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from geometry_msgs.msg import PointStamped

from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.output import Output

S = 10**9


class Rig:
    """An output whose results take a second to make and two to publish."""

    def __init__(self):
        self.now, self.ages, self.count = 10 * S, [], 1
        self.health = Health('node', 'robot', lambda topic: (), now=lambda: self.now)
        self.health.aged = self.ages.append
        node = SimpleNamespace(create_publisher=lambda *given, **named: self)
        self.output = Output(node, 'izmp', PointStamped, self.health)

    topic_name = '/izmp'

    def get_subscription_count(self):
        return self.count

    def publish(self, message):
        self.now += 2 * S

    def make(self, stamp):
        self.now += S
        return stamp


def test_the_age_of_a_result_is_taken_when_it_has_been_published():
    rig = Rig()
    rig.output(rig.make, 9 * S)
    assert rig.ages == [4.0]
    assert rig.health.outputs == {'/izmp': 1}


def test_a_result_that_nobody_wants_is_counted_but_not_made():
    rig = Rig()
    rig.count = 0
    rig.output(rig.make, 9 * S)
    assert rig.ages == [1.0]
    assert rig.health.outputs == {'/izmp': 1}


def test_a_result_that_cannot_be_made_is_not_counted():
    rig = Rig()

    def fail(stamp):
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        rig.output(fail, 9 * S)
    with pytest.raises(ArithmeticError):
        rig.output.computed(9 * S, 'base', fail, 0)
    assert not rig.ages
    assert not rig.health.outputs
