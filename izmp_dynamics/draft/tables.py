"""Which columns of a table, or fields of a message, are what by their names: a first mapping."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from izmp_dynamics.bags.fields import is_time, number_arrays
from izmp_dynamics.bags.table_file import ROW, TOPIC
from izmp_dynamics.base.field_path import parse
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.sensors import Imu, Joints
from izmp_dynamics.model.signals import RECEIVED

_OTHERS = re.compile(r'(?<![a-z])(vel|d?dq|qd|acc|tau|torque|eff|curr|temp|des|cmd|target)')
"""In names of columns that belong to a joint, but are not its measured position."""

_TORQUES = re.compile(r'(?<![a-z])(tau|torque|eff)')

_GYROSCOPE = re.compile(r'gyr|omega|ang(ular)?_?(vel|rate)|(?<![a-z])w$')
_ACCELEROMETER = re.compile(r'acc|specific_force|(?<![a-z])a$')
_ORIENTATION = re.compile(r'orientation|quat')


def table_robot(columns: Sequence[str], joints: Sequence[str]) -> RobotFile | None:
    """A robot file that maps the columns of a table; None if no joint has one.

    Args:
        columns: names of the fields.
        joints: of the URDF; of the columns that end in a joint's name, the shortest that is no
            velocity, torque or command is its position.
    """
    positions, efforts = dict[str, str](), dict[str, str]()
    for joint in joints:
        own = [name for name in columns if re.search(rf'(?<![^\W_]){re.escape(joint)}$', name)]
        kinds = {name: name.removesuffix(joint).lower() for name in own}
        own = [name for name, kind in kinds.items() if not _OTHERS.search(kind)]
        if own:
            positions[joint] = min(own, key=len)
            torques = [name for name, kind in kinds.items() if _TORQUES.search(kind)]
            efforts |= {joint: min(torques, key=len)} if torques else {}
    if not positions:
        return None
    mapped = Joints(
        TOPIC[1:],
        type=ROW,
        names=tuple(positions),
        positions=', '.join(positions.values()),
        efforts=', '.join(efforts.values()) if len(efforts) == len(positions) else None,
    )
    gyroscope, accelerometer = (
        next((f for stem, f in _vectors(columns, 'xyz') if words.search(stem)), None)
        for words in (_GYROSCOPE, _ACCELEROMETER)
    )
    if gyroscope is None or accelerometer is None:
        return RobotFile('', joints=mapped)
    orientation = next((fields for _, fields in _vectors(columns, 'xyzw')), None)
    return RobotFile(
        '',
        joints=mapped,
        imu=Imu(
            TOPIC[1:],
            type=ROW,
            angular_velocity=gyroscope,
            linear_acceleration=accelerometer,
            orientation=orientation,
        ),
    )


def imu_robot(typestore: Any, msgtype: str) -> RobotFile | None:
    """A robot file whose IMU messages of a type are; None if no names of fields say that.

    Args:
        typestore: rosbags typestore that knows the type.
        msgtype: of the messages; their orientation counts if its four numbers have names.
    """
    fields = [field.replace('[0:N]', '[0:3]') for field in number_arrays(typestore, msgtype)]
    gyroscope, accelerometer, orientation = (
        next((field for field in fields if words.search(field.lower())), None)
        for words in (_GYROSCOPE, _ACCELEROMETER, _ORIENTATION)
    )
    if gyroscope is None or accelerometer is None:
        return None
    own = [name for name, _ in typestore.fielddefs[msgtype][1]]
    times = (
        path
        for path in ('header.stamp', *own)
        if is_time(typestore, msgtype, parse(path)[0].steps)
    )
    if orientation is not None:
        orientation = (
            None if '[' in orientation else ', '.join(f'{orientation}.{axis}' for axis in 'xyzw')
        )
    return RobotFile(
        '',
        imu=Imu(
            '',
            type=msgtype,
            angular_velocity=gyroscope,
            linear_acceleration=accelerometer,
            orientation=orientation,
            clock=next(times, RECEIVED),
        ),
    )


def _vectors(columns: Sequence[str], axes: str) -> Iterator[tuple[str, str]]:
    """What columns that end in all axes have in common, and these columns as a mapping."""
    for name in columns:
        stem = name[:-1]
        ends = axes.upper() if name[-1].isupper() else axes
        fields = [stem + end for end in ends]
        if fields[0] == name and set(fields) <= set(columns):
            yield stem.rstrip('_').lower(), ', '.join(fields)
