"""Node motion: the planned motion, for controllers and viewers, from a plan or by commands."""

import math
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped, Vector3
from nav_msgs.msg import Path
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import MotionError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.messages import header, point
from izmp_dynamics.nodes.parameters import fixed, stated_robot
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.start_up import announced
from izmp_dynamics.nodes.transforms import WORLD
from izmp_lab.walking.biped import Biped
from izmp_lab.walking.online_walk import OnlineWalk, WalkCommand
from izmp_lab.walking.plan import MotionPlan
from izmp_lab.walking.walk import GAITS, make_plan
from izmp_lab.walking.walk_parameters import (
    SCHEMES,
    MomentumParameters,
    WalkParameters,
    valid_range,
)


def plan_gait(node: Node, robot: RobotFile, time_step: float) -> MotionPlan:
    """Declare the parameters of a motion and plan it.

    Args:
        node: has the parameters gait, speed [m/s] and steps.
        robot: robot file.
        time_step: of the plan [s].
    """
    gait = fixed(node, 'gait', 'walk', f'the motion, one of: {", ".join(GAITS)}')
    speed = fixed(node, 'speed', 0.3, 'of the walk [m/s]', (0.0, 2.0))
    steps = fixed(node, 'steps', 20, 'of the walk', (1, 1000))
    with announced(node.get_logger(), f"Planning '{gait}'"):
        return make_plan(robot, gait, time_step, speed, steps)


def planned_trajectory(plan: MotionPlan, stamp: int = 0) -> JointTrajectory:
    """Return the joint references of a plan.

    Args:
        plan: the motion.
        stamp: when it begins [ns]; 0 for as soon as it is received.
    """
    points = []
    for row, time in enumerate(plan.times.tolist()):
        nanoseconds = round(time * NANOSECONDS)
        points.append(
            JointTrajectoryPoint(
                positions=plan.q[row].tolist(),
                velocities=plan.qd[row].tolist(),
                accelerations=plan.qdd[row].tolist(),
                effort=[] if plan.feed_forward is None else plan.feed_forward[row].tolist(),
                time_from_start=Duration(
                    sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS
                ),
            )
        )
    return JointTrajectory(
        header=header(stamp, ''), joint_names=list(plan.joint_names), points=points
    )


_LEAD = 2.5
"""Intervals before which a trajectory begins, it is published; half of one is for the timer."""

_LEAST_LEAD, _MOST_LEAD = 0.5, 5.0
"""With less lead, or more, the planner or the clock stood still or jumped [intervals]."""

_TIMEOUT = 5.0
"""Default of the parameter command_timeout [s]."""

_DESCRIPTIONS = {
    'com_height': 'of the centre of mass above the ground [m]',
    'step_time': 'from one landing to the next [s]',
    'double_support': 'part of it during which both feet carry',
    'swing_height': 'of a swinging sole above the ground [m]',
}


