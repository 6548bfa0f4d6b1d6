"""Time that a test sets, and a robot whose messages a test is given."""

import sys
import time
from types import SimpleNamespace

import pytest


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


@pytest.fixture
def clock(monkeypatch):
    """The time of all nodes."""
    clock = Clock()
    for name, module in list(sys.modules.items()):
        if name.startswith('izmp_dynamics') and getattr(module, 'time', None) is time:
            monkeypatch.setattr(module, 'time', clock)
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
