"""Typed settings from YAML: dataclasses whose fields carry unit, range and description.

A field is declared once with `setting(...)`; the robot file, the command line's help and the ROS
parameters are made from the declaration. `read_settings` turns YAML into such a dataclass and
refuses unknown keys, wrong types and values out of range, all that there are, with an error that
names line and key of each and what would be valid. How values go together is checked when each is
right.
"""

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.model.yaml_text import check_tag, fail, is_null, read_yaml

Settings = TypeVar('Settings')

MOST_VALUES = 10_000
"""Values that a file may hold when all its aliases are followed."""

MOST_MISTAKES = 20
"""Mistakes after which no more are looked for."""

METRES = 'metres, not millimetres'
"""Hint for lengths."""

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
    choices: tuple[str | int, ...] = (),
    hint: str = '',
    keyed_by: str = '',
) -> Any:
    """Declare a field.

    Args:
        description: one clause for help texts and `ros2 param describe`.
        default: default value; without it (and without `factory`) the key must be given.
        factory: function that makes the default.
        unit: SI unit, as it is shown.
        lower: smallest valid number (also for each number in a list).
        upper: largest valid number.
        choices: valid words or whole numbers.
        hint: added to the message when a number is out of range, e.g. 'metres, not millimetres'.
        keyed_by: of a list of records, the key that a mapping states before the others:
            {NAME: {...}} is [{keyed_by: NAME, ...}].
    """
    metadata = {
        'description': description,
        'unit': unit,
        'lower': lower,
        'upper': upper,
        'choices': choices,
        'hint': hint,
        'keyed_by': keyed_by,
    }
    return dataclasses.field(default=default, default_factory=factory, metadata=metadata)


def read_settings(
    cls: type[Settings],
    path: Path,
    check: Callable[[Settings], Iterator[RobotFileError]] | None = None,
) -> Settings:
    """Read a YAML file into the dataclass `cls`.

    A key without a value counts as not given. Anchors and aliases repeat a value; merge keys
    (`<<`) and tags are refused.

    Args:
        cls: the dataclass.
        path: the file.
        check: finds further mistakes in what was read, each with its `key`.

    Raises:
        RobotFileError: if the file cannot be read or does not fit; the message names the line. See
            `together` for several mistakes.
    """
    node = read_yaml(path)
    if node is None or is_null(node):
        needed = ', '.join(field.name for field in _fields(cls) if _is_required(field))
        raise RobotFileError(
            f"'{path}' is empty; it needs at least: {needed}.", kind='empty', path=path
        )
    reader = _Reader(path, cls)
    with reader.collecting():
        settings: Settings = reader.record(cls, node, '')
    for mistake in check(settings) if check is not None and not reader.mistakes else ():
        with reader.collecting():
            reader.fail_at_key('', mistake, node)
    if reader.mistakes:
        raise together(reader.mistakes, path)
    return settings


def together(mistakes: Sequence[RobotFileError], path: Path | None = None) -> RobotFileError:
    """One error for all mistakes: a single one itself; of several the kind is 'several'.

    Its data has `mistakes`, an error of each, in the order of the file.
    """
    if len(mistakes) == 1:
        return mistakes[0]
    found = sorted(mistakes, key=lambda mistake: typing.cast('int', mistake.data.get('line', 0)))
    sentences = [str(mistake).removeprefix(f"'{path}', ") for mistake in found]
    place = f"'{path}' has" if path else 'there are'
    number = f'{len(found)} mistakes{" or more" * (len(found) >= MOST_MISTAKES)}'
    message = '\n  '.join([f'{place} {number}:', *sentences])
    return RobotFileError(message, kind='several', path=path, mistakes=tuple(found))


def mistakes_of(error: RobotFileError) -> tuple[RobotFileError, ...]:
    """The mistakes that `together` has put into one error."""
    found = error.data.get('mistakes', (error,))
    return typing.cast('tuple[RobotFileError, ...]', found)


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


