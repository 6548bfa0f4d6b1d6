"""The node recorder: what was published is in the bag."""

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

import rclpy
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.recorder import Recorder
from izmp_dynamics.sensing.faults import Reason

from .node_processes import PATIENCE, free_domain, wait_until


@pytest.fixture
def recorder(tmp_path):
    rclpy.init(domain_id=free_domain())
    node = Recorder(overrides=[Parameter('output', value=str(tmp_path / 'bag'))])
    yield node
    rclpy.try_shutdown()


def test_what_waits_at_the_end_is_recorded(recorder, tmp_path):
    robot = rclpy.create_node('robot')
    publisher = robot.create_publisher(Float64, 'numbers', RESULT)

    def is_recorded():
        recorder.look_after(report=False)
        return publisher.get_subscription_count() > 0

    assert wait_until(is_recorded)
    for number in range(500):
        publisher.publish(Float64(data=float(number)))
    assert publisher.wait_for_all_acked(Duration(seconds=PATIENCE))
    rclpy.shutdown()
    recorder.destroy_node()
    robot.destroy_node()
    with BagReader(tmp_path / 'bag') as bag:
        messages = [bytes(message.raw) for message in bag.messages(['/numbers'])]
    assert [deserialize_message(raw, Float64).data for raw in messages] == list(range(500))


def test_messages_that_were_lost_are_stated_once(recorder, monkeypatch):
    said = []
    monkeypatch.setattr(recorder, 'get_logger', lambda: type('Log', (), {'warning': said.append}))
    for number in (3, 4):
        recorder._lose('/imu', Reason.LOST, number)
    recorder._lose('/joint_states', Reason.LOST, 1)
    for _ in range(2):
        recorder.look_after(report=True)
    recorder.destroy_node()
    (sentence,) = said
    assert '7 on /imu, 1 on /joint_states' in sentence
