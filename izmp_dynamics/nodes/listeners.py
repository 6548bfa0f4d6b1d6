"""Who must listen to a player before it plays: the graph, by name, and the recorder."""

from collections.abc import Iterable
from typing import Any

from izmp_dynamics.model.robot_file import RobotFile

COMPOSED = 'izmp_dynamics'
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
    placed = robot.position is not None
    of_imu = {'acd', 'angular_acceleration', 'izmp', *(['localizer'] if placed else [])}
    wanted = {
        robot.joints.topic: {'acd'},
        robot.imu.topic: of_imu,
        'joint_kinematics': {'mr_ad', *(['ir_md'] if placed else [])},
    }
    wanted |= {sensor.topic: {'angular_acceleration'} for sensor in robot.accelerometers}
    if robot.position is not None:
        wanted[robot.position.topic] = {'localizer', 'izmp'}
    if robot.ground.topic is not None:
        wanted[robot.ground.topic] = {'izmp'}
    wanted |= {foot.wrench.topic: {'acd', 'izmp'} for foot in robot.feet if foot.wrench}
    if robot.ground.source == 'feet_imus':
        wanted |= {foot.imu.topic: {'izmp'} for foot in robot.feet if foot.imu}
    return {topic: frozenset(names) for topic, names in wanted.items()}


class Listeners:
    """Looks who listens, in the namespace of the player.

    Args:
        node: the player.
        robot: names the topics.
        played: those of them that are published.
        recorder: whether the recorder must listen, too.
    """

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
        composed = COMPOSED in self._names(self._joints)
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

    def count(self) -> int:
        """How many subscriptions of the played topics there are, by whomever."""
        return sum(len(self._subscriptions(topic)) for topic in self._played)

    def _names(self, topic: str) -> set[str]:
        """The nodes in the player's namespace that subscribe to a topic."""
        place = self._node.get_namespace()
        return {
            info.node_name for info in self._subscriptions(topic) if info.node_namespace == place
        }

    def _subscriptions(self, topic: str) -> Any:
        name = self._node.resolve_topic_name(topic)
        return self._node.get_subscriptions_info_by_topic(name)


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
