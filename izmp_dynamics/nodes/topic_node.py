"""What a node of the graph has beside its evaluator: life cycle, robot, parameters, topics.

It configures and activates itself unless a manager of life cycles is to do it.

| transition | what a node does |
|---|---|
| configure | reads parameters, robot file and URDF, compiles, advertises and subscribes |
| activate | takes messages and publishes |
| deactivate | leaves messages out, as if none came; keeps what it has learned |
| cleanup, shutdown | frees all that configure has made |
"""

import gc
import math
import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import IzmpError, RobotFileError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.urdf import parse_urdf
from izmp_dynamics.nodes.health import Health, Input
from izmp_dynamics.nodes.messages import message_class, stamp_of
from izmp_dynamics.nodes.others import nodes_beside
from izmp_dynamics.nodes.output import Output
from izmp_dynamics.nodes.parameters import (
    NodeSettings,
    common,
    given_description,
    result_topic,
    stated_robot,
    warn_of_unknown_parameters,
)
from izmp_dynamics.nodes.qos import RESULT, SENSOR
from izmp_dynamics.nodes.receiving import INSTANTS, KeptSegments, Receiver, Reception
from izmp_dynamics.nodes.registry import Task
from izmp_dynamics.nodes.transforms import FrameNames
from izmp_dynamics.nodes.wire import MappedReader, reader_of
from izmp_dynamics.pipeline.evaluator import Evaluator
from izmp_dynamics.recording.mapped import CounterClock
from izmp_dynamics.signals.stage import PATIENCE

RELIABLE_PATIENCE = 4.0
"""Patience with sensors whose messages are delivered reliably [s]."""

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE

MAIN_RESULT = '/mr_ad/izmp'
"""The topic that the line in the log names, if the node publishes it."""