def stated(settings: Any) -> dict[str, Any]:
    """Return what differs from the defaults, as plain data that YAML can hold."""
    plain: dict[str, Any] = {}
    for field in _fields(settings):
        value = getattr(settings, field.name)
        default = (
            field.default
            if field.default_factory is dataclasses.MISSING
            else field.default_factory()
        )
        if value != default:
            plain[field.name] = _plain(value)
    return plain


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return stated(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _fields(cls: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if not field.metadata.get('hidden')]


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


class _Reader:
    """Walks YAML nodes (which know their lines) along the types of a dataclass."""

    def __init__(self, path: Path, cls: Any) -> None:
        self.path = path
        self.cls = cls
        self.count = 0
        self.nodes: dict[str, yaml.Node] = {}
        self.mistakes: list[RobotFileError] = []
        self.listed: set[Any] = set()

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect a mistake and go on, unless there would be no end of it."""
        try:
            yield
        except RobotFileError as error:
            if error.kind in ('too_many_values', 'several'):
                raise
            self.mistakes.append(error)
            if len(self.mistakes) == MOST_MISTAKES:
                raise together(self.mistakes, self.path) from None

    def fail(self, node: yaml.Node, message: str, kind: str, **data: object) -> typing.NoReturn:
        fail(self.path, node, message, kind, **data)

    def record(self, cls: Any, node: yaml.Node, name: str) -> Any:
        """Read a mapping into a dataclass; None if mistakes have been collected."""
        before = len(self.mistakes)
        check_tag(self.path, node, name or 'the file')
        if not isinstance(node, yaml.MappingNode):
            message = f'{name or "the file"} must be a mapping with keys: {_keys(cls)}.'
            self.fail(node, message, 'wrong_type', key=name)
        fields = {field.name: field for field in _fields(cls)}
        hints = typing.get_type_hints(cls)
        given = self._given(cls, node, name)
        meant = [key for mistake in self.mistakes[before:] for key in _suggested(mistake)]
        missing = {
            _dotted(name, key): f"'{key}' ({_meaning(field.metadata)})"
            for key, field in fields.items()
            if key not in given and _is_required(field) and _dotted(name, key) not in meant
        }
        with self.collecting():
            if missing:
                message = f'{name or "the file"} lacks {"; ".join(missing.values())}.'
                self.fail(node, message, 'missing_key', keys=tuple(missing))
        values = {}
        for key, item in given.items():
            with self.collecting():
                values[key] = self.value(
                    hints[key], item, _dotted(name, key), fields[key].metadata
                )
        if len(self.mistakes) > before:
            return None
        try:
            return cls(**values)
        except RobotFileError as error:
            for each in mistakes_of(error):
                with self.collecting():
                    self.fail_at_key(name, each, node)

    def fail_at_key(self, name: str, mistake: RobotFileError, node: yaml.Node) -> typing.NoReturn:
        """Name file and line of a mistake of the record `name`, or else of `node`."""
        message = f'{name}: {mistake}' if name else str(mistake)
        at = self._place(name, mistake.data, node)
        self.fail(at, message, mistake.kind, **mistake.data, record=name)

    def _place(self, name: str, data: Mapping[str, object], node: yaml.Node) -> yaml.Node:
        """The node of the last key that an error is about and that stands in the file."""
        keys = data.get('keys')
        for key in (data.get('key'), *reversed(keys if isinstance(keys, tuple) else ())):
            for dotted in (_dotted(name, str(key)), str(key)):
                if dotted in self.nodes:
                    return self.nodes[dotted]
        return node

    def _given(self, cls: Any, node: yaml.MappingNode, name: str) -> dict[str, yaml.Node]:
        """Return the values by key, without the keys that have none."""
        seen: dict[str, yaml.Node] = {}
        for key_node, value_node in node.value:
            with self.collecting():
                key = self._key(cls, key_node, name)
                if key in seen:
                    dotted = _dotted(name, key)
                    message = f"duplicate key '{dotted}'."
                    self.fail(key_node, message, 'duplicate_key', key=dotted)
                seen[key] = value_node
        return {key: item for key, item in seen.items() if not is_null(item)}

    def _key(self, cls: Any, node: yaml.Node, name: str) -> str:
        known = [field.name for field in _fields(cls)]
        check_tag(self.path, node, 'a key')
        if not isinstance(node, yaml.ScalarNode):
            message = f'a key must be a word, not a list or mapping{self._valid(cls)}.'
            self.fail(node, message, 'invalid_key')
        key: str = node.value
        if key not in known:
            meant = self._suggestions(key, known)
            hint = f' Did you mean {" or ".join(map(repr, meant))}?' if meant else ''
            dotted = _dotted(name, key)
            message = f"unknown key '{dotted:.80}'{self._valid(cls)}.{hint}"
            self.fail(node, message, 'unknown_key', key=dotted, suggestions=meant)
        return key

    def _valid(self, cls: Any) -> str:
        """The valid keys of a record, with the first wrong one of its kind."""
        if cls in self.listed:
            return ''
        self.listed.add(cls)
        return f'; valid: {_keys(cls)}'

    def _suggestions(self, key: str, known: list[str]) -> tuple[str, ...]:
        """Guess what an unknown key was meant to be: misspelt, or in the wrong place."""
        near = difflib.get_close_matches(key.lower()[:80], known, n=1)
        places = (place for place in _all_keys(self.cls) if place.split('.')[-1] == key)
        return tuple(near) or tuple(places)

    def value(self, hint: Any, node: yaml.Node, name: str, metadata: Mapping[str, Any]) -> Any:
        """Read a node as the type `hint`."""
        self.count += 1
        if self.count > MOST_VALUES:
            message = f'with its aliases the file has more than {MOST_VALUES} values.'
            self.fail(node, message, 'too_many_values')
        check_tag(self.path, node, name)
        self.nodes[name] = node
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin in (types.UnionType, typing.Union):
            records = filter(dataclasses.is_dataclass, arguments)
            is_record = isinstance(node, yaml.MappingNode)
            fitting = next(records, arguments[0]) if is_record else arguments[0]
            return self.value(fitting, node, name, metadata)
        if dataclasses.is_dataclass(hint):
            return self.record(hint, node, name)
        if origin is tuple:
            return self.items(arguments, node, name, metadata)
        return self.scalar(hint, node, name, metadata)

    def items(
        self, types_: tuple[Any, ...], node: yaml.Node, name: str, metadata: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Read a list."""
        if metadata.get('keyed_by') and isinstance(node, yaml.MappingNode):
            node = _listed(node, metadata['keyed_by'])
        if not isinstance(node, yaml.SequenceNode):
            entries = f'it is part of: {_meaning(metadata)}'
            if dataclasses.is_dataclass(types_[0]):
                entries = f"begin each entry with '- '; keys of an entry: {_keys(types_[0])}"
            message = f'{name} must be a list; {entries}.'
            self.fail(node, message, 'wrong_type', key=name)
        if types_[-1] is not Ellipsis and len(node.value) != len(types_):
            self.fail(
                node,
                f'{name} must have {len(types_)} entries, not {len(node.value)}; it is part of: '
                f'{_meaning(metadata)}.',
                'wrong_length', key=name, length=len(node.value),
            )  # fmt: skip
        kinds = [types_[0]] * len(node.value) if types_[-1] is Ellipsis else types_
        found = []
        for index, (kind, item) in enumerate(zip(kinds, node.value, strict=True)):
            read = partial(self.value, kind, item, f'{name}[{index}]', metadata)
            if dataclasses.is_dataclass(kind):
                with self.collecting():
                    found.append(read())
            else:  # of numbers the first mistake is enough
                found.append(read())
        return tuple(found)

    def scalar(
        self, kind: Any, node: yaml.Node, name: str, metadata: Mapping[str, Any]
    ) -> bool | int | float | str:
        """Read a string, number or Boolean, as the field requires."""
        unit = f' in {metadata["unit"]}' if metadata.get('unit') else ''
        wanted = f'{_KINDS[kind]}{unit}'
        if not isinstance(node, yaml.ScalarNode):
            message = f'{name} must be {wanted}, not a list or mapping.'
            self.fail(node, message, 'wrong_type', key=name)
        if is_null(node) or not node.value.strip():
            message = f'{name} must be {wanted}, but has no value.'
            self.fail(node, message, 'missing_value', key=name)
        value = _READERS[kind](node.value)
        if value is None:
            message = f"{name} must be {wanted}, not '{node.value:.80}'."
            self.fail(node, message, 'wrong_type', key=name, value=node.value)
        choices = metadata.get('choices', ())
        if choices and value not in choices:
            listed = ', '.join(map(str, choices))
            message = f"{name} is '{node.value:.80}'; valid: {listed}."
            self.fail(node, message, 'invalid_choice', key=name, value=value, valid=choices)
        if kind in (int, float) and not choices:
            number = float(value)
            lower, upper = metadata.get('lower', -math.inf), metadata.get('upper', math.inf)
            if not lower <= number <= upper or not math.isfinite(number):
                unit = f' {metadata["unit"]}' if metadata.get('unit') else ''
                hint = f' ({metadata["hint"]})' if metadata.get('hint') else ''
                message = f'{name} is {node.value:.80}; valid: {lower:g} to {upper:g}{unit}{hint}.'
                data = {'key': name, 'value': number, 'lower': lower, 'upper': upper}
                self.fail(node, message, 'out_of_range', **data)
        return value


def _listed(node: yaml.MappingNode, key: str) -> yaml.SequenceNode:
    """A mapping of records as a list of records that state their own names."""
    records = []
    for name, record in node.value:
        if isinstance(record, yaml.MappingNode):
            own = yaml.ScalarNode('tag:yaml.org,2002:str', key, name.start_mark, name.end_mark)
            marks = name.start_mark, record.end_mark
            record = yaml.MappingNode(record.tag, [(own, name), *record.value], *marks)
        records.append(record)
    return yaml.SequenceNode('tag:yaml.org,2002:seq', records, node.start_mark, node.end_mark)


def _read_number(text: str) -> float | None:
    text = text.lower()
    fits = _NUMBER.fullmatch(text)
    return float(text.replace('.inf', 'inf').replace('.nan', 'nan')) if fits else None


_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?\.?inf|\.?nan', re.ASCII)
_WHOLE_NUMBER = re.compile(r'[+-]?\d{1,18}', re.ASCII)
_TRUTHS = dict.fromkeys(('true', 'yes', 'on'), True) | dict.fromkeys(('false', 'no', 'off'), False)
_KINDS = {float: 'a number', int: 'a whole number', str: 'a word', bool: 'true or false'}
_READERS: Mapping[Any, Callable[[str], bool | int | float | str | None]] = {
    float: _read_number,
    int: lambda text: int(text) if _WHOLE_NUMBER.fullmatch(text) else None,
    str: str,
    bool: lambda text: _TRUTHS.get(text.lower()),
}


def _suggested(mistake: RobotFileError) -> list[str]:
    """Dotted keys that an unknown one may have been meant to be."""
    near = mistake.data.get('suggestions', ())
    place = str(mistake.data.get('key', '')).rpartition('.')[0]
    return [
        name for key in typing.cast('tuple[str, ...]', near) for name in (_dotted(place, key), key)
    ]


def _keys(cls: Any) -> str:
    return ', '.join(field.name for field in _fields(cls))


def _all_keys(cls: Any, prefix: str = '') -> list[str]:
    """List the dotted keys of a settings dataclass and of those it holds."""
    keys = []
    hints = typing.get_type_hints(cls)
    for field in _fields(cls):
        name = f'{prefix}{field.name}'
        keys.append(name)
        for kind in (hints[field.name], *typing.get_args(hints[field.name])):
            if dataclasses.is_dataclass(kind):
                keys += _all_keys(kind, f'{name}.')
    return keys


def _dotted(name: str, key: str) -> str:
    return f'{name}.{key}' if name else key


def _meaning(metadata: Mapping[str, Any]) -> str:
    unit = f' [{metadata["unit"]}]' if metadata.get('unit') else ''
    return f'{metadata.get("description", "")}{unit}'
