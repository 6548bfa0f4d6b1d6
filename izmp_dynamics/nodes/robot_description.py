"""The URDF as other nodes give it: the parameter or the topic robot_description."""

from typing import Any

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.start_up import announced

_LOOK_EVERY = 1.0
"""Time after which it is looked whether ROS has been shut down [s]."""


def given_description(node: Node) -> str:
    """Declare robot_description and robot_description_topic; return the URDF that they give.

    A topic is waited for however long it takes.

    Args:
        node: gets the parameters.

    Returns:
        The text; '' if neither is set.

    Raises:
        IzmpError: if both are set, or ROS is shut down while the node waits.
    """
    text: str = fixed(
        node, 'robot_description', '', 'text of the URDF to use instead of that of the robot file'
    )
    topic: str = fixed(
        node,
        'robot_description_topic',
        '',
        'topic (std_msgs/String, latched) to take the URDF from instead, e.g. robot_description',
    )
    if text and topic:
        raise IzmpError(
            'robot_description and robot_description_topic are both set; one of them is enough.',
            kind='two_descriptions',
        )
    return _awaited(node, topic) if topic else text


def _awaited(node: Node, topic: str) -> str:
    name = node.resolve_topic_name(topic)
    received: list[Any] = []
    subscription = node.create_subscription(String, topic, received.append, LATCHED)
    before: Any = node.executor
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    with announced(node.get_logger(), f'Waiting for the URDF on {name}'):
        while not received and node.context.ok():
            executor.spin_once(timeout_sec=_LOOK_EVERY)
    executor.remove_node(node)
    node.executor = before
    node.destroy_subscription(subscription)
    if not received:
        raise IzmpError(f'The wait for {name} was ended.', kind='shut_down')
    return str(received[0].data)
