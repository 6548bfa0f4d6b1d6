"""The node recorder: what was published is in the bag."""

import time

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

import rclpy
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.recorder import Recorder
from izmp_dynamics.sensing.faults import Reason

from .node_processes import PATIENCE, free_domain, wait_until


@pytest.fixture(params=['mcap', 'sqlite3'])
def recorder(tmp_path, request):
    rclpy.init(domain_id=free_domain())
    given = {'output': str(tmp_path / 'bag'), 'storage': request.param}
    node = Recorder(overrides=[Parameter(name, value=value) for name, value in given.items()])
    yield node
    rclpy.try_shutdown()


class Numbers:
    """A node that publishes numbers, which the recorder has found."""

    def __init__(self, recorder):
        self.count = 0
        self.node = rclpy.create_node('robot')
        self.publisher = self.node.create_publisher(Float64, 'numbers', RESULT)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(recorder)
        assert wait_until(self.is_found)

    def is_found(self):
        self.executor.spin_once(0.1)
        return self.publisher.get_subscription_count() > 0

    def publish(self, count):
        """Publish some; they wait where the recorder takes them from."""
        for _ in range(count):
            self.publisher.publish(Float64(data=float(self.count)))
            self.count += 1
        assert self.publisher.wait_for_all_acked(Duration(seconds=PATIENCE))


def recorded(path):
    """The numbers in a bag."""
    with BagReader(path) as bag:
        messages = [bytes(message.raw) for message in bag.messages(['/numbers'])]
    return [deserialize_message(raw, Float64).data for raw in messages]


def test_what_waits_at_the_end_is_recorded(recorder, tmp_path):
    numbers = Numbers(recorder)
    numbers.publish(100)
    assert wait_until(lambda: numbers.executor.spin_once(0.1) or recorder.count == 100)
    numbers.publish(400)
    rclpy.shutdown()
    recorder.destroy_node()
    assert recorded(tmp_path / 'bag') == list(range(500))


def test_a_loss_that_is_noticed_at_the_end_costs_no_more(recorder, tmp_path):
    """How many publishers there are can't be asked any more then."""
    numbers = Numbers(recorder)
    numbers.publish(100)
    assert wait_until(lambda: numbers.executor.spin_once(0.1) or recorder.count == 100)
    numbers.publish(5)
    (reception,) = (r for r in recorder._receiver._receptions if r.topic == '/numbers')
    reception.losses.following -= 3  # as if that many had been missing
    rclpy.shutdown()
    recorder.destroy_node()
    assert recorded(tmp_path / 'bag') == list(range(105))


def test_messages_have_the_time_at_which_they_were_received(recorder, tmp_path):
    """And not the one at which the recorder took them together."""
    numbers, between = Numbers(recorder), []
    for _ in range(3):
        between.append(time.time_ns())
        numbers.publish(1)
    between.append(time.time_ns())
    assert wait_until(lambda: numbers.executor.spin_once(0.1) or recorder.count == 3)
    recorder.destroy_node()
    with BagReader(tmp_path / 'bag') as bag:
        times = [message.received for message in bag.messages(['/numbers'])]
    assert all(a <= t <= b for a, t, b in zip(between[:-1], times, between[1:], strict=True))


def test_messages_that_were_lost_are_stated_once(recorder, monkeypatch):
    said = []
    log = type('Log', (), {'warning': said.append})
    monkeypatch.setattr(recorder, 'get_logger', lambda: log)
    for number in (3, 4):
        recorder._lose('/imu', Reason.LOST, number)
    recorder._lose('/joint_states', Reason.LOST, 1)
    recorder._flush()
    recorder.destroy_node()
    (sentence,) = said
    assert '7 on /imu, 1 on /joint_states' in sentence
