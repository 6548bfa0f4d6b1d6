"""Running nodes in a process: start, spin, stop without a traceback."""

from collections.abc import Iterable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from izmp_dynamics.nodes.hub import Hub
from izmp_dynamics.nodes.main import node_class


def make_nodes(
    names: Sequence[str], overrides: Iterable[Parameter] = (), hub: Hub | None = None
) -> list[Node]:
    """Make some nodes of this process; several of them share a hub.

    Args:
        names: of the nodes.
        overrides: values of their parameters.
        hub: if there is one already.

    Raises:
        IzmpError: if a node cannot start; says why.
    """
    hub = hub or (Hub() if len(names) > 1 else None)
    nodes: list[Node] = []
    try:
        for name in names:
            nodes.append(node_class(name)(hub=hub, overrides=overrides))
    except BaseException:
        for node in nodes:
            node.destroy_node()
        raise
    if hub is not None:
        hub.connect()
    return nodes


def spin_nodes(names: Sequence[str], arguments: Sequence[str] | None = None) -> int:
    """Run nodes until SIGINT or SIGTERM; return the exit status."""
    rclpy.init(args=arguments if arguments is None else list(arguments))
    nodes: list[Node] = []
    try:
        executor = SingleThreadedExecutor()
        nodes = make_nodes(names)
        for node in nodes:
            executor.add_node(node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()
    return 0
