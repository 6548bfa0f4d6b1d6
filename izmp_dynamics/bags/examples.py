"""Example messages: zero everywhere, except where a value is given.

Usage::

    wrench = example('geometry_msgs/msg/WrenchStamped', {'header.frame_id': 'pelvis'})
    joints = example('sensor_msgs/msg/JointState', {'name': names, 'position': np.zeros(n)})
    tf = example(
        'tf2_msgs/msg/TFMessage',
        {'transforms': 1, 'transforms[0].header.frame_id': 'world',
         'transforms[0].child_frame_id': 'pelvis', 'transforms[0].transform.rotation.w': 1.0},
    )
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.errors import BagError, UnknownNameError

_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4  # rosbags.interfaces.Nodetype


def example(msgtype: str, values: Mapping[str, Any] | None = None) -> Any:
    """Make a message of a standard type.

    Args:
        msgtype: e.g. 'sensor_msgs/msg/Imu'.
        values: path → value, applied in their order. A sequence of messages is given by its
            length; its elements can then be named in later paths.

    Returns:
        An object of the class that rosbags has for the type.

    Raises:
        BagError: the type is unknown.
        UnknownNameError: a path does not exist.
    """
    if msgtype not in standard_types().fielddefs:
        raise BagError(
            f"'{msgtype}' is not a standard message type.", kind='unknown_type', msgtype=msgtype
        )
    message = _blank(msgtype)
    for path, value in (values or {}).items():
        _put(message, path, value)
    return message


def _blank(msgtype: str) -> Any:
    types = standard_types()
    fields = types.fielddefs[msgtype][1]
    return types.types[msgtype](**{name: _zero(desc) for name, desc in fields})


def _zero(description: Any) -> Any:
    kind, detail = description
    if kind == _NAME:
        return _blank(detail)
    if kind == _BASE:
        return {'string': '', 'bool': False}.get(detail[0], 0)
    (element, name), count = detail
    count = count if kind == _ARRAY else 0
    if element == _BASE and name[0] != 'string':
        dtype = {'byte': 'uint8', 'char': 'uint8'}.get(name[0], name[0])
        return np.zeros(count, dtype)
    return [_zero((element, name)) for _ in range(count)]


def _put(message: Any, path: str, value: Any) -> None:
    *parents, last = path.split('.')
    for part in parents:
        name, _, index = part.partition('[')
        message = _get(message, name, path)
        if index:
            message = message[int(re.sub(r'\D', '', index))]
    current = _get(message, last, path)
    if isinstance(current, np.ndarray):
        value = np.asarray(value, current.dtype)
    elif isinstance(current, list):
        value = _elements(message, last, value)
    setattr(message, last, value)


def _get(message: Any, name: str, path: str) -> Any:
    try:
        return getattr(message, name)
    except AttributeError as error:
        valid = (x for x in vars(message) if not x.startswith('_'))
        raise UnknownNameError('field', path, valid, f'in {message.__msgtype__}') from error


def _elements(message: Any, name: str, value: Any) -> list[Any]:
    """A list of texts as given, or so many empty messages."""
    if not isinstance(value, int):
        return list(value)
    fields = dict(standard_types().fielddefs[message.__msgtype__][1])
    return [_zero(fields[name][1][0]) for _ in range(value)]
