"""What a topic of a robot gives, and in which fields of messages of any type.

`RobotFile.signals` is the one list of a robot's signals.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from izmp_dynamics.base.errors import RobotFileError
from izmp_dynamics.base.field_path import FORM, Term, parse
from izmp_dynamics.model.settings import setting

RECEIVED = 'received'
"""As clock: the time at which a message was recorded, or arrived."""

ORDERS = ('xyzw', 'wxyz')
"""Of the four numbers of a quaternion."""

_TYPE = re.compile(r'[A-Za-z]\w*/msg/[A-Za-z]\w*')


def type_setting() -> Any:
    """Declare the type of a signal's messages."""
    return setting(
        'another type of the messages, as in ros2 topic info, of which fields are mapped',
        default=None,
    )


def field_setting(what: str) -> Any:
    """Declare the fields of another type that give something."""
    return setting(f'fields of another type that are the {what}', default=None)


def clock_setting() -> Any:
    """Declare the source of the stamps of another type."""
    return setting(
        'stamps of another type: a field with a time, such as header.stamp; a counter times its '
        f'unit in seconds, such as tick * 0.001; or {RECEIVED}, the time of recording or arrival',
        default='header.stamp',
    )


@dataclass(frozen=True)
class FieldMap:
    """Which fields of a message type give a signal.

    Attributes:
        type: of the messages.
        fields: 'positions' → terms that give them.
        widths: 'positions' → how many numbers they must give.
        clock: field with a time, or `RECEIVED`, or the terms of a counter.
        names: of joint positions.
        order: of quaternions, one of `ORDERS`.
        loaded: values of a foot that carries load.
        above: from which number on it does; None: the number is its force.
        flag: whether that is not stated, so that only a flag can be meant.
    """

    type: str
    fields: Mapping[str, tuple[Term, ...]]
    widths: Mapping[str, int]
    clock: Term
    names: tuple[str, ...] = ()
    order: str = ORDERS[0]
    loaded: tuple[float, ...] = ()
    above: float | None = None
    flag: bool = False


def field_map(
    settings: Any, widths: Mapping[str, int], optional: Collection[str] = ()
) -> FieldMap | None:
    """The fields that the settings of a signal state; None of a standard type.

    Args:
        settings: with `type`, `clock` and the fields that `widths` names.
        widths: name of a field → how many numbers it must give.
        optional: those that may be left out.

    Raises:
        RobotFileError: a field is missing, or stated of a standard type, or is no such text.
    """
    stated = {key: getattr(settings, key) for key in widths}
    stated = {key: text for key, text in stated.items() if text is not None}
    if settings.type is None:
        for key in (*stated, *_stated(settings)):
            raise RobotFileError(
                f'{key} is for messages of another type, which is not stated; state type as well, '
                f'or leave {key} out.',
                kind='needless_mapping', key=key,
            )  # fmt: skip
        return None
    if not _TYPE.fullmatch(settings.type):
        raise RobotFileError(
            f"type is '{settings.type}'; a message type looks like unitree_go/msg/LowState.",
            kind='no_type', key='type',
        )  # fmt: skip
    absent = [key for key in widths if key not in stated and key not in optional]
    if absent:
        raise RobotFileError(
            f'of the type {settings.type}, state which of its fields are the {absent[0]}: {FORM}.',
            kind='field_missing', key='type', missing=absent[0],
        )  # fmt: skip
    fields = {key: _parsed(key, text) for key, text in stated.items()}
    clock = _parsed('clock', settings.clock)
    if len(clock) > 1:
        raise RobotFileError('clock is one field.', kind='no_field', key='clock')
    order = getattr(settings, 'quaternion', ORDERS[0])
    names = getattr(settings, 'names', None) or ()
    return FieldMap(settings.type, fields, widths, clock[0], names, order)


def _stated(settings: Any) -> Iterator[str]:
    """Keys that are stated, but have no effect on messages of the standard type."""
    for key, default in (('names', None), ('quaternion', ORDERS[0]), ('clock', 'header.stamp')):
        if getattr(settings, key, default) != default:
            yield key


def _parsed(key: str, text: str) -> tuple[Term, ...]:
    try:
        return parse(text)
    except ValueError as error:
        raise RobotFileError(
            f"{key} is '{text:.80}'; {FORM}.", kind='no_field', key=key, value=text
        ) from error


JOINT_STATE = 'sensor_msgs/msg/JointState'
IMU = 'sensor_msgs/msg/Imu'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
POINT = 'geometry_msgs/msg/PointStamped'
POSITIONS = (
    POINT,
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'nav_msgs/msg/Odometry',
    'geometry_msgs/msg/TransformStamped',
)
POSES = POSITIONS[1:]


@dataclass(frozen=True)
class Signal:
    """What one topic of the robot gives.

    Attributes:
        name: 'joints', 'imu', 'position', 'ground', 'accelerometers[0]', 'segments[LINK]',
            'segment_accelerometers[LINK][0]', 'feet[NAME]' or 'foot_imus[NAME]'.
        key: of its settings in the robot file, e.g. 'feet[0].wrench'.
        topic: as the robot file names it.
        types: of messages that it may have.
        used_as: the quantity that is taken from it.
        required: whether nothing can be evaluated without it.
        mounted: whether it is a sensor that measures in the frame of a link.
        frame: link that the robot file states for it; None: the frame_id of its messages.
        mapping: which fields of its messages are what; None of a standard type.
        link: whose frame counts where neither states one: None is the root.
    """

    name: str
    key: str
    topic: str
    types: tuple[str, ...]
    used_as: str
    required: bool = False
    mounted: bool = False
    frame: str | None = None
    link: str | None = None
    mapping: FieldMap | None = None

    @property
    def kind(self) -> str:
        """The name without the brackets, e.g. 'feet'."""
        return self.name.partition('[')[0]

    @property
    def shown_key(self) -> str:
        """The key with the name of the foot or link in place of its number, for messages."""
        name = re.search(r'\[[^]]*\]', self.name)
        return re.sub(r'\[\d+\]', lambda _: name[0], self.key, count=1) if name else self.key
