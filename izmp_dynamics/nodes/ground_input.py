"""The topic with the pose of a ground that moves."""

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import TransformStamped

from izmp_dynamics.nodes.messages import position_values
from izmp_dynamics.nodes.position_input import TYPES, PositionInput


class GroundInput(PositionInput):
    """Subscribes as soon as the topic is there.

    Args:
        node: subscribes.
        topic: as in the robot file.
        callback: is given stamp [ns], position (3,) [m] and orientation (4,).
        frame: is given, before each, the reference frame of the pose.
    """

    signal = 'ground'
    types: Mapping[str, Any] = {
        **{name: kind for name, kind in TYPES.items() if 'Point' not in name},
        'geometry_msgs/msg/TransformStamped': TransformStamped,
    }
    remedy = 'start the source of the pose of the ground, or take topic out of ground.'
    lost = 'Without it the ground is not known, and there is no IZMP.'

    def _take(self, stamp: int, message: Any) -> None:
        self.frame(message.header.frame_id.lstrip('/'))
        self.callback(stamp, *position_values(message))
