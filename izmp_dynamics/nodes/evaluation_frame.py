"""The frame in which points are published: of the robot, of the world, or known to TF only."""

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from rclpy.time import Time

from izmp_dynamics.base.conventions import Array, frozen
from izmp_dynamics.base.errors import MissingDependencyError, RobotFileError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.messages import quaternion, rotation_matrix, vector
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.signals.stamps import nanoseconds
from izmp_dynamics.stability.support_polygon import plane_axes

PATIENCE = 1.0
"""An instant that is so much older than the newest one no longer waits for its pose [s]."""

Pose = tuple[Array, Array]
"""frame_R_root (3, 3), and the root's origin in the frame (3,) [m]."""

_SAME: Pose = (frozen(np.eye(3)), frozen(np.zeros(3)))

Send = Callable[[Array, Array], None]
"""Publishes, given a pose."""


class EvaluationFrame:
    """Gives the pose of the root in the frame, as soon as it is known.

    What happens in the world or by TF is often known a little later than the IZMP, so what is to
    be published waits for it.

    Args:
        node: whose model and TF are used.
        name: of the frame.

    Attributes:
        name: of the frame; of a link without the prefix.
        label: its name in messages.
        in_world: whether it is the frame in which the position of the robot is known.

    Raises:
        MissingDependencyError: the frame is known to TF only, and tf2_ros is not installed.
        RobotFileError: the world, but the position of the robot is not known.
    """

    def __init__(self, node: TopicNode, name: str) -> None:
        names, link = node.frame_names, node.frame_names.link(name)
        self.model = node.model
        self._root = node.root
        of_robot = link in (*self.model.frame_names, names.nif)
        self.in_world = not of_robot and name == names.world
        self.name = link if of_robot else name
        self.label = names.of(link) if of_robot else name
        self._health, self._node = node.health, node
        self._waiting: deque[tuple[int, Array, Array, Send, bool]] = deque()
        self._newest = 0
        if self.in_world and node.robot.position is None:
            raise RobotFileError(
                f'evaluation_frame is {name}, but the robot file names no position; choose a link '
                'or nif.',
                kind='world_without_position',
            )
        self._poses: dict[int, Pose] = {}
        self._buffer: Any = None
        if not (of_robot or self.in_world):
            self._buffer = _tf_buffer(node, name)

    def take_pose(self, stamp: int, pose: Pose) -> None:
        """Keep the pose of the root in the world at an instant [ns]."""
        if self.in_world:
            self._poses[stamp] = pose
            while next(iter(self._poses)) < stamp - nanoseconds(2.0 * PATIENCE):
                del self._poses[next(iter(self._poses))]
            self.retry()

    def reset(self) -> None:
        """Give up what waits, and forget all poses."""
        if self._waiting:
            self._health.count(self.name, Reason.NO_FRAME, number=len(self._waiting))
        self._waiting.clear()
        self._poses.clear()
        self._newest = 0

    def when_known(self, stamp: int, q: Array, normal: Array, send: Send) -> None:
        """Publish something of an instant as soon as its pose is known.

        Args:
            stamp: [ns].
            q: (n,) joint positions.
            normal: (3,) ground normal in the root frame.
            send: publishes.
        """
        self._newest = max(self._newest, stamp)
        if not self._waiting:
            pose = self.pose(stamp, q, normal)
            if pose is not None:
                send(*pose)
                return
        self._waiting.append((stamp, q, normal, send, self._node.is_ahead))
        self.retry()

    def retry(self) -> None:
        """Publish what is known by now."""
        oldest = self._newest - nanoseconds(PATIENCE)
        while self._waiting:
            stamp, q, normal, send, ahead = self._waiting[0]
            pose = self.pose(stamp, q, normal)
            if pose is None and stamp > oldest:
                return
            self._waiting.popleft()
            if pose is None:
                self._health.count(self.name, Reason.NO_FRAME)
                continue
            with self._node.ahead_of_time() if ahead else nullcontext():
                send(*pose)

    def pose(self, stamp: int, q: Array, normal: Array) -> Pose | None:
        """Find the pose at an instant; None if it is not known.

        Args:
            stamp: [ns].
            q: (n,) joint positions.
            normal: (3,) ground normal in the root frame.
        """
        if self.name == self.model.root:
            return _SAME
        if self.in_world:
            return self._poses.get(stamp)
        if self.name == self._node.frame_names.nif:
            return np.vstack([plane_axes(normal), normal]), np.zeros(3)
        if self._buffer is None:
            R, p = self.model.frame_pose(self.name, q)
            return R.T, -R.T @ p
        when = Time(nanoseconds=stamp)
        if not self._buffer.can_transform(self.name, self._root, when):
            return None
        found = self._buffer.lookup_transform(self.name, self._root, when).transform
        return rotation_matrix(quaternion(found.rotation)), vector(found.translation)


def _tf_buffer(node: TopicNode, name: str) -> Any:
    try:
        from tf2_ros import Buffer, TransformListener
    except ImportError as error:
        raise MissingDependencyError(
            'tf2_ros',
            f"The evaluation frame '{name}', which is no link of the robot,",
            'your ROS distribution (ros-$ROS_DISTRO-tf2-ros-py), or choose a link, world or nif',
        ) from error
    buffer = Buffer()
    buffer.listener = TransformListener(buffer, node)
    return buffer
