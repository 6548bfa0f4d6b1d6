"""Node motion: the planned motion, for controllers and viewers."""

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.nodes.messages import header, point
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.transforms import WORLD
from izmp_lab.nodes.gait import plan_gait
from izmp_lab.nodes.online_motion import OnlineMotion
from izmp_lab.nodes.trajectories import planned_trajectory
from izmp_lab.walking.plan import MotionPlan

PATH_STEP = 0.02
"""Time between two points of the paths [s]."""


class Motion(Node):
    """Plans once and publishes latched: joint_trajectory, and the paths planned_zmp, planned_com.

    A joint_trajectory_controller takes the trajectory as it is. With the parameter `online` the
    motion is planned while it goes on, see `OnlineMotion`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('motion', parameter_overrides=list(options.pop('overrides', ())))
        path = fixed(self, 'robot', '', 'robot file (YAML)')
        urdf = fixed(self, 'urdf', '', 'URDF to use instead of the one that the robot file names')
        step = fixed(self, 'time_step', 0.01, 'between the points of the trajectory [s]')
        if not path:
            raise RobotFileError(
                "The node 'motion' needs the parameter robot.", kind='no_robot_file', node='motion'
            )
        online = fixed(
            self, 'online', False, 'replan every 0.1 s from walk_command instead of planning once'
        )
        robot = load_robot_file(path, urdf or None)
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
