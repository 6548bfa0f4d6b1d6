"""Messages that are written as bytes are those that rclpy serializes."""

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

from geometry_msgs.msg import (
    AccelStamped,
    PointStamped,
    PoseWithCovarianceStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64

from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.template import Template

STAMP = 1_700_000_000_123_456_789
COUNTS = {
    PointStamped: 3, Vector3Stamped: 3, WrenchStamped: 6, TwistStamped: 6, AccelStamped: 6,
    PoseWithCovarianceStamped: 43, Float64: 1,
}  # fmt: skip


def leaves(message):
    """All numbers of a message in their order, without the header."""
    if not hasattr(message, 'get_fields_and_field_types'):
        return np.ravel(message).tolist()
    fields = [name for name in message.get_fields_and_field_types() if name != 'header']
    return [number for name in fields for number in leaves(getattr(message, name))]


@pytest.mark.parametrize('msgtype', COUNTS, ids=lambda msgtype: msgtype.__name__)
def test_a_message_is_read_as_it_was_meant(msgtype):
    template, count = Template(msgtype), COUNTS[msgtype]
    for turn, frame in enumerate(['', 'a', 'pelvis', 'Gehäuse', 'pelvis']):
        numbers = np.arange(float(count)) + 0.5 + turn
        raw = template.write(STAMP + turn, frame, numbers[:2], numbers[2:])
        message = deserialize_message(raw, msgtype)
        assert leaves(message) == numbers.tolist()
        if msgtype is not Float64:
            assert (stamp_of(message), message.header.frame_id) == (STAMP + turn, frame)
