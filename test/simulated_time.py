"""Time that a test sets, and a robot whose messages a test is given."""

import sys
import time
from types import SimpleNamespace

import pytest

from izmp_dynamics.nodes import recent_findings


class Clock:
    """Simulated time in place of the module `time`.

    Attributes:
        stamp: the time, by both clocks [ns].
    """

    def __init__(self):
        self.stamp = 10**18

    def time_ns(self):
        return self.stamp

    def monotonic(self):
        return 1e-9 * self.stamp

    def __getattr__(self, name):
        return getattr(time, name)


class AtOnce:
    """In place of a thread: works when it is started."""

    def __init__(self, target, args, daemon):
        self.start = lambda: target(*args)


@pytest.fixture
def clock(monkeypatch):
    """The time of all nodes, whose judgements take none."""
    clock = Clock()
    for name, module in list(sys.modules.items()):
        if name.startswith('izmp_dynamics') and getattr(module, 'time', None) is time:
            monkeypatch.setattr(module, 'time', clock)
    monkeypatch.setattr(recent_findings, 'threading', SimpleNamespace(Thread=AtOnce))
    return clock


class Sensors:
    """In place of the node of a `StandingRobot`: its messages are given to a function.

    Args:
        give: is given topic and bytes.
    """

    def __init__(self, give):
        self.give = give

    def create_publisher(self, msgtype, topic, qos):
        name = f'/{topic}'
        return SimpleNamespace(topic_name=name, publish=lambda raw: self.give(name, raw))
