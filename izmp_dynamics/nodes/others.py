"""Other nodes: who listens to a player, how far the graph is behind it, who publishes the same."""

import time
from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.parameters import result_topic
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.registry import SEPARATE, TASKS
from izmp_dynamics.nodes.wire import stamp_of_bytes
from izmp_dynamics.results.topics import TOPICS
from izmp_dynamics.signals.clock import AHEAD, BACK

COMPOSED = TASKS['composed'].node
"""The node that is the whole graph, if it is composed."""

RECORDER = 'recorder'

ON_DEMAND = {
    'mr_ad/momentum_rate': {'odom': 'mr_ad'},
    'ir_md/contact_wrench': {'odom': 'ir_md'},
    'ir_md/momentum_rate': {'odom': 'ir_md'},
    'ir_md/izmp': {'odom': 'izmp', 'ir_md/contact_wrench': 'izmp'},
}
"""Result → what a node subscribes to as soon as somebody subscribes to that result."""


def graph_listeners(robot: RobotFile) -> dict[str, frozenset[str]]:
    """Topic as the robot file names it → nodes of the graph that subscribe to it.

    The topic joint_kinematics stands for the nodes that have no sensor.
    """
    found = defaultdict[str, set[str]](set)
    for name, task in SEPARATE.items():
        signals = task.signals(robot)
        for signal in signals:
            found[signal.topic].add(name)
        if not signals and not task.is_idle(robot):
            found['joint_kinematics'].add(name)
    return {topic: frozenset(names) for topic, names in found.items()}


def nodes_beside(node: Any) -> set[str]:
    """Names of the nodes in the namespace of one, ready or not."""
    place = node.get_namespace()
    return {name for name, space in node.get_node_names_and_namespaces() if space == place}


class Listeners:
    """Looks who listens in the namespace of the player; on demand, whether the recorder does."""

    def __init__(
        self, node: Any, robot: RobotFile, played: Iterable[str], recorder: bool = False
    ) -> None:
        self._node = node
        self._played = tuple(played)
        self._wanted = graph_listeners(robot)
        self._demands = {} if robot.position is None else ON_DEMAND
        self._joints = robot.joints.topic
        self._recorder = recorder

    def missing(self) -> list[tuple[str, str]]:
        """Pairs of a node that does not listen yet and the topic that it lacks."""
        composed = COMPOSED in self._names(self._joints) | nodes_beside(self._node)
        found = []
        for topic in (*self._played, 'joint_kinematics'):
            names = self._names(topic)
            wanted = self._wanted.get(topic, frozenset())
            if composed:
                sensor = topic in self._played and bool(wanted)
                wanted = frozenset([COMPOSED] if sensor else [])
            if self._recorder and topic in self._played:
                wanted |= {RECORDER}
            found += [(name, topic) for name in sorted(wanted - names)]
        return found if composed else found + self._missing_on_demand()

    def _missing_on_demand(self) -> list[tuple[str, str]]:
        """Pairs as above of nodes that somebody asks for a result."""
        asked = [inputs for result, inputs in self._demands.items() if self._subscriptions(result)]
        pairs = {(name, topic) for inputs in asked for topic, name in inputs.items()}
        return sorted((name, topic) for name, topic in pairs if name not in self._names(topic))

    def are_starting(self, missing: Iterable[tuple[str, str]]) -> bool:
        """Whether all nodes that are missing are there; the first start compiles for minutes."""
        return {name for name, _ in missing} <= nodes_beside(self._node)

    def count(self) -> int:
        """How many subscriptions of the played topics there are, by whomever."""
        return sum(len(self._subscriptions(topic)) for topic in self._played)

    def _names(self, topic: str) -> set[str]:
        place = self._node.get_namespace()
        return {
            info.node_name for info in self._subscriptions(topic) if info.node_namespace == place
        }

    def _subscriptions(self, topic: str) -> Any:
        if topic in TOPICS and topic not in self._played:
            topic = result_topic(self._node, topic)
        name = self._node.resolve_topic_name(topic)
        return self._node.get_subscriptions_info_by_topic(name)


