"""The graph, a source of sensor data and a recorder in one process, watched in the terminal."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from rich.live import Live

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.browser import require_viser
from izmp_dynamics.nodes.figures import Figures
from izmp_dynamics.nodes.others import refuse_others
from izmp_dynamics.nodes.player import AHEAD, BagPlayer
from izmp_dynamics.nodes.process import (
    Running,
    discover_quickly,
    shut_down,
    stay_on_this_computer,
    until_shutdown,
)
from izmp_dynamics.nodes.recorder import Recorder
from izmp_dynamics.nodes.registry import node_class
from izmp_dynamics.nodes.start_up import signals_handled
from izmp_dynamics.nodes.topic_node import RELIABLE_PATIENCE
from izmp_dynamics.signals.stream import filter_in_words

WAITING = 3.0
"""Time after which it is said what does not come, where there are no live figures [s]."""

AFTERWARDS = 2.5
"""Time that the nodes are given to finish what is under way [s]."""

IZMP = 'mr_ad/izmp'
"""What every graph publishes."""

NOT_RECORDED = 'The recording has ended: it cannot be written any more.'
FEW = 25
"""Messages in that time, as of diagnostics, that are nothing under way."""

_REFRESH = 5.0  # [Hz]
Source = Callable[[threading.Event], object]
"""Works until it is over or the event is set."""


class LiveSession:
    """Use it as a context manager; then make a source and `watch` it.

    Args:
        urdf: URDF to use instead of the one that it names.
        record: folder of a bag with all topics; None: nothing is recorded.
        own_source: whether the sensors come from this process, which delivers reliably; then
            nothing leaves this computer.

    Raises:
        IzmpError: if the bag cannot be written to its place, or another program publishes
            what this session would publish.
    """

    def __init__(
        self,
        path: Path,
        robot: RobotFile,
        urdf: Path | None = None,
        record: Path | None = None,
        overwrite: bool = False,
        own_source: bool = True,
    ) -> None:
        self.robot, self.record = robot, record
        self._overwrite = overwrite
        if record is not None:
            BagWriter(record, overwrite=overwrite).try_place()  # before anything starts
        self._robot_file = {'robot': str(path), 'urdf': str(urdf or '')}
        self._own_source = own_source
        self._threads: list[threading.Thread] = []
        self._stop, self._over = threading.Event(), threading.Event()
        self._failure: IzmpError | None = None
        self._recorder: Recorder | None = None

    def __enter__(self) -> 'LiveSession':
        with ExitStack() as stack:
            if self._own_source:
                stay_on_this_computer()
            discover_quickly()
            rclpy.init(
                args=['--ros-args', '--log-level', 'fatal'],  # the figures show it
                signal_handler_options=SignalHandlerOptions.NO,  # theirs would end the nodes alone
            )
            stack.callback(shut_down)
            self._node = Node('izmp_live')
            stack.callback(self._node.destroy_node)
            self._refuse_others()
            given = _parameters(**self._robot_file, reliable_inputs=self._own_source)
            self.graph = Running('composed', given)
            stack.callback(self.graph.destroy)
            self._figures = Figures(self._node, self.awaited)
            others = [self._node]
            if self.record is not None:
                given = _parameters(output=str(self.record), overwrite=self._overwrite)
                self._recorder = Recorder(overrides=given)
                self._recorder.give_up = partial(_say, NOT_RECORDED)
                stack.callback(self._recorder.destroy_node)
                others.append(self._recorder)
            self._source = stack.enter_context(ExitStack())
            self._spin(self.graph.spin)
            self._spin(_executor(others).spin)
            stack.callback(self._shut_down)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        with signals_handled(signal.SIG_IGN):  # a second one shall not spoil the end
            self._stop.set()
            self._stack.close()

    def bag(self, path: Path, rate: float) -> Source:
        """Play a recording."""
        player = BagPlayer(self._node, path, self.robot, rate)
        self._source.callback(player.close)

        def play(stop: threading.Event) -> None:
            player.wait_for_listeners(stop, recorder=self.record is not None)
            player.play(stop, lambda: player.joints - self._taken() > AHEAD)
            if player.ends_uneven:
                stop.wait(RELIABLE_PATIENCE)

        return play

    def simulation(self, gait: str, rate: float) -> Source:
        """Let a simulated robot move."""
        given = _parameters(**self._robot_file, gait=gait, rate=rate, publish_clock=False)
        node: Any = node_class('simulation')(overrides=given)
        node.taken = self._taken
        self.graph.node.health.now = lambda: node.stamp
        self._source.callback(node.destroy_node)
        self._spin(_executor([node]).spin)

        def run(stop: threading.Event) -> None:
            while not stop.is_set() and not node.is_over:
                time.sleep(0.05)
            if node.fall:
                raise IzmpError(node.fall, kind='fall')

        return run

    def robot_itself(self) -> Source:
        """Take what comes over the network, until Ctrl-C."""
        return threading.Event.wait

    def view(self, address: str) -> None:
        """Show the robot in a web browser, from a process of its own.

        Raises:
            MissingDependencyError: viser is not installed.
        """
        require_viser()
        given = self._robot_file | {'address': address}
        stated = [part for name, text in given.items() for part in ('-p', f'{name}:={text!r}')]
        command = [sys.executable, '-m', 'izmp_dynamics.nodes', 'view', '--ros-args', *stated]
        process = subprocess.Popen(command)
        self._source.callback(process.wait)
        self._source.callback(process.terminate)

    def watch(self, source: Source, quiet: bool = False) -> str:
        """Show figures until the source is over, or until a KeyboardInterrupt; return a summary.

        Raises:
            IzmpError: if the source fails, or nothing comes out of a recording or simulation.
        """
        worker = self._spin(partial(self._work, source))
        console = Console()
        shown: AbstractContextManager[Any] = nullcontext()
        if console.is_terminal and not quiet:
            shown = Live(
                get_renderable=self._figures.table,
                console=console,
                refresh_per_second=_REFRESH,
                transient=True,
            )
        begin, announced = time.monotonic(), isinstance(shown, Live)
        try:
            with shown:  # not afterwards: that no message comes any more is no failure
                while not self._over.wait(1.0 / _REFRESH):
                    if not announced and time.monotonic() - begin > WAITING:
                        announced = True
                        if awaited := self.awaited():
                            _say(f'Waiting for {", ".join(awaited)}.')
            worker.join()
        except KeyboardInterrupt:
            with signals_handled(signal.SIG_IGN):  # a second one shall not spoil the summary
                return f'Interrupted.\n{self._summary()}'
        if self._failure is not None:
            raise self._failure
        summary = self._summary()
        if self._own_source and self._figures.nothing_came:
            said = [summary, str(self.recording_failure or '')]
            raise IzmpError('\n'.join(filter(None, said)), kind='nothing_came_out')
        return summary

    @property
    def recording_failure(self) -> IzmpError | None:
        """Why the bag is not complete, when the session is over; None if it is."""
        return None if self._recorder is None else self._recorder.failure

    def awaited(self) -> tuple[str, ...]:
        """Topics of the robot on which nothing has come so far."""
        sensors = self.graph.node.health.inputs
        inputs = {entry.topic: entry.count for entry in sensors}
        if self.robot.position is not None:  # subscribed to as soon as its type is known
            inputs.setdefault(self._node.resolve_topic_name(self.robot.position.topic), 0)
        return tuple(topic for topic, count in inputs.items() if not count)

    def _refuse_others(self) -> None:
        topics, remedy = [IZMP], 'End that graph first.'
        if self._own_source:
            topics += self.robot.topics()
            domain = self._node.context.get_domain_id()
            remedy = (
                'End that program, or give this session a ROS domain of its own, e.g. '
                f'ROS_DOMAIN_ID={domain + 1} (now: {domain}).'
            )
        refuse_others(self._node, topics, remedy)

    def _summary(self) -> str:
        return f'{self._figures.summary()}\n{filter_sentence(self.graph.node.robot)}'

    def _taken(self) -> int:
        joints = self._node.resolve_topic_name(self.robot.joints.topic)
        inputs = self.graph.node.health.inputs
        return sum(entry.count for entry in inputs if entry.topic == joints)

    def _work(self, source: Source) -> None:
        try:
            source(self._stop)
            self._figures.over = True
            self._over.set()
            self._finish()
        except IzmpError as error:
            self._failure = error
        finally:
            self._over.set()

    def _finish(self) -> None:
        """Wait for the last results, and until the recorder has written what waits for it."""
        while True:
            before = self._recorder.count if self._recorder is not None else 0
            ended = self._stop.wait(AFTERWARDS)
            if ended or self._recorder is None or self._recorder.count - before <= FEW:
                return

    def _spin(self, spin: Callable[[], None]) -> threading.Thread:
        def quietly() -> None:
            with until_shutdown():
                spin()

        thread = threading.Thread(target=quietly, daemon=True)
        thread.start()
        self._threads.append(thread)
        return thread

    def _shut_down(self) -> None:
        """End source and executors before the nodes that they use are destroyed."""
        shut_down()
        for thread in self._threads:
            thread.join(5.0)


def filter_sentence(robot: RobotFile) -> str:
    """Say which filter holds, and how to set one."""
    if stated := filter_in_words(robot):
        return f'Filtered by {stated}, as the robot file or a parameter states.'
    return (
        'No filter is set: noise may move the margin by far more than in izmp replay, which '
        'chooses one. State filter: {half_width: …} [s] in the robot file; izmp check names the '
        'value for a recording, izmp calibrate writes it.'
    )


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _parameters(**values: Any) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


def _executor(nodes: list[Node]) -> SingleThreadedExecutor:
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    return executor
