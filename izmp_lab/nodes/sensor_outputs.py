"""The sensors of a simulated robot as messages, on the topics of its robot file."""

from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PointStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import Imu, JointState

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.messages import header, point, quaternion_of, vector3
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.transforms import WORLD
from izmp_lab.simulation.simulated_run import SensorSignals

_ABSENT = np.array([-1.0, *np.zeros(8)])
"""Covariance of what an Imu message does not measure."""


class SensorOutputs:
    """Publishes samples.

    Args:
        node: publishes.
        robot: names topics and frames.

    Attributes:
        topics: as the robot file names them.
    """

    def __init__(self, node: Node, robot: RobotFile) -> None:
        self.robot = robot
        self.topics: list[str] = []

        def publisher(topic: str, msgtype: Any) -> Callable[[Any], None]:
            self.topics.append(topic)
            publish: Callable[[Any], None] = node.create_publisher(msgtype, topic, RESULT).publish
            return publish

        self._joints = publisher(robot.joints.topic, JointState)
        self._imu = publisher(robot.imu.topic, Imu)
        self._accelerometers = [
            (sensor, publisher(sensor.topic, Imu)) for sensor in robot.all_accelerometers
        ]
        self._segments = [(unit, publisher(unit.topic, Imu)) for unit in robot.segments]
        self._position = publisher(robot.position.topic, PointStamped) if robot.position else None
        self._feet = [
            (foot.wrench, publisher(foot.wrench.topic, WrenchStamped))
            for foot in robot.feet
            if foot.wrench
        ]

    def publish(self, run: SensorSignals, row: int) -> None:
        """Publish one sample; some signals may be missing."""
        stamp = int(run.stamps[row])
        self._joints(
            JointState(
                header=header(stamp, ''),
                name=list(run.joint_names),
                position=run.q[row].tolist(),
                effort=[] if run.effort is None else run.effort[row].tolist(),
            )
        )
        if run.imu is not None:
            imu = run.imu
            orientation = imu.orientation_xyzw[row]
            self._imu(_imu(stamp, self.robot.imu.frame, imu.specific_force[row],
                           imu.angular_velocity[row], orientation))  # fmt: skip
        for sensor, publish in self._accelerometers:
            if sensor.topic in run.accelerometers:
                publish(_imu(stamp, sensor.frame, run.accelerometers[sensor.topic][row]))
        for unit, publish in self._segments:
            if unit.topic in run.segments:
                omega, force = np.split(run.segments[unit.topic][row], 2)
                publish(_imu(stamp, unit.frame, force, omega))
        if self._position is not None and run.position is not None:
            self._position(
                PointStamped(header=header(stamp, WORLD), point=point(run.position[row]))
            )
        for wrench, publish in self._feet:
            if wrench.topic in run.wrenches:
                message = WrenchStamped(header=header(stamp, wrench.frame or ''))
                force, moment = np.split(run.wrenches[wrench.topic][row], 2)
                message.wrench.force, message.wrench.torque = vector3(force), vector3(moment)
                publish(message)


def _imu(
    stamp: int, frame: str | None, force: Array, omega: Array | None = None,
    orientation: Array | None = None,
) -> Imu:  # fmt: skip
    """A message of what is measured: specific force, angular velocity, orientation."""
    message = Imu(header=header(stamp, frame or ''), linear_acceleration=vector3(force))
    if omega is None:
        message.angular_velocity_covariance = _ABSENT
    else:
        message.angular_velocity = vector3(omega)
    if orientation is None:
        message.orientation_covariance = _ABSENT
    else:
        message.orientation = quaternion_of(orientation)
    return message