class OnlineMotion:
    """Publishes the motion of every interval before it begins.

    The trajectory's stamp is the instant of its first point; its last point is the first one of
    the trajectory that follows. A walk_command is the step length [m], the step width [m] (0: the
    distance of the hips) and the turn per step [rad]; all zero stops, and so does a number that is
    not finite, or no command for a while.

    Args:
        node: publishes and subscribes; gets the parameters of the walk.
        robot: robot file.
        time_step: between two points [s].
    """

    def __init__(self, node: Node, robot: RobotFile, time_step: float) -> None:
        self._node = node
        parameters = _declared(node, time_step)
        self._timeout = fixed(
            node, 'command_timeout', _TIMEOUT,
            'without a command for so long the robot stops; 0: never [s]', (0.0, 1e6),
        )  # fmt: skip
        self._walk = OnlineWalk(Biped.of(robot), parameters)
        try:
            with announced(node.get_logger(), 'Planning the first step'):
                self._walk.advance()  # compiles what is not compiled yet
        except MotionError as error:
            raise MotionError(
                f'{error} The parameter com_height is {parameters.com_height:g} m; another one '
                'may fit the robot.',
                kind='com_height',
                com_height=parameters.com_height,
                cause=error,
            ) from error
        self._begin = 0
        self._commanded = 0
        self._said: MotionError | None = None
        self._publisher = node.create_publisher(JointTrajectory, 'joint_trajectory', 10)
        self._subscription = node.create_subscription(Vector3, 'walk_command', self._command, 10)
        self._timer = node.create_timer(self._walk.interval, self._advance)

    def _command(self, message: Vector3) -> None:
        values = (message.x, message.y, message.z)
        log = self._node.get_logger()
        try:
            command = None
            if not all(map(math.isfinite, values)):
                log.warning('A walk_command is not finite; the robot stops.',
                            throttle_duration_sec=1.0)  # fmt: skip
            elif values != (0.0, 0.0, 0.0):
                length, width, turn = values
                command = WalkCommand(length, width or self._walk.biped.hip_width, turn)
        except MotionError as error:
            log.error(str(error), throttle_duration_sec=1.0)
            return
        self._commanded = self._now()
        if not self._walk.walk(command):
            log.warning('A walk_command is ignored while the robot stops.',
                        throttle_duration_sec=1.0)  # fmt: skip

    def _advance(self) -> None:
        """Publish what begins soon; if that is too late, restart from now on."""
        self._watch_commands()
        interval = self._walk.interval
        if not self._begin:
            self._begin_after(2.0 * interval)
        lead = self._lead()
        if not _LEAST_LEAD * interval <= lead <= _MOST_LEAD * interval:
            self._node.get_logger().warning(
                f'The planner or the clock stood still or jumped ({lead:+.2f} s before the next '
                f'trajectory); the robot holds, and goes on in {2.0 * interval:g} s.'
            )
            self._begin_after(2.0 * interval)
        while self._lead() < _LEAD * interval:
            if not self._publish_next():
                break
        self._say()

    def _watch_commands(self) -> None:
        pause = (self._now() - self._commanded) / NANOSECONDS
        if self._timeout and self._walk.command and pause > self._timeout:
            self._node.get_logger().warning(
                f'No walk_command for {self._timeout:g} s; the robot stops.'
            )
            self._walk.walk(None)

    def _now(self) -> int:
        return int(self._node.get_clock().now().nanoseconds)

    def _begin_after(self, delay: float) -> None:
        """Let the next interval begin after a delay [s]."""
        self._begin = self._now() + round((delay - self._walk.time) * NANOSECONDS)

    def _lead(self) -> float:
        """Time until the next interval begins [s]."""
        return self._walk.time - (self._now() - self._begin) / NANOSECONDS

    def _publish_next(self) -> bool:
        """Plan and publish an interval; whether that could be done."""
        stamp = self._begin + round(self._walk.time * NANOSECONDS)
        try:
            plan = self._walk.advance()
        except MotionError as error:
            self._timer.cancel()
            self._node.get_logger().error(f'{error} Nothing more is published.')
            return False
        self._publisher.publish(planned_trajectory(plan, stamp))
        return True

    def _say(self) -> None:
        reason = self._walk.stopped
        if reason and reason != self._said:
            self._node.get_logger().error(f'The robot stops. {reason}', throttle_duration_sec=0.5)
        self._said = reason


def _declared(node: Node, time_step: float) -> WalkParameters:
    """Declare the parameters of the walk; their defaults are those of the generator."""
    default = WalkParameters.by('angular_momentum', time_step=time_step)
    stated = {
        name: fixed(node, name, getattr(default, name), description, valid_range(name))
        for name, description in _DESCRIPTIONS.items()
    }
    scheme = fixed(node, 'scheme', 'E4', f'nodes, one of: {", ".join(SCHEMES)}')
    momentum = MomentumParameters.scheme(scheme)
    return WalkParameters.by('angular_momentum', time_step=time_step, momentum=momentum, **stated)


PATH_STEP = 0.02
"""Time between two points of the paths [s]."""


class Motion(Node):
    """Plans once and publishes latched: joint_trajectory, and the paths planned_zmp, planned_com.

    A joint_trajectory_controller takes the trajectory as it is. With the parameter `online` the
    motion is planned while it goes on, see `OnlineMotion`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('motion', parameter_overrides=list(options.pop('overrides', ())))
        step = fixed(self, 'time_step', 0.01, 'between the points of the trajectory [s]')
        online = fixed(
            self, 'online', False, 'replan every 0.1 s from walk_command instead of planning once'
        )
        robot = stated_robot(self)
        if online:
            self._online = OnlineMotion(self, robot, step)
        else:
            self._publish_once(plan_gait(self, robot, step))

    def _publish_once(self, plan: MotionPlan) -> None:
        trajectory = self.create_publisher(JointTrajectory, 'joint_trajectory', LATCHED)
        trajectory.publish(planned_trajectory(plan))
        self._outputs = [trajectory]
        for name, points in (('planned_zmp', plan.zmp), ('planned_com', plan.com)):
            if points is not None:
                publisher = self.create_publisher(Path, name, LATCHED)
                publisher.publish(_path(plan, points))
                self._outputs.append(publisher)
        self.get_logger().info(f"Planned '{plan.name}': {plan.duration:.2f} s.")


def _path(plan: MotionPlan, points: Array) -> Path:
    path = Path(header=header(0, WORLD))
    for row in np.arange(0, len(points), max(1, round(PATH_STEP / plan.time_step))):
        pose = PoseStamped(header=header(0, WORLD))
        pose.pose.position = point(points[row])
        path.poses.append(pose)
    return path