class TopicNode(LifecycleNode):
    """A node that makes results of messages, while it is active.

    `GraphNode` makes everything in `set_up`; whatever attributes, publishers, subscriptions and
    services are new then, `cleanup` removes.

    Args:
        task: what it is given, and what it computes.

    Attributes:
        task: as above.
        receiver: of its messages; `process.Running` lets it work.
        is_active: whether messages are taken.
        is_configured: whether it is active or inactive.
        model: the robot's model.
        frame_names: as they are in messages.
        root: name of the root's frame in messages.
        health: for the diagnostics.
        evaluator: makes results of samples; None while a frame of a sensor is not known.
    """

    evaluator: Evaluator | None

    def __init__(self, task: Task, overrides: Iterable[Parameter] = ()) -> None:
        super().__init__(task.node, parameter_overrides=list(overrides))
        self.task = task
        self._answer_change = self._service_change_state.callback
        self._service_change_state.callback = self._change_state
        self.receiver = Receiver()
        self.is_active = self.is_configured = False
        self._lock = threading.RLock()
        self._failure: Exception | None = None
        self._autostart = common(self, 'autostart')
        self._begin()

    # ---- Life cycle ---------------------------------------------------------------------------

    def _change_state(self, request: Any, response: Any) -> Any:
        """Answer a request also if the state does not allow it, where rclpy raises an error."""
        try:
            return self._answer_change(request, response)
        except _rclpy.RCLError as error:
            self.get_logger().warning(f'The state is not changed: {error}')
            response.success = False
            return response

    def destroy_node(self) -> None:
        """Destroy the node and its state machine, which rclpy leaves.

        That holds the node, and with it the participant of the middleware: if other processes
        leave while this one ends, Fast DDS may wait for ever for one that is still there.
        """
        super().destroy_node()
        machine = getattr(self, '_state_machine', None)  # private, so not in every rclpy
        if machine is not None:
            machine.destroy_when_not_in_use()

    def _begin(self) -> None:
        """Configure and activate, unless a manager is to do it; raise errors as `set_up` does."""
        if not self._autostart:
            name = self.get_fully_qualified_name()
            self.get_logger().info(f'Unconfigured: ros2 lifecycle set {name} configure')
            return
        for transition in (self.trigger_configure, self.trigger_activate):
            if transition() != _SUCCESS:
                raise self._failure or RuntimeError(f'{self.get_name()} could not be started')

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make everything; where that fails, the node stays unconfigured and the log says why."""
        with self._lock:
            self._entities = {*self.publishers, *self.subscriptions, *self.services}
            self._before = {*vars(self), '_before'}
            try:
                self.set_up()
                warn_of_unknown_parameters(self)
            except Exception as error:
                self._free()
                self._failure = error
                if not self._autostart:
                    known = isinstance(error, IzmpError)
                    self.get_logger().error(str(error) if known else traceback.format_exc())
                return _FAILURE
            self.is_configured = True
        return _SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take messages from now on."""
        with self._lock:
            self.health.begin()
        self.get_logger().info(self._summary())
        with self._lock:
            self.is_active = True
        self.receiver.paused = False
        return _SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Take no messages; nothing is published when this has returned."""
        self.receiver.paused = True
        with self._lock:
            self.is_active = False
        return _SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything."""
        with self._lock:
            self._free()
        gc.unfreeze()  # `Receiver.spin` has frozen what was there
        gc.collect()
        return _SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Free everything that there is."""
        self.on_deactivate(state)
        return self.on_cleanup(state) if self.is_configured else _SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin again unconfigured."""
        return self.on_shutdown(state)

    def _free(self) -> None:
        self.is_configured = False
        if hasattr(self, '_settings'):
            self._settings.undeclare()
        self.receiver.forget()
        for there, destroy in (
            (self.publishers, self.destroy_publisher),
            (self.subscriptions, self.destroy_subscription),
            (self.services, self.destroy_service),
        ):
            for each in {*there} - self._entities:
                destroy(each)
        for name in set(vars(self)) - self._before:
            delattr(self, name)

    # ---- Robot and parameters -----------------------------------------------------------------

    def set_up(self) -> None:
        """Load robot and model."""
        file = stated_robot(self)
        path = file.path
        self._reliable: bool = common(self, 'reliable_inputs')
        self.age_limit: float = common(self, 'result_age_limit')
        if file.imu.from_position:
            raise RobotFileError(
                f"'{path}': imu.from_position is for recordings; a node needs the messages of an "
                'IMU on imu.topic.',
                kind='imu_from_position', path=path,
            )  # fmt: skip
        mapped = [signal for signal in file.signals() if signal.mapping is not None]
        clocks: dict[str, CounterClock] = {}
        self._mapped = {
            signal.name: MappedReader(signal, lambda: self.receiver.received, clocks)
            for signal in mapped
        }
        undated = [
            each.shown_key for each in mapped if not self._mapped[each.name].has_header_stamp
        ]
        if undated and not self.task.is_whole:
            raise RobotFileError(
                f"'{path}': {list_names(undated)} have no header, or another clock than its "
                'stamp, so that separate nodes would date them differently; set composed:=true.',
                kind='mapped', path=path,
            )  # fmt: skip
        self.receiver.longest_wait = None if self._reliable else self.age_limit
        self._settings = NodeSettings(self, self.task.settings, file)
        if not self.task.is_whole and not self._reliable:
            length = INSTANTS / self.robot.rates.bus
            self.receiver.segments = KeptSegments(length, 0.5 * self.age_limit)
        description = given_description(self)
        self.model = load_model(
            self.robot.read_urdf(parse_urdf(description) if description else None), self.robot.root
        )
        ground = self.robot.ground
        self.frame_names = FrameNames(
            self, self.model.frame_names, ground.frame if ground.moves else None
        )
        self.root = self.frame_names.of(self.model.root)
        self._refuse_own_output()
        sim_time = bool(self.get_parameter('use_sim_time').value)
        clock = self.get_clock()
        self.health = Health(
            self.get_fully_qualified_name(),
            self.model.name,
            self.count_publishers,
            self.publishers_of,
            # Who waits for the graph, and lets the time pass on /clock, may run ahead of it.
            math.inf if self._reliable and sim_time else self.age_limit,
            composed=self.task.is_whole,
            runs=lambda node: node in nodes_beside(self),
            now=lambda: int(clock.now().nanoseconds),
        )
        for k, problem in enumerate(self.model.problems):
            self.health.values[f'URDF {k + 1}'] = str(problem)
        self.topics: dict[str, str] = {}
        self._made: list[Output] = []
        self._attempts: list[Callable[[], bool]] = []
        self._collected = defaultdict[str, list[tuple[int, Array]]](list)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self.evaluator = None

    def _summary(self) -> str:
        """One line: the robot, the rate, the topics."""
        signals = map(self.resolve_topic_name, (s.topic for s in self.task.signals(self.robot)))
        inputs = dict.fromkeys([*(entry.topic for entry in self.health.inputs), *signals])
        outputs = [output.topic for output in self._made]
        first = [topic for topic in outputs if topic.endswith(MAIN_RESULT)] or outputs[:1]
        more = f' and {len(outputs) - 1} more' if len(outputs) > 1 else ''
        return (
            f"Evaluating '{self.model.name}' at {self.robot.rates.bus:g} Hz from "
            f'{", ".join(inputs)}; results on {first[0]}{more}.'
        )

    def collect(self, signal: str, stamp: int, values: Array) -> None:
        """Keep a sample for the evaluator."""
        if self.evaluator is not None:
            self._collected[signal].append((stamp, values))

    @property
    def robot(self) -> RobotFile:
        """The robot file with the parameters' values."""
        return self._settings.robot

    @property
    def patience(self) -> float:
        """Lag of a sensor behind the instants beyond which they do not wait for it [s].

        With reliable delivery a lost message is repaired at the next heartbeat, up to three
        seconds later; until then the topic stands still.
        """
        return RELIABLE_PATIENCE if self._reliable else PATIENCE

    def publishers_of(self, topic: str) -> list[str]:
        """Full names of the nodes that publish a topic, each once per process.

        A node that is started twice has two participants of DDS, whose prefix begins each GUID.
        """
        infos = self.get_publishers_info_by_topic(topic)
        found = {
            (f'{i.node_namespace.rstrip("/")}/{i.node_name}', tuple(i.endpoint_gid[:12]))
            for i in infos
        }
        return sorted(name for name, _ in found)

    def subscribe(
        self,
        topic: str,
        msgtype: str,
        callback: Callable[[int, Any], None],
        source: str,
        *,
        signal: str = '',
        sensor: bool = False,
        required: bool = True,
    ) -> Input:
        """Subscribe to a topic with stamps.

        Args:
            topic: relative name, remappable.
            msgtype: type of the messages, e.g. 'sensor_msgs/msg/Imu'.
            callback: is given stamp [ns] and message, or what `wire.reader_of`, or the mapping of
                its fields, makes of it.
            source: what to do if it has no publisher; of a result, the node that computes it.
            signal: its name in the counters; the topic's if not given.
            sensor: whether it comes from the robot and not from another of these nodes.
            required: whether nothing comes out without it.
        """
        signal = signal or topic
        topic = topic if sensor else result_topic(self, topic)
        name = self.resolve_topic_name(topic)
        entry = Input(name, source, required, sensor, signal)
        self.health.inputs.append(entry)
        self.topics[entry.signal] = name
        self.receiver.awaited = None
        reader = self._mapped.get(entry.signal) or reader_of(msgtype)
        receive = partial(self._receive, entry, reader or _read, callback)
        lost = partial(self._lose, entry)
        qos = SENSOR if sensor and not self._reliable else RESULT
        kind = message_class(msgtype)
        self.receiver.add(Reception(self, topic, kind, receive, lost, qos, raw=reader is not None))
        return entry

    def until(self, attempt: Callable[[], bool]) -> None:
        """Make an attempt now and, until it returns True, four times a second under the lock."""
        if not attempt():
            self._attempts.append(attempt)

    def try_again(self) -> None:
        """Make the attempts that have failed so far; one that raises an error is among them."""
        for attempt in tuple(self._attempts):
            with self._guarded('subscriptions'):
                if attempt():
                    self._attempts.remove(attempt)

    def serve(self, name: str, answer: Callable[[], tuple[bool, str]]) -> None:
        """Offer a service without arguments, std_srvs/Trigger.

        It is answered while no message is worked on, with success and a sentence.
        """
        from std_srvs.srv import Trigger  # no other node needs it

        def respond(request: Any, response: Any) -> Any:
            with self._lock:
                try:
                    response.success, response.message = (
                        answer() if self.is_active else (False, 'The node is not active.')
                    )
                except Exception as error:
                    response.message = f'unexpected error: {error!r}'
                    self.get_logger().error(f'{name}:\n{traceback.format_exc()}')
            return response

        self.create_service(Trigger, name, respond)

    def advertise(
        self, topic: str, msgtype: Any, qos: QoSProfile = RESULT, **constants: Any
    ) -> Output:
        """Make a topic with results; all messages share the values of the given fields."""
        topic = result_topic(self, topic)
        self._made.append(Output(self, topic, msgtype, self.health, qos, **constants))
        return self._made[-1]

    def _receive(
        self,
        entry: Input,
        read: Callable[[Any], tuple[int, Any]],
        take: Callable[[int, Any], None],
        given: Any,
    ) -> None:
        with self._lock:
            if not self.is_active:
                return
            try:
                stamp, message = read(given)
                entry.received(stamp)
                take(stamp, message)
            except Exception as error:
                self.fail(entry.signal, error)

    @contextmanager
    def _guarded(self, signal: str) -> Iterator[None]:
        """Let an error cost a message and not the node."""
        try:
            yield
        except Exception as error:
            self.fail(signal, error)

    def fail(self, signal: str, error: Exception) -> None:
        """Count and log an error that a message caused."""
        known = isinstance(error, IzmpError)
        if not (known or self.context.ok()):  # nothing can be published any more
            return
        with self._lock:
            if not self.is_configured:  # another thread has cleaned up meanwhile
                return
            self.health.fail(signal, str(error) if known else repr(error))
        if known:
            self.get_logger().error(str(error), throttle_duration_sec=10.0)
        else:
            trace = ''.join(traceback.format_exception(error))
            text = f'{signal}: a message is left out.\n{trace}'
            self.get_logger().error(text, throttle_duration_sec=10.0)

    def _lose(self, entry: Input, reason: Reason, number: int) -> None:
        with self._lock:
            if not self.is_active:
                return
            self.health.count(entry.signal, reason, number=number)
            if reason is Reason.SKIPPED:
                entry.skipped(number)

    def _refuse_own_output(self) -> None:
        position, own = self.robot.position, self.resolve_topic_name(result_topic(self, 'odom'))
        if position is None or self.resolve_topic_name(position.topic) != own:
            return
        raise RobotFileError(
            f"position.topic is '{position.topic}', which is {own} here, where the "
            "node 'localizer' publishes its own result. Give the results a namespace "
            '(results_namespace:=izmp), or publish the position under another name.',
            kind='own_odometry', topic=position.topic,
        )  # fmt: skip


def _read(message: Any) -> tuple[int, Any]:
    return stamp_of(message), message
