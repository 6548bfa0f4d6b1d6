"""Settings of the robot file as ROS parameters: declared once, described and checked the same."""

import dataclasses
import math
import typing
from collections.abc import Iterable, Iterator
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.robot_file import RobotFile


def fixed(
    node: Any,
    name: str,
    default: Any,
    description: str,
    limits: tuple[float, float] | None = None,
) -> Any:
    """Declare a parameter that is read once, at the start, unless it is; return its value.

    Args:
        node: has the parameter.
        name: of the parameter.
        default: also defines the type.
        description: for `ros2 param describe`.
        limits: of a float.
    """
    if node.has_parameter(name):
        return node.get_parameter(name).value
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if limits is not None:
        lower, upper = limits
        descriptor.floating_point_range = [FloatingPointRange(from_value=lower, to_value=upper)]
    return node.declare_parameter(name, default, descriptor).value


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
            if self.kind is float:
                descriptor.floating_point_range = [
                    FloatingPointRange(from_value=float(lower), to_value=float(upper))
                ]
            elif self.kind is int:
                descriptor.integer_range = [
                    IntegerRange(from_value=int(lower), to_value=int(upper), step=1)
                ]
        return descriptor

    def checked(self, value: Any) -> Any:
        """Return the value in its type.

        Raises:
            RobotFileError: a value that cannot be; says what would be valid.
        """
        if value is None and self.optional:
            return None
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not self.kind:
            raise RobotFileError(
                f'{self.name} must be {self.kind.__name__}, not {value!r}.',
                kind='setting_type',
                setting=self.name,
                value=value,
            )
        choices = self.metadata['choices']
        if choices and value not in choices:
            raise RobotFileError(
                f"{self.name} is '{value}'; valid: {', '.join(map(str, choices))}.",
                kind='setting_choice',
                setting=self.name,
                value=value,
            )
        if self.kind in (int, float) and not self._in_range(value):
            hint = f' ({self.metadata["hint"]})' if self.metadata['hint'] else ''
            raise RobotFileError(
                f'{self.name} is {value}; valid: {self.metadata["lower"]:g} to '
                f'{self.metadata["upper"]:g} {self.metadata["unit"]}{hint}.',
                kind='setting_range',
                setting=self.name,
                value=value,
            )
        return value

    def _in_range(self, number: Any) -> bool:
        lower, upper = self.metadata['lower'], self.metadata['upper']
        return math.isfinite(number) and bool(lower <= number <= upper)


def setting_parameters(sections: Iterable[str]) -> Iterator[SettingParameter]:
    """List the single settings of some sections of the robot file.

    Args:
        sections: e.g. 'acd', or a single setting, e.g. 'gravity' or 'acd.max_gap'.
    """
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


def value_of(robot: RobotFile, name: str) -> Any:
    """The value of a setting, e.g. 'acd.max_gap'."""
    value: Any = robot
    for part in name.split('.'):
        value = getattr(value, part)
    return value


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
