"""Topics of the robot's position and of a ground that moves; their publishers choose the type."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import (
    PointStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    TransformStamped,
)
from nav_msgs.msg import Odometry

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.nodes.health import AT_FIRST, ERROR, Health
from izmp_dynamics.nodes.topic_node import TopicNode
from izmp_dynamics.nodes.wire import OdometrySample, PoseSample
from izmp_dynamics.pipeline.rig import Rig

TYPES = {
    'geometry_msgs/msg/PointStamped': PointStamped,
    'geometry_msgs/msg/PoseStamped': PoseStamped,
    'geometry_msgs/msg/PoseWithCovarianceStamped': PoseWithCovarianceStamped,
    'nav_msgs/msg/Odometry': Odometry,
}


class PositionInput:
    """Subscribes as soon as the topic is there.

    Args:
        node: subscribes.
        topic: as in the robot file.
        callback: is given stamp [ns], position (3,) [m] and orientation (4,) or None.
        frame: is given the link whose pose Odometry is.
        found: is called when the publisher is there, with whether its messages hold orientations.
    """

    signal = 'position'
    types: Mapping[str, Any] = TYPES
    remedy = 'start the source of the position, or delete position in the robot file.'
    lost = 'Without it there is no odometry and no IR-MD.'

    def __init__(
        self,
        node: TopicNode,
        topic: str,
        callback: Callable[[int, Array, Array | None], None],
        frame: Callable[[str], None],
        found: Callable[[bool], None] = lambda oriented: None,
    ) -> None:
        self.node = node
        self.topic = topic
        self.callback = callback
        self.frame = frame
        self.found = found
        self._name = node.resolve_topic_name(topic)
        self._begin = time.monotonic()
        node.search(self._name, self._subscribe)

    def _subscribe(self, topics: Mapping[str, list[str]]) -> bool:
        """Subscribe if the topic is there; return whether that is so."""
        types = topics.get(self._name, [])
        known = [name for name in types if name in self.types]
        if not (types or time.monotonic() - self._begin > AT_FIRST):
            return False
        if not known:
            health = self.node.health
            level = ERROR if types else health.absent
            sentence = (
                f'{self._name} has the type {", ".join(types)}; valid: {", ".join(self.types)}.'
                if types
                else f'There is no publisher of {self._name}: {self.remedy} {self.lost}'
            )
            health.remark(self.signal, level, sentence, '' if types else self._name)
            return False
        self.node.health.clear(self.signal)
        self.found('Point' not in known[0])
        self.node.subscribe(
            self.topic,
            self.types[known[0]],
            self._take,
            self.remedy,
            signal=self.signal,
            sensor=True,
        )
        return True

    def _take(self, stamp: int, sample: PoseSample | OdometrySample) -> None:
        if isinstance(sample, PoseSample):
            self._take_pose(stamp, sample)
            return
        position, orientation = sample.values[:3], sample.values[3:7]
        self._take_pose(stamp, PoseSample(sample.frame, position, orientation), sample.child)

    def _take_pose(self, stamp: int, sample: PoseSample, child: str | None = None) -> None:
        if child is not None:
            self.frame(self.node.frame_names.link(child))
        self.callback(stamp, sample.position, sample.orientation)


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

    def _take_pose(self, stamp: int, sample: PoseSample, child: str | None = None) -> None:
        self.frame(self.node.frame_names.link(sample.frame))
        self.callback(stamp, sample.position, sample.orientation)


def check_ground(health: Health, rig: Rig) -> None:
    """Remark on a ground that moves in a world in which the position of the robot is not known."""
    ground = rig.robot.ground
    if ground.moves and rig.ground_reference is None and rig.robot.position is None:
        health.remark(
            'ground',
            ERROR,
            f'The frame of {ground.topic} is no link of the robot, and no position of the robot '
            'in that frame is known: there is no IZMP. State position in the robot file, or '
            'publish the ground in a link.',
        )
