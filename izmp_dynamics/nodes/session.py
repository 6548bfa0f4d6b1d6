"""The graph, a source of sensor data and a recorder in one process, watched in the terminal."""

import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rich.console import Console
from rich.live import Live

from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.errors import IzmpError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.bag_player import AHEAD, BagPlayer
from izmp_dynamics.nodes.discovery import discover_quickly, stay_on_this_computer
from izmp_dynamics.nodes.figures import Figures
from izmp_dynamics.nodes.process import Running, shut_down, until_shutdown
from izmp_dynamics.nodes.recorder import Recorder
from izmp_dynamics.nodes.simulation import Simulation
from izmp_dynamics.nodes.stage_node import RELIABLE_PATIENCE

WAITING = 3.0
"""Time after which it is said what does not come, where there are no live figures [s]."""

AFTERWARDS = 2.5
"""Time that the nodes are given to finish what is under way [s]."""

FEW = 25
"""Messages in that time, as of diagnostics, that are nothing under way."""

_REFRESH = 5.0  # [Hz]
Source = Callable[[threading.Event], None]
"""Works until it is over or the event is set."""


class LiveSession:
    """Use it as a context manager; then make a source and `watch` it.

    Args:
        path: of the robot file.
        robot: its content.
        urdf: URDF to use instead of the one that it names.
        record: folder of a bag with all topics; None: nothing is recorded.
        overwrite: replace an earlier bag.
        own_source: whether the sensors come from this process, which delivers reliably; then
            nothing leaves this computer.

    Raises:
        IzmpError: if the place of the bag is taken.
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
        self.path, self.robot, self.record = path, robot, record
        self._overwrite = overwrite
        if record is not None:
            BagWriter(record, overwrite=overwrite)  # looks at the place, before anything starts
        self._urdf = str(urdf or '')
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
            rclpy.init(args=['--ros-args', '--log-level', 'fatal'])  # the figures show it
            stack.callback(shut_down)
            overrides = self._parameters(reliable_inputs=self._own_source)
            self.graph = Running('composed', overrides)
            stack.callback(self.graph.destroy)
            self._node = Node('izmp_live')
            stack.callback(self._node.destroy_node)
            self._figures = Figures(self._node, self.awaited)
            others = [self._node]
            if self.record is not None:
                self._recorder = Recorder(overrides=self._recorder_parameters())
                self._recorder.give_up = self._say_that_nothing_is_recorded
                stack.callback(self._recorder.destroy_node)
                others.append(self._recorder)
            self._spin(self.graph.spin)
            self._spin(_executor(others).spin)
            stack.callback(self._shut_down)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._stack.close()

    def bag(self, path: Path, rate: float) -> Source:
        """Play a recording."""
        player = BagPlayer(self._node, path, self.robot, rate)
        self._stack.callback(player.close)

        def play(stop: threading.Event) -> None:
            player.wait_for_listeners(stop, recorder=self.record is not None)
            player.play(stop, lambda: player.joints - self._taken() > AHEAD)
            if player.ends_uneven:
                stop.wait(RELIABLE_PATIENCE)

        return play

    def simulation(self, gait: str, rate: float) -> Source:
        """Let a simulated robot move."""
        overrides = self._parameters(gait=gait, rate=rate, publish_clock=False)
        node = Simulation(overrides=overrides)
        node.taken = self._taken
        self.graph.node.age.now = lambda: node.stamp
        self._stack.callback(node.destroy_node)
        self._spin(_executor([node]).spin)

        def run(stop: threading.Event) -> None:
            while not stop.is_set() and not node.is_over:
                time.sleep(0.05)
            if node.fall:
                raise IzmpError(node.fall, kind='fall')

        return run

    def robot_itself(self) -> Source:
        """Take what comes over the network, until Ctrl-C."""

        def wait(stop: threading.Event) -> None:
            stop.wait()

        return wait

    def watch(self, source: Source, quiet: bool = False) -> str:
        """Show figures until the source is over, or until Ctrl-C; return a summary.

        Raises:
            IzmpError: if the source fails, or nothing comes out of a recording or simulation.
        """
        worker = threading.Thread(target=self._work, args=(source,), daemon=True)
        worker.start()
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
                        self._say_what_is_awaited()
            worker.join()
        except KeyboardInterrupt:
            return f'Ended by Ctrl-C.\n{self._figures.summary()}'
        if self._failure is not None:
            raise self._failure
        summary = self._figures.summary()
        if self._own_source and self._figures.nothing_came:
            raise IzmpError(summary, kind='nothing_came_out')
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

    def _say_what_is_awaited(self) -> None:
        awaited = self.awaited()
        if awaited:
            print(f'Waiting for {", ".join(awaited)}.', file=sys.stderr, flush=True)

    def _say_that_nothing_is_recorded(self) -> None:
        print(
            'The recording has ended: it cannot be written any more.', file=sys.stderr, flush=True
        )

    def _taken(self) -> int:
        """Joint messages that the graph has taken."""
        joints = self._node.resolve_topic_name(self.robot.joints.topic)
        inputs = self.graph.node.health.inputs
        return sum(entry.count for entry in inputs if entry.topic == joints)

    def _work(self, source: Source) -> None:
        try:
            with until_shutdown():
                source(self._stop)
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
            time.sleep(AFTERWARDS)
            if self._recorder is None or self._recorder.count - before <= FEW:
                return

    def _spin(self, spin: Callable[[], None]) -> None:
        def quietly() -> None:
            with until_shutdown():
                spin()

        thread = threading.Thread(target=quietly, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _shut_down(self) -> None:
        """End the executors before the nodes they spin are destroyed."""
        shut_down()
        for thread in self._threads:
            thread.join(5.0)

    def _parameters(self, **values: Any) -> list[Parameter]:
        given = {'robot': str(self.path), 'urdf': self._urdf, **values}
        return [Parameter(name, value=value) for name, value in given.items()]

    def _recorder_parameters(self) -> list[Parameter]:
        values = {'output': str(self.record), 'overwrite': self._overwrite}
        return [Parameter(name, value=value) for name, value in values.items()]


def _executor(nodes: list[Node]) -> SingleThreadedExecutor:
    executor = SingleThreadedExecutor()
    for node in nodes:
        executor.add_node(node)
    return executor
