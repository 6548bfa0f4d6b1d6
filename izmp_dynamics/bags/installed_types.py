"""Definitions of message types whose Python packages are installed, as in a sourced workspace."""

import importlib
import re
from types import SimpleNamespace
from typing import Any

from izmp_dynamics.base.errors import BagError

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
