"""When the simulated robot begins to move: nobody shall miss its first steps."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from izmp_dynamics.nodes.others import LONGEST_START
from izmp_lab.nodes import simulation
from izmp_lab.nodes.simulation import LOOK_EVERY, PATIENCE, SUBSCRIBED, Simulation


class Waiting:
    """A simulation that waits, by a clock of the test."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(simulation, 'time', SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(simulation, 'Execution', lambda *given: 'moves')
        self.names, self.missing, self.starting = [], [], False
        self.node = SimpleNamespace(
            get_subscriptions_info_by_topic=self.infos, get_namespace=lambda: '/',
            get_logger=Mock(), _joints='/joint_states',
            _listeners=SimpleNamespace(
                missing=lambda: self.missing, are_starting=lambda missing: self.starting
            ),
            _clock_publisher=object(),
            _plan=None, _plant=None, _run=None, _next_look=0.0,
            _subscribed_since=None, _waiting_since=None,
        )  # fmt: skip

    def infos(self, topic):
        return [
            SimpleNamespace(
                node_name=name.split('/')[-1], node_namespace=f'/{name}'.rpartition('/')[0] or '/'
            )
            for name in self.names
        ]

    def begins_after(self, longest):
        """Time after which the robot begins to move [s]; None if it does not."""
        begin = self.now
        while self.now < begin + longest:
            self.now += 0.5 * LOOK_EVERY
            Simulation._begin_if_subscribed(self.node)
            if self.node._run is not None:
                return self.now - begin
        return None


@pytest.mark.parametrize(
    ('names', 'missing', 'starting', 'expected'),
    [
        (['robot_state_publisher', 'recorder'], [], False, None),  # bystanders
        (['robot_state_publisher', 'my_controller'], [], False, SUBSCRIBED),
        (['other/acd'], [('acd', 'joint_states')], False, SUBSCRIBED),  # another robot's graph
        (['acd'], [('izmp', 'imu')], False, PATIENCE + SUBSCRIBED),
        (['acd'], [('izmp', 'imu')], True, LONGEST_START + SUBSCRIBED),  # it may be compiling
    ],
)
def test_who_listens_decides_when_it_begins(monkeypatch, names, missing, starting, expected):
    waiting = Waiting(monkeypatch)
    waiting.names, waiting.missing, waiting.starting = names, missing, starting
    begins = waiting.begins_after(2 * LONGEST_START)
    assert begins == (expected and pytest.approx(expected, abs=3 * LOOK_EVERY))
    if expected not in (None, SUBSCRIBED):
        warning = waiting.node.get_logger().warning
        assert 'moves without izmp (imu)' in warning.call_args.args[0]


@pytest.mark.parametrize('name', ['izmp_dynamics', 'acd'])
def test_the_graph_is_waited_for_as_a_whole(monkeypatch, name):
    waiting = Waiting(monkeypatch)
    waiting.names, waiting.missing = [name], [('izmp', 'imu')]
    assert waiting.begins_after(20.0) is None
    waiting.missing = []
    assert waiting.begins_after(10.0) == pytest.approx(SUBSCRIBED, abs=3 * LOOK_EVERY)
