"""The nodes by name; those of the graph with what each takes, is given and computes."""

import importlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from izmp_dynamics.base.errors import UnknownNameError

if TYPE_CHECKING:
    from izmp_dynamics.model.robot_file import RobotFile
    from izmp_dynamics.model.signals import Signal


class Task:
    """A node of the graph.

    Args:
        node: its name.
        purpose: in a sentence.
        computes: of `stages.PARTS`, what it computes from sensors and what it is given.
        settings: sections of the robot file, or single settings, that are its parameters.
        sensors: kinds of the robot's signals that it subscribes to. acd computes from joints
            alone: the others show it whether the robot moves while joints repeat their positions.
        given: what other nodes compute.
    """

    def __init__(
        self,
        node: str,
        purpose: str,
        *,
        computes: str,
        settings: str,
        sensors: str = '',
        given: str = '',
    ) -> None:
        self.node, self.purpose, self.settings = node, purpose, settings.split()
        self.computes, self.sensors, self.given = (
            frozenset(names.split()) for names in (computes, sensors, given)
        )

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole graph."""
        return len(self.computes) > 1

    @property
    def is_lazy(self) -> bool:
        """Whether nobody needs its results but those who ask for pose or IR-MD."""
        return self.computes <= {'world', 'ir_md'}

    def is_idle(self, robot: 'RobotFile') -> bool:
        """Whether it has nothing to do, as the position of the robot is not known."""
        return self.is_lazy and robot.position is None

    def signals(self, robot: 'RobotFile') -> list['Signal']:
        """Signals of a robot that it subscribes to."""
        unused = set() if robot.ground.source == 'feet_imus' else {'foot_imus'}
        kinds = frozenset() if self.is_idle(robot) else self.sensors - unused
        return [signal for signal in robot.signals() if signal.kind in kinds]


TASKS = {
    'composed': Task(
        'izmp_dynamics',
        'The sensors in, everything out that the single nodes publish, in one process.',
        sensors=(
            'joints imu accelerometers segments segment_accelerometers position ground feet '
            'foot_imus'
        ),
        computes='joints root mr_ad world ir_md verdict fusion',
        settings=(
            'acd angular_acceleration fall_alarm filter.half_width gravity ground ir_md '
            'noise pairing rates'
        ),
    ),
    'acd': Task(
        'acd',
        'joint_states → joint_kinematics (actuator coordinate differentiation, sect. 4.4.1).',
        sensors='joints imu feet',
        computes='joints',
        settings='acd rates filter.half_width pairing',
    ),
    'angular_acceleration': Task(
        'angular_acceleration',
        'imu, accelerometers → root_acceleration, root_twist (eqs. 23–29).',
        sensors='imu accelerometers',
        given='joints',
        computes='root',
        settings='angular_acceleration noise.accelerometer filter.half_width pairing gravity',
    ),
    'mr_ad': Task(
        'mr_ad',
        'joint_kinematics, root_acceleration, root_twist → contact wrench (eqs. 12, 13).',
        sensors='segments segment_accelerometers',
        given='joints root world',
        computes='mr_ad',
        settings='gravity filter.half_width pairing noise.accelerometer noise.gyroscope',
    ),
    'localizer': Task(
        'localizer',
        'position and IMU → odom and TF from the world to the robot (sect. 4.5).',
        sensors='imu position',
        given='joints',
        computes='world',
        settings=(
            'gravity ir_md.difference filter.half_width pairing noise.gyroscope '
            'noise.orientation noise.position'
        ),
    ),
    'ir_md': Task(
        'ir_md',
        'joint_kinematics, odom → contact wrench from differenced momentum (sect. 4.4.2).',
        given='joints world',
        computes='ir_md',
        settings='gravity ir_md acd.max_gap',
    ),
    'izmp': Task(
        'izmp',
        'Contact wrenches and feet → points on the ground, margins, polygon, frame nif.',
        sensors='imu position ground feet foot_imus',
        given='joints root mr_ad world ir_md',
        computes='verdict',
        settings=(
            'fall_alarm gravity ground filter.half_width pairing noise.accelerometer '
            'noise.gyroscope'
        ),
    ),
}
"""Name of the executable → its task."""

SEPARATE = {task.node: task for task in TASKS.values() if not task.is_whole}
"""The nodes of a graph that is not composed."""

COMPUTED_BY = {part: task.node for task in SEPARATE.values() for part in task.computes}
"""Of `stages.PARTS` what → the node that computes it there."""


def refusal(node: str, settings: Iterable[str]) -> str:
    """State which of these settings other nodes have as well, and the way to set them.

    Composed, one node has all settings, each once. Where the nodes are processes of their own, the
    others would go on with the old value.

    Args:
        node: on which they are to be changed.
        settings: e.g. 'filter.half_width'.

    Returns:
        Empty if no other node has them.
    """
    if node not in SEPARATE:
        return ''
    for setting in settings:
        others = [other for other in SEPARATE if other != node and has(other, setting)]
        if others:
            return (
                f'{setting} holds for the whole graph, also for {", ".join(others)}, which run in '
                'processes of their own: set it in the robot file and restart the nodes, or run '
                'them in one process (composed:=true), where it is a parameter of the node '
                'izmp_dynamics and takes effect at once.'
            )
    return ''


def has(node: str, setting: str) -> bool:
    """Whether a setting is a parameter of a node."""
    return not {setting, setting.partition('.')[0]}.isdisjoint(SEPARATE[node].settings)


_NODES = {
    **dict.fromkeys(TASKS, 'izmp_dynamics.nodes.graph_node:GraphNode'),
    'recorder': 'izmp_dynamics.nodes.recorder:Recorder',
    'player': 'izmp_dynamics.nodes.player:Player',
    'view': 'izmp_dynamics.nodes.view:View',
}


def nodes() -> dict[str, str]:
    """Node → module and class; other packages add theirs by the entry points of this name."""
    from importlib.metadata import entry_points  # slow, and no node of this package needs it

    others = entry_points(group='izmp_dynamics.nodes')
    return _NODES | {found.name: found.value for found in others}


def node_class(name: str) -> Callable[..., Any]:
    """Import the class of a node; of one of the graph, for its task."""
    place = _NODES.get(name) or nodes().get(name)
    if place is None:
        raise UnknownNameError('node', name, nodes())
    module, _, class_name = place.partition(':')
    found: type = getattr(importlib.import_module(module), class_name)
    return partial(found, TASKS[name]) if name in TASKS else found
