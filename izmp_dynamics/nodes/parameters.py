"""Parameters of the nodes: settings of the robot file, the URDF, and what no node has."""

import dataclasses
import difflib
import math
import typing
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
)
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from izmp_dynamics.base.errors import IzmpError, RobotFileError
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.nodes.health import AGE_LIMIT
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.registry import TASKS
from izmp_dynamics.nodes.start_up import announced


def fixed(
    node: Any,
    name: str,
    default: Any,
    description: str,
    limits: tuple[float, float] | None = None,
) -> Any:
    """Declare a parameter that is read once, at the start, unless it is; return its value.

    The default also defines the type.
    """
    if node.has_parameter(name):
        return node.get_parameter(name).value
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if limits is not None:
        _limit(descriptor, type(default), *limits)
    return node.declare_parameter(name, default, descriptor).value


COMMON: Mapping[str, tuple[Any, ...]] = {
    'robot': ('', 'robot file (YAML): URDF, sensors, feet; see docs/nodes.md'),
    'urdf': ('', 'URDF to use instead of the one that the robot file names'),
    'robot_description': ('', 'text of the URDF to use instead of that of the robot file'),
    'robot_description_topic': (
        '',
        'topic (std_msgs/String, latched) to take the URDF from instead, e.g. robot_description',
    ),
    'reliable_inputs': (
        False,
        'ask for reliable delivery of the sensors, which their publishers then must offer',
    ),
    'result_age_limit': (
        AGE_LIMIT,
        'age of results beyond which the diagnostics report an error, and messages that have '
        'waited so long are skipped, unless reliable_inputs is set [s]',
        (0.001, 1000.0),
    ),
    'autostart': (True, 'configure and activate at the start; else a manager does it'),
    'frame_prefix': (
        '',
        "put before the names of the robot's frames, e.g. robot1/; as that of the robot's "
        'robot_state_publisher',
    ),
    'world_frame': ('world', 'name of the frame in which the position is known'),
    'publish_tf': (True, 'broadcast TF'),
    'evaluation_frame': (
        '',
        'frame of the points: a link, world, nif, or any frame that TF knows; the root link if '
        'not given',
    ),
    'results_namespace': ('', "namespace of all results within the nodes' own, e.g. izmp"),
}
"""Parameters of nodes of the graph beside the settings: default, description and limits."""


def common(node: Any, name: str) -> Any:
    """Declare a parameter of `COMMON`, as `fixed` does; return its value."""
    return fixed(node, name, *COMMON[name])


def result_topic(node: Any, name: str) -> str:
    """Name of a topic of results, e.g. 'odom', or of a service, in their namespace."""
    within: str = common(node, 'results_namespace')
    return f'{within.rstrip("/")}/{name}' if within else name


def _limit(descriptor: ParameterDescriptor, kind: type, lower: float, upper: float) -> None:
    if kind is float:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(lower), to_value=float(upper))
        ]
    elif kind is int:
        descriptor.integer_range = [
            IntegerRange(from_value=int(lower), to_value=int(upper), step=1)
        ]


@dataclasses.dataclass(frozen=True)
class SettingParameter:
    """A single setting of the robot file.

    Attributes:
        name: e.g. 'acd.max_gap'.
        kind: float, int, str or bool.
        optional: whether it may be unset.
        metadata: as declared with `settings.setting`.
    """

    name: str
    kind: type
    optional: bool
    metadata: typing.Mapping[str, Any]

    def descriptor(self) -> ParameterDescriptor:
        """Describe it for `ros2 param describe`."""
        unit = f' [{self.metadata["unit"]}]' if self.metadata['unit'] else ''
        choices = self.metadata['choices']
        descriptor = ParameterDescriptor(
            name=self.name,
            description=f'{self.metadata["description"]}{unit}',
            additional_constraints=f'one of: {", ".join(map(str, choices))}' if choices else '',
            dynamic_typing=self.optional,
        )
        lower, upper = self.metadata['lower'], self.metadata['upper']
        if math.isfinite(lower) and math.isfinite(upper) and not self.optional:
            _limit(descriptor, self.kind, lower, upper)
        return descriptor

    def checked(self, value: Any) -> Any:
        """Return the value in its type.

        Raises:
            RobotFileError: a value that cannot be; says what would be valid.
        """
        choices, lower, upper = (self.metadata[key] for key in ('choices', 'lower', 'upper'))
        if value is None and self.optional:
            return None
        if self.kind is float and type(value) is int:
            value = float(value)
        number: Any = value
        what = sentence = ''
        if type(value) is not self.kind:
            what, sentence = 'type', f'must be {self.kind.__name__}, not {value!r}.'
        elif choices and value not in choices:
            what, sentence = 'choice', f"is '{value}'; valid: {', '.join(map(str, choices))}."
        elif self.kind in (int, float) and not (
            math.isfinite(number) and lower <= number <= upper
        ):
            hint = f' ({self.metadata["hint"]})' if self.metadata['hint'] else ''
            valid = f'{lower:g} to {upper:g} {self.metadata["unit"]}{hint}'
            what, sentence = 'range', f'is {value}; valid: {valid}.'
        if what:
            raise RobotFileError(
                f'{self.name} {sentence}', kind=f'setting_{what}', setting=self.name, value=value
            )
        return value


