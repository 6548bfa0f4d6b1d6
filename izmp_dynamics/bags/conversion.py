"""Messages in protobuf or JSON, as Foxglove's tools record them, converted to CDR.

Their schema in the file becomes the definition of a ROS type: `my.robot.State` is
my_robot/msg/State, with its numbers, texts, times, messages, and arrays of these. Schemas of
Foxglove that mean what a standard type means become that type. From there on messages are read as
all others. Numbers that a message does not have are NaN, so a whole number or a bool that may be
absent is a float64, and a constant keeps the bits of the whole number.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from izmp_dynamics.bags.fields import bits_constant
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import Channel
from izmp_dynamics.bags.typestores import embedded_types, normalised, standard_types
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.libraries import library

Tree = Mapping[str, Any]
"""A message: field → value; a message in it is such a mapping, an array a list."""

_Field = tuple[str, str, bool, tuple[str, Any] | None]
"""Name, type, whether it is an array, and type and description of the messages that it holds."""

_TIME, _PART = 'builtin_interfaces/msg/Time', f'\n{"=" * 80}\nMSG: '
_TIMES = ({'sec', 'nsec'}, {'sec', 'nanosec'})
_FIELD = re.compile(r'[A-Za-z]\w*', re.ASCII)
_PROTOBUF = (
    '', 'float64', 'float32', 'int64', 'uint64', 'int32', 'uint64', 'uint32', 'bool', 'string', '',
    '', '', 'uint32', 'int32', 'int32', 'int64', 'int32', 'int64',
)  # fmt: skip
"""ROS type by the number of protobuf's type."""

_JSON = {'number': 'float64', 'integer': 'float64', 'boolean': 'float64', 'string': 'string'}


def _header(tree: Tree, frame: str = 'frame_id') -> Tree:
    return {'stamp': tree.get('timestamp'), 'frame_id': tree.get(frame)}


def _joint_state(tree: Tree) -> Tree:
    joints = tree.get('joints', ())
    found = {'header': _header(tree), 'name': [joint['name'] for joint in joints]}
    for name in ('position', 'velocity', 'effort'):
        if name == 'position' or any(name in joint for joint in joints):
            found[name] = [joint.get(name, np.nan) for joint in joints]
    return found


def _odometry(tree: Tree) -> Tree:
    pose = {'pose': tree.get('pose'), 'covariance': np.zeros(36)}
    twist = {'covariance': np.zeros(36)}
    child = tree.get('body_frame_id')
    return {'header': _header(tree), 'child_frame_id': child, 'pose': pose, 'twist': twist}


_STANDARD: Mapping[str, tuple[str, Callable[[Tree], Tree]]] = {
    'foxglove.JointStates': ('sensor_msgs/msg/JointState', _joint_state),
    'foxglove.PoseInFrame': (
        'geometry_msgs/msg/PoseStamped',
        lambda tree: {**tree, 'header': _header(tree)},
    ),
    'foxglove.FrameTransform': (
        'geometry_msgs/msg/TransformStamped',
        lambda tree: {**tree, 'header': _header(tree, 'parent_frame_id'), 'transform': tree},
    ),
    'foxglove.Odometry': ('nav_msgs/msg/Odometry', _odometry),
}


def ros_type(schema: str, encoding: str) -> str:
    """The type as which messages of a schema are read."""
    if encoding not in ('protobuf', 'json') or '/' in schema:
        return normalised(schema)
    return _STANDARD[schema][0] if schema in _STANDARD else _type(schema)


