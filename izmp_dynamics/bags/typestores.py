"""Definitions of message types: the standard ones, and those that a bag carries with it.

The types this package reads and writes have had the same definition (and type hash) in every
distribution from Foxy to Lyrical; a bag that embeds a definition is read by that definition.
"""

import importlib
import re
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

from izmp_dynamics.bags.storage import Channel
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.libraries import library

_HASH = 'RIHS01_'
_IDL_SEPARATOR = '=' * 80 + '\n'


@cache
def standard_types() -> Any:
    """Typestore of the standard types of ROS 2 (shared: do not register types in it)."""
    typesys = library('rosbags.typesys', 'Reading or writing a bag')
    return typesys.get_typestore(typesys.Stores.LATEST)


def embedded_types(definition: str, encoding: str, msgtype: str) -> Any:
    """Typestore of the types that a definition embedded in a bag declares.

    Args:
        definition: text of the definition, with the definitions of its parts.
        encoding: 'ros2msg' or 'ros2idl'.
        msgtype: the type that it defines.

    Raises:
        BagError: when it cannot be parsed or does not define `msgtype`.
    """
    typesys = library('rosbags.typesys', 'Reading a bag')
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    try:
        store.register(_parsed(typesys, definition, encoding, msgtype))
    except Exception as error:  # the parsers raise whatever a broken text makes them raise
        reason = f'{type(error).__name__}: {error}'.splitlines()[0]
        what = f'The definition of {msgtype} in the bag is broken ({reason}).'
        raise BagError(what, kind='broken_definition', msgtype=msgtype) from error
    if msgtype not in store.fielddefs:
        what = f'The definition stored for {msgtype} in the bag defines another type.'
        raise BagError(what, kind='broken_definition', msgtype=msgtype)
    return store


def choose_types(channel: Channel, recorded: str, note: Callable[[str], None]) -> Any:
    """Typestore by which the messages of a channel are read.

    Args:
        channel: it may carry a definition.
        recorded: hash of the type with which the messages were written; '' when unknown.
        note: called with a sentence for every anomaly.

    Raises:
        BagError: the definition is unknown, broken, or not the one that was recorded.
    """
    standard, msgtype = standard_types(), channel.msgtype
    fitting = type_hash(standard, msgtype)
    if recorded.startswith(_HASH) and fitting == recorded:
        return standard
    if not channel.definition:
        if fitting is None:
            try:
                return installed_types(msgtype)
            except BagError as error:
                raise BagError(
                    f'the bag has no definition of {msgtype}, which is not a standard type; '
                    'source the workspace with its package, or convert the bag to mcap where it '
                    'is installed (ros2 bag convert), which adds the definition.',
                    kind='unknown_type', msgtype=msgtype,
                ) from error  # fmt: skip
        if recorded.startswith(_HASH):
            sentence = f'{msgtype} was recorded with another definition than the usual one.'
            raise BagError(sentence, kind='type_hash_mismatch', msgtype=msgtype)
        return standard
    try:
        embedded = embedded_types(channel.definition, channel.definition_encoding, msgtype)
    except BagError as error:
        if fitting is None or recorded.startswith(_HASH):
            raise
        note(f'{error} The usual definition is used.')
        return standard
    given = type_hash(embedded, msgtype)
    if given != fitting and fitting is not None:
        note(f'The bag defines {msgtype} otherwise than ROS does; it is read by its definition.')
    if recorded.startswith(_HASH) and given != recorded:
        raise BagError(
            f'the definition of {msgtype} in the bag is not the one with which the messages were '
            f'recorded (hash {recorded[:15]}…); they could be misread.',
            kind='type_hash_mismatch', msgtype=msgtype,
        )  # fmt: skip
    return embedded


def type_hash(store: Any, msgtype: str) -> str | None:
    """The RIHS01 hash of a type by the definitions in `store`; None when a part is undefined."""
    try:
        return str(store.hash_rihs01(msgtype))
    except (KeyError, AssertionError, RecursionError):
        return None


def normalised(msgtype: str) -> str:
    """'sensor_msgs/Imu', as some recorders write it, is 'sensor_msgs/msg/Imu'."""
    package, separator, name = msgtype.partition('/')
    return f'{package}/msg/{name}' if separator and '/' not in name else msgtype


def _parsed(typesys: Any, definition: str, encoding: str, msgtype: str) -> dict[str, Any]:
    if encoding == 'ros2msg':
        return dict(typesys.get_types_from_msg(definition, msgtype))
    if not definition.startswith(f'{_IDL_SEPARATOR}IDL: '):
        return dict(typesys.get_types_from_idl(definition))
    parsed: dict[str, Any] = {}
    for part in definition.split(_IDL_SEPARATOR)[1:]:
        parsed.update(typesys.get_types_from_idl(part.partition('\n')[2]))
    return parsed


_TYPE = re.compile(r'([a-z][a-z0-9_]*)/msg/([A-Za-z]\w*)')
_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4  # rosbags.interfaces.Nodetype
_NUMBERS = {'boolean': 'bool', 'octet': 'byte', 'float': 'float32', 'double': 'float64'}
_ARRAYS = re.compile(r'sequence<(.+?)(?:, \d+)?>|(.+)\[(\d+)\]')


def installed_types(msgtype: str) -> Any:
    """Something with the `fielddefs` of a rosbags typestore: of this type, and of those in it.

    Raises:
        BagError: the package of the type is not installed.
    """
    found: dict[str, Any] = {}
    _describe(msgtype, found)
    return SimpleNamespace(fielddefs=found)


def _describe(msgtype: str, found: dict[str, Any]) -> None:
    if msgtype in found:
        return
    name = _TYPE.fullmatch(msgtype)
    try:
        module = importlib.import_module(f'{name[1]}.msg') if name else None
        fields = getattr(module, name[2] if name else '').get_fields_and_field_types()
    except (ImportError, AttributeError) as error:
        sentence = f'The message type {msgtype} is not installed here.'
        raise BagError(sentence, kind='unknown_type', msgtype=msgtype) from error
    found[msgtype] = [], [(field, _described(text, found)) for field, text in fields.items()]


def _described(text: str, found: dict[str, Any]) -> Any:
    if array := _ARRAYS.fullmatch(text):
        sequence, fixed, count = array.groups()
        element = _described(sequence or fixed, found)
        return (_ARRAY if fixed else _SEQUENCE), (element, int(count or 0))
    if '/' in text:
        name = text.replace('/', '/msg/')
        _describe(name, found)
        return _NAME, name
    base = text.partition('<')[0]  # string<10>
    return _BASE, (_NUMBERS.get(base, base), 0)
