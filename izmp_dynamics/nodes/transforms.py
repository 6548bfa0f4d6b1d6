"""Broadcasting TF; with tf2_msgs alone, so also where tf2_ros is missing."""

from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile

WORLD, NIF = 'world', 'nif'


class TransformBroadcaster:
    """Publishes /tf, or says once why it cannot.

    Args:
        node: publishes.
    """

    def __init__(self, node: Node) -> None:
        self._publisher: Any = None
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            node.get_logger().warning(
                'tf2_msgs is missing: TF is not broadcast. Make it with: '
                'python -m izmp_dynamics.nodes.make_tf2_msgs'
            )
            return
        self._type = TFMessage
        self._publisher = node.create_publisher(TFMessage, '/tf', QoSProfile(depth=100))

    @property
    def wanted(self) -> bool:
        """Whether anybody listens."""
        return self._publisher is not None and bool(self._publisher.get_subscription_count())

    def send(self, *transforms: TransformStamped) -> None:
        """Broadcast transforms."""
        if self._publisher is not None:
            self._publisher.publish(self._type(transforms=list(transforms)))