class Converter:
    """Converts the messages of one topic.

    Args:
        channel: in protobuf or JSON; its definition is the schema, a byte a character.
        first: message, whose fields are those of a topic in JSON without a schema.

    Attributes:
        channel: as that of messages in CDR.

    Raises:
        BagError: the encoding is another one, or the schema is not there or broken.
        MissingDependencyError: protobuf is missing.
    """

    def __init__(self, channel: Channel, first: bytes = b'') -> None:
        encoding, msgtype = channel.encoding, channel.msgtype
        data = channel.definition.encode('latin-1', errors='replace')
        is_json = encoding == 'json'
        if not (data or (is_json and first)) or encoding not in ('protobuf', 'json'):
            raise BagError(
                f"it is serialized as '{encoding}'{' without a schema' * (not data)}; only 'cdr' "
                "can be read, and 'protobuf' and 'json' with a schema.",
                kind='unsupported_encoding', encoding=encoding,
            )  # fmt: skip
        types: dict[str, list[str]] = {}
        try:
            if is_json:
                self._tree: Callable[[bytes], Tree] = json.loads
                schema = json.loads(data) if data else _schema_of(json.loads(first))
                _describe(_json_fields, msgtype, schema, types)
            else:
                descriptor, self._tree = _protobuf(channel.schema, data)
                _describe(_protobuf_fields, msgtype, descriptor, types)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
            if encoding == 'protobuf' and isinstance(error, AttributeError):
                raise  # protobuf lacks it, not the schema
            sentence = f"its schema '{channel.schema}' is broken ({error})."
            raise BagError(sentence, kind='broken_definition', msgtype=msgtype) from error
        if channel.schema in _STANDARD:
            self.channel, store = Channel(channel.topic, msgtype), standard_types()
            _, self._standard = _STANDARD[channel.schema]
        else:
            own, *others = ('\n'.join(fields) for fields in types.values())
            names = (name.replace('/msg/', '/') for name in [*types][1:])
            parts = (f'{_PART}{name}\n{part}' for name, part in zip(names, others, strict=True))
            time = f'{_PART}builtin_interfaces/Time\nint32 sec\nuint32 nanosec'
            text = ''.join((own, *parts, time))
            self.channel = Channel(channel.topic, msgtype, definition=text)
            store = embedded_types(text, 'ros2msg', msgtype)
            self._standard = dict
        self._make = _maker(store, msgtype)
        self._serialize = partial(store.serialize_cdr, typename=msgtype)

    def __call__(self, raws: Raws) -> Raws:
        """Convert messages; broken ones become empty, and count as such."""
        return Raws.of([self._converted(raw) for raw in raws])

    def _converted(self, raw: bytes) -> bytes:
        try:
            return bytes(self._serialize(self._make(self._standard(self._tree(raw)))))
        except Exception:  # whatever a broken message makes the libraries raise
            return b''


def _type(name: str) -> str:
    package, _, name = re.sub(r'[^\w.]', '_', name).rpartition('.')
    return f'{package.replace(".", "_").lower() or "messages"}/msg/{name or "Message"}'


def _describe(
    fields: Callable[[str, Any], Iterator[_Field]],
    msgtype: str,
    schema: Any,
    types: dict[str, list[str]],
    above: tuple[str, ...] = (),
) -> None:
    """Add the fields of a type to `types`, and the types in it; it cannot hold itself."""
    if msgtype in types:
        return
    own = types[msgtype] = []
    above = (*above, msgtype)
    for name, kind, is_array, inner in fields(msgtype, schema):
        if not _FIELD.fullmatch(name.partition('=')[0]):
            continue
        if inner is not None and inner[0] not in above:
            kind = inner[0].replace('/msg/', '/')
            _describe(fields, *inner, types, above)
        if kind:
            own.append(f'{kind}{"[]" * is_array} {name}')


def _schema_of(value: Any) -> Tree:
    """The schema that a value in JSON has."""
    if isinstance(value, dict):
        return {'properties': {name: _schema_of(part) for name, part in value.items()}}
    if isinstance(value, list):
        return {'type': 'array', 'items': _schema_of(value[0]) if value else {}}
    return {
        'type': {str: 'string', bool: 'boolean', type(None): 'null'}.get(type(value), 'number')
    }


def _json_kinds(part: Any) -> set[str]:
    """What a value may be, apart from null."""
    kinds = part.get('type', ())
    return {kinds} if isinstance(kinds, str) else {*kinds} - {'null'}


def _json_fields(msgtype: str, schema: Any) -> Iterator[_Field]:
    for name, part in schema.get('properties', {}).items():
        is_array = _json_kinds(part) == {'array'}
        part = part.get('items', {}) if is_array else part
        kinds = {_JSON.get(kind, '') for kind in _json_kinds(part)}
        kind, inner = kinds.pop() if len(kinds) == 1 else '', None
        if set(part.get('properties', ())) in _TIMES:
            kind = 'builtin_interfaces/Time'
        elif 'properties' in part:
            inner = f'{msgtype}_{name}', part
        yield name, kind, is_array, inner