LONGEST_START = 600.0
"""Time that nodes that are there, and do not listen, may start [s].

A first start compiles for some minutes on a slow computer. A node that listens to nothing after
that never will: it is not activated, or has another robot file or other names of topics.
"""

ALWAYS = ('acd', 'angular_acceleration', 'mr_ad', 'izmp')
"""Nodes of a graph that is not composed, with any robot."""


def said(missing: Iterable[tuple[str, str]]) -> str:
    """Name nodes and what they lack, e.g. 'acd (joint_states), izmp (imu, l_foot/wrench)'.

    Where all nodes of the graph are missing, one name stands for them.
    """
    missing, topics = list(missing), dict[str, list[str]]()
    if {name for name, _ in missing} >= set(ALWAYS):
        missing = [entry for entry in missing if entry[0] == RECORDER]
        topics[f'the graph ({COMPOSED}, or {", ".join(ALWAYS)} …)'] = []
    for name, topic in missing:
        topics.setdefault(name, []).append(topic)
    return ', '.join(
        f'{name} ({", ".join(lacked)})' if lacked else name for name, lacked in topics.items()
    )


PATIENCE = 2.0
"""Time without any result after which it is no use to wait for the graph [s]."""


class GraphPace:
    """Follows a result of the graph.

    Args:
        ahead: pieces of a simulation, or joint messages, that may be published before results.
        topic: of the result; joint kinematics are published about every instant of the bus.
        msgtype: class of its messages, which have a header.
    """

    def __init__(
        self,
        node: Node,
        ahead: int,
        topic: str = 'joint_kinematics',
        msgtype: Any = JointTrajectory,
    ) -> None:
        self._ahead = ahead
        self._open: deque[int] = deque(maxlen=ahead + 1)
        self._newest = 0
        self._heard: float | None = None
        self._in_vain = False
        node.create_subscription(msgtype, topic, self._take, RESULT, raw=True)

    def published(self, stamp: int) -> None:
        """Note a piece that was published up to `stamp` [ns]."""
        before, self._newest = self._newest, max(stamp, self._newest)
        if before and not -BACK <= stamp - before <= AHEAD:  # another time, or a wrong stamp
            self._open.clear()
            self._newest = stamp
            return
        self._open.append(self._newest)

    @property
    def is_behind(self) -> bool:
        """Whether the graph has more to do than it should, and is at work.

        It is not waited for again if that was in vain, as its results come later in any case or
        not at all, until it has caught up.
        """
        if self._heard is None or len(self._open) <= self._ahead:
            self._in_vain = False
            return False
        if time.monotonic() - self._heard >= PATIENCE:
            self._in_vain = True
        return not self._in_vain

    def _take(self, raw: bytes) -> None:
        stamp = stamp_of_bytes(raw)
        self._heard = time.monotonic()
        while self._open and self._open[0] <= stamp:
            self._open.popleft()


DISCOVERED = 0.5
"""Time in which nodes are discovered [s]."""

LOOK_EVERY = 0.05
"""Time between two looks meanwhile [s]."""


def refuse_others(
    node: Node, topics: Iterable[str], remedy: str, patience: float = DISCOVERED
) -> None:
    """Make sure, before this program publishes topics, that nobody else does for so long [s].

    Publishers that start later are named by the graph's diagnostics.

    Raises:
        IzmpError: if somebody does; says what to do.
    """
    names = [node.resolve_topic_name(topic) for topic in topics]
    until = time.monotonic() + patience
    while not (found := list(filter(node.count_publishers, names))) and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
    if found:
        raise IzmpError(
            f'Another program publishes {list_names(found)}, so its data and those of this '
            f'session mix. {remedy}',
            kind='others_publish',
        )
