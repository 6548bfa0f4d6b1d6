"""Running nodes in a process: start, spin, stop without a traceback."""

import gc
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from izmp_dynamics.nodes.discovery import discover_quickly
from izmp_dynamics.nodes.hub import Hub
from izmp_dynamics.nodes.registry import node_class

SWITCH_INTERVAL = 5e-4
"""Time after which a thread that reports makes way for the one that receives [s]."""


LOOK_EVERY = 0.25
"""Time after which a node looks for pauses of its inputs and new publishers [s].

A single timer for all nodes, as rclpy's executor gathers all entities whenever one is due.
"""

REPORT_EVERY = 4
"""Looks between two diagnostics of a node."""


class Graph:
    """Some nodes in this process; several of them share a hub.

    Args:
        names: of the nodes.
        overrides: values of their parameters.

    Attributes:
        nodes: the nodes.
        hub: connects them; None if there is only one.

    Raises:
        IzmpError: if a node cannot start; says why.
    """

    def __init__(self, names: Sequence[str], overrides: Iterable[Parameter] = ()) -> None:
        self.nodes: list[Any] = []  # classes by name
        self.hub: Hub | None = None
        self._thread: threading.Thread | None = None
        self._turn = 0
        try:
            if len(names) > 1:
                self.hub = Hub(_inputs_node())
            for name in names:
                self.nodes.append(node_class(name)(hub=self.hub, overrides=overrides))
        except BaseException:
            self.destroy()
            raise
        if self.hub is not None:
            self.hub.connect()

    def spin(self) -> None:
        """Work until the context is shut down.

        The messages of the nodes that evaluate are received in this thread; timers, services and
        parameters are looked after by an executor in a thread beside it.
        """
        others = SingleThreadedExecutor()
        for node in self.nodes:
            others.add_node(node)
        receiver = getattr(self.nodes[0], 'receiver', None)
        if receiver is None:
            others.spin()
            return
        sys.setswitchinterval(SWITCH_INTERVAL)
        gc.collect()
        gc.freeze()  # or each thorough collection stops the nodes for a tenth of a second
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.nodes[0].create_timer(LOOK_EVERY, self._look_after_nodes, clock=steady)
        log = self.nodes[0].get_logger()
        self._thread = threading.Thread(target=spin_on, args=(others, log), daemon=True)
        self._thread.start()
        receiver.spin()

    def _look_after_nodes(self) -> None:
        """Let one in four nodes report, so that their diagnostics do not come all at once."""
        self._turn += 1
        for k, node in enumerate(self.nodes):
            node.look_after(report=(self._turn + k) % REPORT_EVERY == 0)

    def destroy(self) -> None:
        """Destroy the nodes, after the context was shut down."""
        if self._thread is not None:
            self._thread.join(5.0)
        for node in self.nodes:
            node.destroy_node()
        if self.hub is not None:
            self.hub.node.destroy_node()


def spin_nodes(names: Sequence[str], arguments: Sequence[str] | None = None) -> int:
    """Run nodes until SIGINT or SIGTERM; return the exit status."""
    discover_quickly()
    signal.signal(signal.SIGINT, lambda number, frame: None)  # rclpy acts on it, here as well
    rclpy.init(args=arguments if arguments is None else list(arguments))
    graph = None
    try:
        with until_shutdown():
            graph = Graph(names)
            graph.spin()
    finally:
        rclpy.try_shutdown()
        if graph is not None:
            graph.destroy()
    return 0


@contextmanager
def until_shutdown() -> Iterator[None]:
    """End the block without an error when ROS is shut down, between whatever calls that is."""
    try:
        yield
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise


def _inputs_node() -> Node:
    return Node('izmp_inputs', start_parameter_services=False)


def spin_on(executor: SingleThreadedExecutor, log: Any) -> None:
    """Spin until the context is shut down; an error in a timer or a service is logged."""
    while rclpy.ok():
        try:
            executor.spin()
        except ExternalShutdownException:
            return
        except Exception:
            if rclpy.ok():
                log.error(f'An error in a timer or a service:\n{traceback.format_exc()}')
