"""Which columns of a table are what, by their names: a mapping to begin with."""

import re
from collections.abc import Iterator, Sequence

from izmp_dynamics.bags.table_file import ROW, TOPIC
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.sensors import Imu, Joints

_OTHERS = re.compile(r'(?<![a-z])(vel|d?dq|qd|acc|tau|torque|eff|curr|temp|des|cmd|target)')
"""In names of columns that belong to a joint, but are not its measured position."""

_TORQUES = re.compile(r'(?<![a-z])(tau|torque|eff)')

_GYROSCOPE = re.compile(r'gyr|omega|ang(ular)?_?(vel|rate)|(?<![a-z])w$')
_ACCELEROMETER = re.compile(r'acc|specific_force|(?<![a-z])a$')


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


def _vectors(columns: Sequence[str], axes: str) -> Iterator[tuple[str, str]]:
    """What columns that end in all axes have in common, and these columns as a mapping."""
    for name in columns:
        stem = name[:-1]
        ends = axes.upper() if name[-1].isupper() else axes
        fields = [stem + end for end in ends]
        if fields[0] == name and set(fields) <= set(columns):
            yield stem.rstrip('_').lower(), ', '.join(fields)
