"""The part of the node motion that replans a walk online from walking commands."""

import math

from geometry_msgs.msg import Vector3
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.errors import MotionError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.motion.gaits import load_biped
from izmp_dynamics.motion.online_walk import OnlineWalk
from izmp_dynamics.motion.walk_command import WalkCommand
from izmp_dynamics.motion.walk_parameters import WalkParameters
from izmp_dynamics.nodes.trajectories import planned_trajectory

_AHEAD = 2
"""Intervals that are published beforehand: the one that begins now and the next one."""

_CLOCK_JUMPED = 50
"""Intervals that the clock cannot have passed between two calls."""


class OnlineMotion:
    """Publishes the motion of every interval before it begins; walk_command takes effect at once.

    The trajectory's stamp is the instant of its first point; its last point is the first one of
    the trajectory that follows. A walk_command is the step length [m], the step width [m] (0: the
    distance of the hips) and the turn per step [rad]; all zero stops.

    Args:
        node: publishes and subscribes.
        robot: robot file.
        time_step: between two points [s].
    """

    def __init__(self, node: Node, robot: RobotFile, time_step: float) -> None:
        self._node = node
        parameters = WalkParameters.by('angular_momentum', time_step=time_step)
        self._walk = OnlineWalk(load_biped(robot), parameters)
        self._walk.advance()  # compiles what is not compiled yet
        self._begin = 0
        self._said = ''
        self._publisher = node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._subscription = node.create_subscription(Vector3, 'walk_command', self._command, 10)
        self._timer = node.create_timer(self._walk.interval, self._advance)

    def _command(self, message: Vector3) -> None:
        length, width, turn = message.x, message.y, message.z
        try:
            command = None
            if (length, width, turn) != (0.0, 0.0, 0.0):
                width = self._walk.biped.hip_width if width == 0.0 else width
                command = WalkCommand(length, width, turn)
        except MotionError as error:
            self._node.get_logger().error(str(error))
            return
        self._walk.walk(command)

    def _advance(self) -> None:
        """Publish what has to be known by now: up to one interval ahead."""
        due = self._due()
        if not -_CLOCK_JUMPED < due < _CLOCK_JUMPED:
            self._node.get_logger().warning('The clock has jumped; the walk goes on from now.')
            self._begin = 0
            due = self._due()
        if due > _AHEAD:
            self._node.get_logger().warning(f'{due - _AHEAD} intervals were planned late.')
        for _ in range(due):
            self._publish_next()
        self._say()

    def _due(self) -> int:
        """Intervals that must be published now; 1 if nothing is late."""
        now = int(self._node.get_clock().now().nanoseconds)
        if not self._begin:
            self._begin = now - round(self._walk.time * NANOSECONDS)
        elapsed = (now - self._begin) / NANOSECONDS
        return math.floor((elapsed - self._walk.time) / self._walk.interval + 1e-6) + _AHEAD

    def _publish_next(self) -> None:
        stamp = self._begin + round(self._walk.time * NANOSECONDS)
        try:
            plan = self._walk.advance()
        except MotionError as error:
            self._timer.cancel()
            self._node.get_logger().error(f'{error} Nothing more is published.')
            return
        self._publisher.publish(planned_trajectory(plan, stamp))

    def _say(self) -> None:
        reason = self._walk.stopped
        if reason and reason != self._said:
            self._node.get_logger().error(f'The robot stops. {reason}')
        self._said = reason
