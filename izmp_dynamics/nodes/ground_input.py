"""The topic that tells the pose of a ground that moves."""

from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import TransformStamped

from izmp_dynamics.conventions import Array
from izmp_dynamics.nodes.messages import position_values
from izmp_dynamics.nodes.position_input import TYPES, PositionInput
from izmp_dynamics.nodes.stage_node import StageNode


class GroundInput(PositionInput):
    """Subscribes as soon as the topic is there.

    Args:
        node: listens.
        topic: as in the robot file.
        callback: is given stamp [ns], position (3,) [m] and orientation (4,).
        told_in: is told, before each, in which frame that is.
    """

    signal = 'ground'
    types: Mapping[str, Any] = {
        **{name: kind for name, kind in TYPES.items() if 'Point' not in name},
        'geometry_msgs/msg/TransformStamped': TransformStamped,
    }
    remedy = 'start what tells the pose of the ground, or take topic out of ground.'
    lost = 'Without it the ground is not known, and there is no IZMP.'

    def __init__(
        self,
        node: StageNode,
        topic: str,
        callback: Callable[[int, Array, Array | None], None],
        told_in: Callable[[str], None],
    ) -> None:
        super().__init__(node, topic, callback, told_in)

    def _take(self, stamp: int, message: Any) -> None:
        self.positioned(message.header.frame_id.lstrip('/'))
        self.callback(stamp, *position_values(message))