def _is_repeated(field: Any) -> bool:
    """As protobuf says it since 6.31, or before, which 7 no longer does."""
    if hasattr(field, 'is_repeated'):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)


def _may_be_absent(field: Any) -> bool:
    """Whether messages without a field of protobuf do not say its value."""
    return bool(field.has_presence and not field.has_default_value)


def _protobuf_fields(_: str, descriptor: Any) -> Iterator[_Field]:
    for field in descriptor.fields:
        kind, inner, part = _PROTOBUF[field.type], None, field.message_type
        if part is not None and part.full_name == 'google.protobuf.Timestamp':
            kind = 'builtin_interfaces/Time'
        elif part is not None and not part.GetOptions().map_entry:
            inner = _type(part.full_name), part
        elif ('int' in kind or kind == 'bool') and _may_be_absent(field):
            if kind != 'bool':
                yield f'{bits_constant(field.name)}={kind[-2:]}', 'uint8', False, None
            kind = 'float64'
        yield field.name, kind, _is_repeated(field), inner


def _protobuf(schema: str, data: bytes) -> tuple[Any, Callable[[bytes], Tree]]:
    """Descriptor of a schema in a set of files, and what reads its messages."""
    pools, files, factory = (
        library(f'google.protobuf.{name}', 'Reading protobuf messages', 'protobuf')
        for name in ('descriptor_pool', 'descriptor_pb2', 'message_factory')
    )
    pool = pools.DescriptorPool()
    try:
        for file in files.FileDescriptorSet.FromString(data).file:
            pool.Add(file)
    except library('google.protobuf.message', 'Reading protobuf messages').DecodeError as error:
        raise ValueError(error) from error
    descriptor = pool.FindMessageTypeByName(schema)
    message = factory.GetMessageClass(descriptor)
    zeros: dict[str, dict[str, Any]] = {}

    def tree(node: Any) -> Tree:
        """Fields that are there, and defaults, which are not in the bytes."""
        kind = node.DESCRIPTOR
        if kind.full_name not in zeros:
            always = [x for x in kind.fields if not (_is_repeated(x) or _may_be_absent(x))]
            zeros[kind.full_name] = {x.name: x.default_value for x in always}
        found: dict[str, Any] = dict(zeros[kind.full_name])
        for field, value in node.ListFields():
            if field.message_type is None:
                found[field.name] = value
            elif field.message_type.GetOptions().map_entry:
                continue
            else:
                is_array = _is_repeated(field)
                found[field.name] = [tree(x) for x in value] if is_array else tree(value)
        return found

    return descriptor, lambda raw: tree(message.FromString(raw))


def _maker(store: Any, msgtype: str) -> Callable[[Tree | None], Any]:
    """What makes a message for rosbags of a tree, in which fields may be absent."""
    message = store.types[msgtype]
    if msgtype == _TIME:
        return lambda tree: message(*_time(tree or {}))
    fields = [(name, _value(store, kind)) for name, kind in store.fielddefs[msgtype][1]]
    return lambda tree: message(*[make((tree or {}).get(name)) for name, make in fields])


def _time(tree: Tree) -> tuple[int, int]:
    seconds = tree.get('seconds', tree.get('sec', 0))
    return int(seconds), int(tree.get('nanos', tree.get('nsec', tree.get('nanosec', 0))))


def _value(store: Any, description: Any) -> Callable[[Any], Any]:
    kind, detail = description
    if kind == 2:  # rosbags.interfaces.Nodetype: a message
        return _maker(store, detail)
    if kind != 1:  # an array
        (inner, base), make = detail[0], _value(store, detail[0])
        if inner == 2 or base[0] == 'string':
            return lambda values: [make(value) for value in values or ()]
        return lambda values: np.array(() if values is None else values, base[0])
    if detail[0].startswith('float'):
        return lambda value: np.nan if value is None else float(value)
    plain = str if detail[0] == 'string' else int
    return lambda value: plain(value) if value else plain()
