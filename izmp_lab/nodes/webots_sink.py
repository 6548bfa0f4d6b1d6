"""A robot in Webots as a ROS node: publishes its sensors, takes trajectories."""

import time
from typing import Any

import numpy as np
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.process import discover_quickly
from izmp_dynamics.nodes.qos import RESULT
from izmp_lab.nodes.sensor_outputs import SensorOutputs
from izmp_lab.simulation.simulated_run import SensorSignals
from izmp_lab.simulation.webots.options import Options
from izmp_lab.simulation.webots.trajectory import Trajectory

SUBSCRIBED = 1.0
"""The joints must have had a subscriber for so long before the robot begins to move [s]."""

_LOOK_EVERY, _SPIN_EVERY = 0.1, 0.02
"""Time between two looks for subscribers, and for messages [s]."""


def make_sink(options: Options) -> tuple['WebotsSink', int]:
    """Make the node, and the origin of its stamps [ns]: 0, or now without simulated time."""
    if not rclpy.ok():
        # Ctrl-C belongs to the driver, which ends the plugins.
        discover_quickly()
        rclpy.init(args=None, signal_handler_options=SignalHandlerOptions.NO)
    origin = (
        0 if options.use_sim_time else Clock(clock_type=ClockType.SYSTEM_TIME).now().nanoseconds
    )
    return WebotsSink(options), origin


class WebotsSink:
    """Publishes samples, logs sentences, hands on trajectories.

    The node is one of its own inside the driver's process, which passes on neither remappings nor
    use_sim_time: topics, namespace and time are the plugin's properties.

    Args:
        options: of the plugin.
    """

    def __init__(self, options: Options) -> None:
        clock = Parameter('use_sim_time', value=options.use_sim_time)
        self.node = Node(
            'izmp_webots', namespace=options.namespace or None, parameter_overrides=[clock]
        )
        self._outputs = SensorOutputs(self.node, options.file)
        self._wanted: JointTrajectory | None = None
        self._subscription = self.node.create_subscription(
            JointTrajectory, options.trajectory, self._take, RESULT
        )
        self._joints = self.node.resolve_topic_name(options.file.joints.topic)
        self._looked = self._spun = 0.0
        self._subscribed_since: float | None = None
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)

    def publish(self, sample: SensorSignals) -> None:
        """Publish a sample."""
        self._outputs.publish(sample, 0)

    def log(self, sentence: str, level: str = 'info') -> None:
        """Log a sentence."""
        logger = self.node.get_logger()
        if level == 'error':  # rclpy wants a line of code for each severity
            logger.error(sentence)
        elif level == 'warning':
            logger.warning(sentence)
        else:
            logger.info(sentence)

    def trajectory(self) -> Trajectory | None:
        """Return the trajectory that has come since the last call, if any."""
        now = time.monotonic()
        if now - self._spun > _SPIN_EVERY:  # to look for messages takes longer than to publish
            self._spun = now
            self._executor.spin_once(timeout_sec=0.0)
        message, self._wanted = self._wanted, None
        return None if message is None else _trajectory(message)

    def listened(self) -> bool:
        """Whether the joints have had a subscriber for a while, so that nothing gets lost."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return False
        self._looked = now
        if not self.node.count_subscribers(self._joints):
            self._subscribed_since = None
        elif self._subscribed_since is None:
            self._subscribed_since = now
        return self._subscribed_since is not None and now - self._subscribed_since > SUBSCRIBED

    def close(self) -> None:
        """End the node."""
        self._executor.shutdown(timeout_sec=1.0)
        self.node.destroy_node()
        rclpy.try_shutdown()

    def _take(self, message: JointTrajectory) -> None:
        self._wanted = message


def _trajectory(message: Any) -> Trajectory:
    """Arrays of a message; a missing number becomes NaN, which `Trajectory` refuses."""
    joints = len(message.joint_names)

    def table(rows: list[Any]) -> Any:
        fits = all(len(row) == joints for row in rows)
        return np.array(rows if fits else np.full((len(rows), joints), np.nan), dtype=np.float64)

    times = [
        point.time_from_start.sec + point.time_from_start.nanosec / NANOSECONDS
        for point in message.points
    ]
    velocities = [point.velocities for point in message.points]
    return Trajectory(
        tuple(message.joint_names),
        np.array(times, dtype=np.float64),
        table([point.positions for point in message.points]).reshape(len(times), joints),
        table(velocities) if any(len(row) for row in velocities) else None,
    )
