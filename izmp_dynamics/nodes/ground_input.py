"""The topic with the pose of a ground that moves."""

from collections.abc import Mapping
from typing import Any

from geometry_msgs.msg import TransformStamped

from izmp_dynamics.nodes.health import ERROR, Health
from izmp_dynamics.nodes.position_input import TYPES, PositionInput
from izmp_dynamics.nodes.wire import PoseSample
from izmp_dynamics.pipeline.rig import Rig


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