def setting_parameters(sections: Iterable[str]) -> Iterator[SettingParameter]:
    """List the settings of sections of the robot file, e.g. 'acd', 'gravity' or 'acd.max_gap'."""
    hints = typing.get_type_hints(RobotFile)
    fields = {field.name: field for field in dataclasses.fields(RobotFile)}
    for name in sections:
        section, _, key = name.partition('.')
        hint = hints[section]
        if dataclasses.is_dataclass(hint):
            inner = typing.get_type_hints(hint)
            for field in dataclasses.fields(hint):
                if key and field.name != key:
                    continue
                yield _parameter(f'{section}.{field.name}', inner[field.name], field)
        else:
            yield _parameter(section, hint, fields[section])


def _parameter(name: str, hint: Any, field: dataclasses.Field[Any]) -> SettingParameter:
    arguments = typing.get_args(hint)
    kind = arguments[0] if arguments else hint
    return SettingParameter(name, kind, type(None) in arguments, field.metadata)


def with_values(robot: RobotFile, values: typing.Mapping[str, Any]) -> RobotFile:
    """Return the robot file with other values of some settings.

    Raises:
        RobotFileError: if the settings do not go together.
    """
    changes: dict[str, Any] = {}
    for name, value in values.items():
        section, _, key = name.partition('.')
        if key:
            changes.setdefault(section, {})[key] = value
        else:
            changes[section] = value
    for section, change in changes.items():
        if isinstance(change, dict):
            changes[section] = dataclasses.replace(getattr(robot, section), **change)
    return dataclasses.replace(robot, **changes)


class NodeSettings:
    """Declares the settings; what holds in the end is in `robot`.

    Args:
        sections: of the robot file that become parameters.
        file: the robot file, whose values are the defaults.

    Attributes:
        robot: robot file with the parameters' values.

    Raises:
        RobotFileError: a value that cannot be.
    """

    def __init__(self, node: Node, sections: Iterable[str], file: RobotFile) -> None:
        self._node = node
        self._settings = {item.name: item for item in setting_parameters(sections)}
        try:
            self.robot = with_values(file, dict(self._declared(file)))
        except Exception:
            self.undeclare()
            raise

    def __contains__(self, name: str) -> bool:
        return name in self._settings

    def _declared(self, file: RobotFile) -> Iterator[tuple[str, Any]]:
        for name, item in self._settings.items():
            default = attrgetter(name)(file)
            given = self._node.declare_parameter(name, default, item.descriptor()).value
            yield name, item.checked(given)

    def undeclare(self) -> None:
        """Withdraw the parameters."""
        for name in filter(self._node.has_parameter, self._settings):
            self._node.undeclare_parameter(name)

    def changed(self, parameters: list[Parameter]) -> RobotFile:
        """The robot file with the new values of those that are settings.

        Raises:
            RobotFileError: a value that cannot be.
        """
        wanted = {item.name: item.value for item in parameters if item.name in self}
        return with_values(
            self.robot, {name: self._settings[name].checked(v) for name, v in wanted.items()}
        )


def stated_robot(node: Node) -> RobotFile:
    """Declare robot and urdf; return the robot file that they name.

    Raises:
        RobotFileError: if none is given, or it cannot be used.
    """
    path, urdf = common(node, 'robot'), common(node, 'urdf')
    if not path:
        name = node.get_name()
        raise RobotFileError(
            f"The node '{name}' needs the parameter robot, the path of a robot file: --ros-args "
            '-p robot:=my_robot.yaml',
            kind='no_robot_file', node=name,
        )  # fmt: skip
    return load_robot_file(Path(path).expanduser(), Path(urdf).expanduser() if urdf else None)


def given_description(node: Node) -> str:
    """Declare robot_description and robot_description_topic; return the URDF that they give.

    A topic is waited for however long it takes.

    Returns:
        The text; '' if neither is set.

    Raises:
        IzmpError: if both are set, or ROS is shut down while the node waits.
    """
    text: str = common(node, 'robot_description')
    topic: str = common(node, 'robot_description_topic')
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
            executor.spin_once(timeout_sec=1.0)  # ROS may be shut down meanwhile
    executor.remove_node(node)
    node.executor = before
    node.destroy_subscription(subscription)
    if not received:
        raise IzmpError(f'The wait for {name} was ended.', kind='shut_down')
    return str(received[0].data)


def warn_of_unknown_parameters(node: Any) -> None:
    """Warn of given parameters that neither this node nor another one of the graph declares."""
    settings = setting_parameters(TASKS['composed'].settings)
    known = {*COMMON, 'use_sim_time', *(item.name for item in settings)}
    for name in sorted(getattr(node, '_parameter_overrides', ())):
        if node.has_parameter(name) or name in known or name.startswith('qos_overrides.'):
            continue
        own = sorted(known.union(node.get_parameters_by_prefix('')))
        near = difflib.get_close_matches(name, own, n=1)
        hint = f"did you mean '{near[0]}'?" if near else 'ros2 param list shows what there is.'
        node.get_logger().warning(f"There is no parameter '{name}', so it has no effect; {hint}")
