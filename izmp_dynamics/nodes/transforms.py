"""Names of frames; broadcasting TF, with tf2_msgs alone, so also where tf2_ros is missing."""

from collections.abc import Collection
from typing import Any

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile

from izmp_dynamics.base.conventions import Array, unused_name
from izmp_dynamics.model.robot_model import RobotModel
from izmp_dynamics.nodes.messages import stamp_of, transform_stamped
from izmp_dynamics.nodes.output import Audience
from izmp_dynamics.nodes.parameters import COMMON, common
from izmp_dynamics.signals.clock import BACK

WORLD: str = COMMON['world_frame'][0]
"""Name of the world unless a parameter states another one."""

NIF = 'nif'


class FrameNames:
    """Names of frames in messages, with the prefix that keeps several robots apart.

    Args:
        node: its parameters are frame_prefix, as robot_state_publisher has it, and world_frame.
        ground: the frame of a ground that moves, which has no prefix.

    Attributes:
        prefix: in front of the names of all links and of nif, e.g. 'robot1/'.
        world: name of the world, without a prefix, as several robots may share it; as in the
            results of a replay one that neither a link nor the ground has.
        nif: that of the non-inertial frame, without the prefix, likewise.
    """

    def __init__(self, node: Node, links: Collection[str], ground: str | None = None) -> None:
        self.prefix: str = common(node, 'frame_prefix')
        others = [ground] if ground else []
        self.world = unused_name(common(node, 'world_frame'), [*map(self.of, links), *others])
        self.nif = unused_name(NIF, [*links, *map(self.link, others)])

    def of(self, link: str) -> str:
        """Name in messages of a link's frame, or of nif."""
        return self.prefix + link

    def link(self, frame: str) -> str:
        """Link, or other frame, that a message names."""
        return frame.lstrip('/').removeprefix(self.prefix)


class TransformBroadcaster:
    """Publishes /tf, unless publish_tf is false, or says once why it cannot."""

    def __init__(self, node: Node, names: FrameNames | None = None) -> None:
        self._names = names
        self._publisher: Any = None
        self._audience: Audience | None = None
        self._newest: dict[str, int] = {}
        if not common(node, 'publish_tf'):
            return
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
        self._audience = Audience(self._publisher)

    @property
    def wanted(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._audience)

    def send_root(
        self, model: RobotModel, stamp: int, world_R_root: Array, p: Array, q: Array
    ) -> None:
        """Broadcast where the robot is in the world, as the pose of the root of its URDF.

        The frames below that one have their parents there, from robot_state_publisher, whatever
        link the dynamics are evaluated in.

        Args:
            model: of the robot.
            stamp: [ns].
            world_R_root: (3, 3) orientation of the model's root.
            p: (3,) its position in the world [m].
            q: (n,) joint positions [rad] or [m].
        """
        if self._names is None or not self.wanted:
            return
        R_top, p_top = model.frame_pose(model.urdf_root, q)
        name, world_p_top = self._names.of(model.urdf_root), p + world_R_root @ p_top
        self.send(
            transform_stamped(stamp, self._names.world, name, world_R_root @ R_top, world_p_top)
        )

    def send(self, transform: TransformStamped) -> None:
        """Broadcast a transform; TF wants each stamp once."""
        if self._publisher is None:
            return
        child, stamp = transform.child_frame_id, stamp_of(transform)
        newest = self._newest.get(child, 0)
        if not newest - BACK <= stamp <= newest:
            self._newest[child] = stamp
            self._publisher.publish(self._type(transforms=[transform]))
