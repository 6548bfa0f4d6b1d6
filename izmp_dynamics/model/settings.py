"""Typed settings from YAML: dataclasses whose fields carry unit, range and description.

A field is declared once with `setting(...)`; the robot file, the command line's help and the ROS
parameters are made from the declaration. `read_settings` turns YAML into such a dataclass and
refuses unknown keys, wrong types and impossible magnitudes with a sentence that names the line
and what would be valid.
"""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from izmp_dynamics.errors import RobotFileError

Settings = TypeVar('Settings')

NOT_IN_FILE = {'hidden': True}
"""Metadata of a field that is set by the program, not by the file."""


def setting(
    description: str,
    *,
    default: Any = dataclasses.MISSING,
    factory: Any = dataclasses.MISSING,
    unit: str = '',
    lower: float = -math.inf,
    upper: float = math.inf,
    choices: tuple[str, ...] = (),
    hint: str = '',
) -> Any:
    """Declare a field.

    Args:
        description: one clause for help texts and `ros2 param describe`.
        default: default value; without it (and without `factory`) the key must be given.
        factory: function that makes the default.
        unit: SI unit, as it is shown.
        lower: smallest valid number (also for each number in a list).
        upper: largest valid number.
        choices: valid words.
        hint: added to the message when a number is out of range, e.g. 'metres, not millimetres'.
    """
    metadata = {
        'description': description,
        'unit': unit,
        'lower': lower,
        'upper': upper,
        'choices': choices,
        'hint': hint,
    }
    return dataclasses.field(default=default, default_factory=factory, metadata=metadata)


def read_settings(cls: type[Settings], path: Path) -> Settings:
    """Read a YAML file into the dataclass `cls`.

    Raises:
        RobotFileError: if the file cannot be read or does not fit; the message names the line.
    """
    try:
        text = path.read_text(encoding='utf-8')
    except FileNotFoundError:
        raise RobotFileError(f"There is no robot file '{path}'.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RobotFileError(f"The robot file '{path}' cannot be read: {error}.") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        cause = ' '.join(str(error).split())
        raise RobotFileError(f"'{path}' is not valid YAML: {cause}.") from error
    if node is None:
        raise RobotFileError(f"'{path}' is empty; it needs at least: {_required(cls)}.")
    settings: Settings = _Reader(path).record(cls, node, '')
    return settings


def flatten(settings: Any, prefix: str = '') -> dict[str, str]:
    """List all values of a settings dataclass as text by dotted name (for reports)."""
    flat: dict[str, str] = {}
    for field in _fields(settings):
        value = getattr(settings, field.name)
        name = f'{prefix}{field.name}'
        if dataclasses.is_dataclass(value):
            flat |= flatten(value, f'{name}.')
        elif isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
            for index, item in enumerate(value):
                flat |= flatten(item, f'{name}[{getattr(item, "name", index)}].')
        else:
            unit = field.metadata.get('unit', '')
            flat[name] = f'{value} {unit}'.rstrip() if value is not None else 'not given'
    return flat


def _required(cls: Any) -> str:
    return ', '.join(field.name for field in _fields(cls) if _is_required(field))


def _fields(cls: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if not field.metadata.get('hidden')]


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


class _Reader:
    """Walks YAML nodes (which know their lines) along the types of a dataclass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, node: yaml.Node, message: str) -> typing.NoReturn:
        line = node.start_mark.line + 1
        raise RobotFileError(f"'{self.path}', line {line}: {message}")

    def record(self, cls: Any, node: yaml.Node, name: str) -> Any:
        """Read a mapping into a dataclass."""
        if not isinstance(node, yaml.MappingNode):
            self.fail(node, f'{name or "the file"} must be a mapping with keys: {_keys(cls)}.')
        fields = {field.name: field for field in _fields(cls)}
        hints = typing.get_type_hints(cls)
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            dotted = f'{name}.{key}' if name else key
            if key not in fields:
                near = difflib.get_close_matches(key, fields, n=1)
                question = f" Did you mean '{near[0]}'?" if near else ''
                self.fail(key_node, f"unknown key '{dotted}'; valid: {_keys(cls)}.{question}")
            if key in values:
                self.fail(key_node, f"the key '{dotted}' stands here a second time.")
            values[key] = self.value(hints[key], value_node, dotted, fields[key].metadata)
        for field in fields.values():
            if field.name not in values and _is_required(field):
                what = field.metadata.get('description', '')
                self.fail(node, f"{name or 'the file'} lacks the key '{field.name}': {what}.")
        try:
            return cls(**values)
        except RobotFileError as error:
            self.fail(node, f'{name}: {error}' if name else str(error))

    def value(self, hint: Any, node: yaml.Node, name: str, metadata: Mapping[str, Any]) -> Any:
        """Read a node as the type `hint`."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            if isinstance(node, yaml.ScalarNode) and node.tag == 'tag:yaml.org,2002:null':
                return None
            return self.value(arguments[0], node, name, metadata)
        if dataclasses.is_dataclass(hint):
            return self.record(hint, node, name)
        if origin is tuple:
            return self.items(arguments, node, name, metadata)
        return self.scalar(hint, node, name, metadata)

    def items(
        self, types_: tuple[Any, ...], node: yaml.Node, name: str, metadata: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Read a list."""
        if not isinstance(node, yaml.SequenceNode):
            self.fail(node, f'{name} must be a list.')
        if types_[-1] is not Ellipsis and len(node.value) != len(types_):
            self.fail(node, f'{name} must have {len(types_)} entries, not {len(node.value)}.')
        kinds = [types_[0]] * len(node.value) if types_[-1] is Ellipsis else types_
        return tuple(
            self.value(kind, item, f'{name}[{index}]', metadata)
            for index, (kind, item) in enumerate(zip(kinds, node.value, strict=True))
        )

    def scalar(
        self, kind: Any, node: yaml.Node, name: str, metadata: Mapping[str, Any]
    ) -> bool | int | float | str:
        """Read a word, number or truth value."""
        if not isinstance(node, yaml.ScalarNode):
            self.fail(node, f'{name} must be {_KINDS[kind]}, not a list or mapping.')
        value: Any = yaml.SafeLoader('').construct_object(node)
        if kind is float and isinstance(value, str):
            value = _number_like_1e3(value)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not kind:
            self.fail(node, f"{name} must be {_KINDS[kind]}, not '{node.value}'.")
        if metadata.get('choices') and value not in metadata['choices']:
            choices = ', '.join(metadata['choices'])
            self.fail(node, f"{name} is '{value}'; valid: {choices}.")
        if kind in (int, float):
            self._check_range(float(value), node, name, metadata)
        typed: bool | int | float | str = value
        return typed

    def _check_range(
        self, value: float, node: yaml.Node, name: str, metadata: Mapping[str, Any]
    ) -> None:
        lower, upper = metadata.get('lower', -math.inf), metadata.get('upper', math.inf)
        if not lower <= value <= upper or not math.isfinite(value):
            hint = f' ({metadata["hint"]})' if metadata.get('hint') else ''
            unit = f' {metadata["unit"]}' if metadata.get('unit') else ''
            self.fail(node, f'{name} is {node.value}; valid: {lower:g} to {upper:g}{unit}{hint}.')


_KINDS = {float: 'a number', int: 'a whole number', str: 'a word', bool: 'true or false'}


def _keys(cls: Any) -> str:
    return ', '.join(field.name for field in _fields(cls))


def _number_like_1e3(text: str) -> float | str:
    """YAML 1.1 takes '1e-3' for a word; people mean a number."""
    try:
        return float(text)
    except ValueError:
        return text
