"""What all nodes have in common: the robot, parameters, inputs, outputs, diagnostics, resets."""

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions

from izmp_dynamics.errors import IzmpError, RobotFileError
from izmp_dynamics.live.sample_queue import PATIENCE
from izmp_dynamics.live.stamp_watch import StampWatch
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.health import ERROR, WARN, Health, Input, diagnostic_array
from izmp_dynamics.nodes.hub import Hub
from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.parameters import setting_parameters, value_of, with_values
from izmp_dynamics.nodes.qos import RESULT, SENSOR
from izmp_dynamics.nodes.receiving import Receiver

FLUSH_AFTER = 1.0
"""When all inputs are silent for so long, what waits for a next sample is handed out [s]."""

RELIABLE_PATIENCE = 4.0
"""Patience with sensors whose messages are delivered reliably [s]."""

REPORT_EVERY = 1.0
"""Time between two diagnostics [s]."""


class StageNode(Node):
    """A node around a stage.

    Subclasses say in `configure` how to make the stage, and in `reset` and `flush` how to let it
    forget and finish.

    Args:
        name: of the node.
        sections: of the robot file that become its parameters.
        hub: connects it with other nodes of the process; None: DDS only.
        overrides: values of parameters.

    Attributes:
        robot: robot file with the parameters' values.
        model: the robot's model.
        health: for the diagnostics.
        receiver: of its messages; `process.Graph` lets it work.
        urgent: whether it is on the way to the IZMP of MR-AD, which comes first in a process.
    """

    urgent = True

    def __init__(
        self,
        name: str,
        sections: Iterable[str] = (),
        hub: Hub | None = None,
        overrides: Iterable[Parameter] = (),
    ) -> None:
        super().__init__(name, parameter_overrides=list(overrides))
        self._hub = hub
        self.receiver = Receiver() if hub is None else hub.receiver
        self._lock = threading.RLock() if hub is None else hub.lock
        path = self._path('robot', 'robot file (YAML): URDF, sensors, feet; see docs/nodes.md')
        urdf = self._path('urdf', 'URDF to use instead of the one that the robot file names')
        self._reliable = self._flag(
            'reliable_inputs',
            'ask for reliable delivery of the sensors, which their publishers then must offer',
        )
        if not path:
            raise RobotFileError(
                f"The node '{name}' needs the parameter robot, the path of a robot file: "
                '--ros-args -p robot:=my_robot.yaml'
            )
        file = load_robot_file(path, urdf or None)
        self._settings = {item.name: item for item in setting_parameters(sections)}
        self.robot = self._declared(file)
        self.model = load_model(self.robot.urdf_path, self.robot.root)
        self.health = Health(
            self.get_fully_qualified_name(), self.model.name, self.count_publishers
        )
        self._audit()
        self._watches: list[StampWatch] = []
        self._flushed = True
        self.steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.configure(self.robot)
        self.add_on_set_parameters_callback(self._changed)
        self.create_timer(REPORT_EVERY, self._report, clock=self.steady)
        self.create_timer(FLUSH_AFTER / 4, self._flush_if_silent, clock=self.steady)

    @property
    def patience(self) -> float:
        """Lag and silence of a sensor beyond which instants do not wait for it [s].

        With reliable delivery a lost message is repaired at the next heartbeat, up to three
        seconds later; until then the topic stands still.
        """
        return RELIABLE_PATIENCE if self._reliable else PATIENCE

    def configure(self, robot: RobotFile) -> None:
        """Make the stage anew.

        Raises:
            IzmpError: if that is not possible with these settings.
        """

    def reset(self) -> None:
        """Forget all samples."""

    def flush(self) -> None:
        """Hand out what waits for a next sample, as there is none."""

    def inspect(self) -> None:
        """Look, before each report, at what is worth a remark."""

    def listen(
        self,
        topic: str,
        msgtype: Any,
        callback: Callable[[int, Any], None],
        source: str,
        *,
        sensor: bool = False,
        required: bool = True,
    ) -> Input:
        """Listen to a topic with stamps.

        Args:
            topic: relative name, remappable.
            msgtype: class of the messages.
            callback: is given stamp [ns] and message.
            source: what to do if nobody publishes it.
            sensor: whether it comes from the robot and not from another of these nodes.
            required: whether nothing comes out without it.
        """
        name = self.resolve_topic_name(topic)
        entry = Input(name, source, required, sensor)
        self.health.inputs.append(entry)
        watch = StampWatch()
        self._watches.append(watch)
        receive = partial(self._receive, entry, watch, callback)
        lost = partial(self._lose, entry)
        qos = SENSOR if sensor and not self._reliable else RESULT
        if self._hub is None:
            self.receiver.subscribe(self, topic, msgtype, receive, lost, qos, sensor=sensor)
        else:
            self._hub.listens(name, msgtype, receive, lost, qos, sensor=sensor, urgent=self.urgent)
        return entry

    def speak(self, topic: str, msgtype: Any, qos: QoSProfile = RESULT) -> Callable[[Any], None]:
        """Make an output; return the function that publishes."""
        overridable = QoSOverridingOptions.with_default_policies()
        publisher = self.create_publisher(msgtype, topic, qos, qos_overriding_options=overridable)
        if self._hub is not None:
            self._hub.publishes(publisher.topic_name)
        return partial(self._publish, publisher)

    def _publish(self, publisher: Any, message: Any) -> None:
        if self._hub is not None:
            self._hub.publish(publisher.topic_name, message, publisher.publish)
        else:
            publisher.publish(message)
        latency = None
        if hasattr(message, 'header'):
            latency = (self.get_clock().now().nanoseconds - stamp_of(message)) * 1e-9
        self.health.published(publisher.topic_name, latency)

    def _receive(
        self, entry: Input, watch: StampWatch, callback: Callable[[int, Any], None], message: Any
    ) -> None:
        stamp = stamp_of(message)
        with self._lock:
            entry.received(stamp)
            self._flushed = False
            if watch.jumped_back(stamp):
                self._begin_anew(entry.topic)
            callback(stamp, message)

    def _lose(self, entry: Input, number: int) -> None:
        self.health.counts[f'{entry.topic}: message lost, as network or computer is slow'] += (
            number
        )

    def _begin_anew(self, topic: str) -> None:
        self.health.counts['time went back: everything was forgotten'] += 1
        self.get_logger().warning(f'The stamps of {topic} went back: beginning anew.')
        for watch in self._watches:
            watch.reset()
        self.reset()

    def _flush_if_silent(self) -> None:
        if self._flushed:
            return
        newest = max((entry.last for entry in self.health.inputs), default=0.0)
        if time.monotonic() - newest > FLUSH_AFTER:
            self._flushed = True
            with self._lock:
                self.flush()

    def _report(self) -> None:
        now = self.get_clock().now().nanoseconds
        with self._lock:
            self.inspect()
        status = self.health.status()
        self._diagnostics.publish(diagnostic_array(now, status))
        log = self.get_logger()
        if status.level == ERROR:
            log.error(status.message, throttle_duration_sec=10.0)
        elif status.level == WARN:
            log.warning(status.message, throttle_duration_sec=10.0)

    def _audit(self) -> None:
        for k, problem in enumerate(self.model.problems):
            self.health.values[f'URDF {k + 1}'] = str(problem)

    def _path(self, name: str, description: str) -> str:
        descriptor = ParameterDescriptor(description=description, read_only=True)
        value: str = self.declare_parameter(name, '', descriptor).value
        return str(Path(value).expanduser()) if value else ''

    def _flag(self, name: str, description: str) -> bool:
        descriptor = ParameterDescriptor(description=description, read_only=True)
        return bool(self.declare_parameter(name, False, descriptor).value)

    def _declared(self, file: RobotFile) -> RobotFile:
        """Declare the settings with the robot file's values; return what holds in the end."""
        values = {}
        for name, item in self._settings.items():
            given = self.declare_parameter(name, value_of(file, name), item.descriptor()).value
            values[name] = item.checked(given)
        return with_values(file, values)

    def _changed(self, parameters: list[Parameter]) -> SetParametersResult:
        """Take new settings if the stage can be made with them; else say why not."""
        names = [item.name for item in parameters if item.name in self._settings]
        if not names:
            return SetParametersResult(successful=True)
        with self._lock:
            return self._take_over(parameters, names)

    def _take_over(self, parameters: list[Parameter], names: list[str]) -> SetParametersResult:
        try:
            values = {
                item.name: self._settings[item.name].checked(item.value)
                for item in parameters
                if item.name in names
            }
            robot = with_values(self.robot, values)
            self.configure(robot)
        except IzmpError as error:
            self.configure(self.robot)
            return SetParametersResult(successful=False, reason=str(error))
        self.robot = robot
        self.get_logger().info(f'New values of {", ".join(names)}: beginning anew.')
        return SetParametersResult(successful=True)

    def check_frame(self, topic: str, expected: str | None, message: Any) -> None:
        """Remark on a message whose frame is not the one that the robot file states."""
        frame = message.header.frame_id.lstrip('/')
        key = f'frame of {topic}'
        if expected and frame and frame != expected:
            sentence = (
                f"The messages on {topic} name the frame '{frame}', but the robot file states "
                f"'{expected}', which is used. Correct the one that is wrong."
            )
            if self.health.remark(key, WARN, sentence):
                self.get_logger().warning(sentence)
        else:
            self.health.clear(key)
