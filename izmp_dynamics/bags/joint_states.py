"""sensor_msgs/JointState to arrays in the order of the model's joints."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import Decoded, Group
from izmp_dynamics.bags.stamped import Stamped, expect, header_values
from izmp_dynamics.base.conventions import Array

Flags = npt.NDArray[np.bool_]
_ARRAYS = ('position', 'velocity', 'effort')


@dataclass(frozen=True)
class JointStateBatch(Stamped):
    """sensor_msgs/JointState, the columns in the order that was asked for.

    Attributes:
        names: n joints.
        positions: (T, n) [rad] or [m]; NaN where `present` is False.
        present: (T, n) whether the message has a position for the joint.
        absent: joints that no message has.
        others: joints that messages have beside the wanted ones.
    """

    names: tuple[str, ...]
    positions: Array
    present: Flags
    absent: tuple[str, ...]
    others: tuple[str, ...] = ()


def joint_state_batch(
    messages: RawMessages, names: Sequence[str] | None = None
) -> JointStateBatch:
    """Read JointState messages.

    A message whose arrays have another length than its names, or that names a joint twice, is
    left out and counted as broken.

    Args:
        messages: of one topic.
        names: wanted joints; None for all that occur, in the order in which they do.

    Raises:
        BagError: the topic has another type.
    """
    expect(messages, 'sensor_msgs/msg/JointState')
    decoded = _consistent(messages.decode())
    occurring = dict.fromkeys(name for group in decoded.groups for name in _names(group))
    if names is None:
        names = tuple(occurring)
    positions, present = _positions(decoded, names), _present(decoded, names)
    absent = tuple(name for i, name in enumerate(names) if not present[:, i].any())
    others = tuple(name for name in occurring if name not in names)
    values = header_values(messages, decoded)
    return JointStateBatch(*values, tuple(names), positions, present, absent, others)


def _names(group: Group) -> tuple[str, ...]:
    names = group.layout.strings['name']
    return names if isinstance(names, tuple) else (names,)


def _consistent(decoded: Decoded) -> Decoded:
    """Leave out messages whose arrays do not belong to their names; count them as broken."""
    faults = [_inconsistency(group) for group in decoded.groups]
    if not any(faults):
        return decoded
    pairs = list(zip(decoded.groups, faults, strict=True))
    broken = decoded.broken + sum(len(group) for group, fault in pairs if fault)
    fault = decoded.fault or next(fault for fault in faults if fault)
    return Decoded.of([group for group, fault in pairs if not fault], broken, fault)


def _inconsistency(group: Group) -> str | None:
    names = _names(group)
    if len(set(names)) < len(names):
        return 'A JointState message names a joint twice.'
    for path in _ARRAYS:
        length = group[path].shape[1]
        if length not in (0, len(names)):
            return f'A JointState message has {length} values of {path} for {len(names)} joints.'
    return None


def _positions(decoded: Decoded, names: Sequence[str]) -> Array:
    """(T, n) positions of the joints `names`; NaN where a message has none."""
    parts = []
    for group in decoded.groups:
        values = group['position']
        there = dict(zip(_names(group), range(values.shape[1]), strict=False))
        known = [name in there for name in names]
        found = values[:, [there[name] for name in names if name in there]]
        part = np.full((len(group), len(names)), np.nan)
        part[:, known] = found
        parts.append(part)
    return decoded.merged(parts, 'position') if parts else np.zeros((0, len(names)))


def _present(decoded: Decoded, names: Sequence[str]) -> Flags:
    """(T, n) whether the message has a position for the joint."""
    parts = []
    for group in decoded.groups:
        known = set(_names(group)) if group['position'].shape[1] else set()
        parts.append(np.tile([name in known for name in names], (len(group), 1)).astype(np.bool_))
    return decoded.merged(parts, 'name') if parts else np.zeros((0, len(names)), np.bool_)
