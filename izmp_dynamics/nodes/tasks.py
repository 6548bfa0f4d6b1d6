"""The nodes of the graph: what each is given, what it computes, which settings it has."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """A node of the graph.

    Attributes:
        node: its name.
        purpose: in a sentence.
        computes: of `stages.PARTS`, what it computes from sensors and what it is given.
        given: what other nodes compute.
        settings: sections of the robot file, or single settings, that are its parameters.
    """

    node: str
    purpose: str
    computes: frozenset[str]
    given: frozenset[str]
    settings: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole graph."""
        return len(self.computes) > 1

    @property
    def is_lazy(self) -> bool:
        """Whether nobody needs its results but those who ask for pose or IR-MD."""
        return self.computes <= {'world', 'ir_md'}

    @property
    def has_root_sensors(self) -> bool:
        """Whether the motion of the root, in itself or in the world, is computed."""
        return bool(self.computes & {'root', 'world'})


def _task(node: str, given: str, computes: str, settings: str, purpose: str) -> Task:
    parts = frozenset(given.split()), frozenset(computes.split())
    return Task(node, purpose, parts[1], parts[0], tuple(settings.split()))


TASKS = {
    'composed': _task(
        'izmp_dynamics',
        '',
        'joints root mr_ad world ir_md verdict',
        'acd angular_acceleration fall_alarm filter.half_width gravity ground ir_md low_pass '
        'noise pairing rates root_acceleration',
        'The sensors in, everything out that the single nodes publish, in one process.',
    ),
    'acd': _task(
        'acd',
        '',
        'joints',
        'acd rates filter.half_width low_pass pairing',
        'joint_states → joint_kinematics (actuator coordinate differentiation, sect. 4.4.1).',
    ),
    'angular_acceleration': _task(
        'angular_acceleration',
        'joints',
        'root',
        'angular_acceleration noise.accelerometer filter.half_width low_pass pairing gravity',
        'imu, accelerometers → root_acceleration, root_twist (eqs. 23–29).',
    ),
    'mr_ad': _task(
        'mr_ad',
        'joints root world',
        'mr_ad',
        'gravity',
        'joint_kinematics, root_acceleration, root_twist → contact wrench (eqs. 12, 13).',
    ),
    'localizer': _task(
        'localizer',
        'joints',
        'world',
        'gravity ir_md.difference filter.half_width low_pass pairing noise.gyroscope '
        'noise.orientation noise.position',
        'position and IMU → odom and TF from the world to the robot (sect. 4.5).',
    ),
    'ir_md': _task(
        'ir_md',
        'joints world',
        'ir_md',
        'gravity ir_md acd.max_gap',
        'joint_kinematics, odom → contact wrench from differenced momentum (sect. 4.4.2).',
    ),
    'izmp': _task(
        'izmp',
        'joints root mr_ad world ir_md',
        'verdict',
        'fall_alarm gravity ground filter.half_width low_pass pairing',
        'Contact wrenches and feet → points on the ground, margins, polygon, frame nif.',
    ),
}
"""Name of the executable → its task."""

SEPARATE = {task.node: task for task in TASKS.values() if not task.is_whole}
"""The nodes of a graph that is not composed."""


def refusal(node: str, settings: Iterable[str]) -> str:
    """State which of these settings other nodes have as well, and the way to set them.

    Composed, one node has all settings, each once. Where the nodes are processes of their own, the
    others would go on with the old value.

    Args:
        node: on which they are to be changed.
        settings: e.g. 'low_pass.cutoff'.

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
