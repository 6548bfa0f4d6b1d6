"""The sensors in a recording: their topics, and what they say in its first minute.

Columns of a table, and fields of messages of unknown types, are found by their names.
"""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.fields import is_time, number_arrays
from izmp_dynamics.bags.messages import (
    ImuBatch,
    JointStateBatch,
    PoseBatch,
    Stamped,
    WrenchBatch,
    imu_batch,
    joint_state_batch,
    pose_batch,
    wrench_batch,
)
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.table_file import ROW, TOPIC
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.errors import BagError, ReplayError
from izmp_dynamics.base.field_path import parse
from izmp_dynamics.base.resources import find_resources
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.sensors import Imu, Joints
from izmp_dynamics.model.signals import IMU, JOINT_STATE, POSES, POSITIONS, RECEIVED, WRENCH
from izmp_dynamics.model.urdf import Urdf
from izmp_dynamics.recording.mapped import MappedMessages
from izmp_dynamics.recording.survey import has_rotation

LENGTH = 60.0
"""Part of the recording that is looked at, from its first message on [s]."""

LARGEST = 1e9
"""A number that is larger is none of a sensor, in any unit."""

MAPPINGS = 'robots/*/lowstate.yaml'
"""Shipped robot files that map the messages of a maker."""

TEXT = 'std_msgs/msg/String'

_OTHERS = re.compile(r'(?<![a-z])(vel|d?dq|qd|acc|tau|torque|eff|curr|temp|des|cmd|target)')
"""In names of columns that belong to a joint, but are not its measured position."""

_TORQUES = re.compile(r'(?<![a-z])(tau|torque|eff)')

_GYROSCOPE = re.compile(r'gyr|omega|ang(ular)?_?(vel|rate)|(?<![a-z])w$')
_ACCELEROMETER = re.compile(r'acc|specific_force|(?<![a-z])a$')
_ORIENTATION = re.compile(r'orientation|quat')

Kind = TypeVar('Kind', bound=Stamped)


@dataclass(frozen=True)
class Recorded:
    """The sensors in a recording, by topic; their messages of the first `LENGTH` seconds.

    Attributes:
        joints: joint states.
        imus: IMUs.
        wrenches: force sensors.
        poses: what may be the pose or the position of the root; without an IMU only poses.
        mapped: topic with messages of a maker's type → shipped robot file that maps their fields.
        late: topics of such types that begin after that minute.
        truth: topics that by their names are the truth of a simulation, left out.
        arrays: which numbers are in messages of types that no robot file maps, by topic.
        description: the URDF that robot_state_publisher published; None where it was not recorded.
    """

    joints: Mapping[str, JointStateBatch]
    imus: Mapping[str, ImuBatch]
    wrenches: Mapping[str, WrenchBatch]
    poses: Mapping[str, PoseBatch]
    mapped: Mapping[str, RobotFile] = dataclasses.field(default_factory=dict)
    late: tuple[str, ...] = ()
    truth: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    description: str | None = None


def read_recorded(path: str | PathLike[str], urdf: Urdf | None = None) -> Recorded:
    """Read the sensors of a recording.

    Args:
        path: rosbag2, folder or file.
        urdf: by its names columns of a table are found, and which robot sends a maker's messages;
            None for the recorded one.

    Raises:
        BagError: if it cannot be read.
        ReplayError: if it has no joint states, or neither an IMU nor a pose.
    """
    with BagReader(path) as bag:
        types = {name: topic.msgtype for name, topic in bag.topics.items() if topic.count}
        readable = {JOINT_STATE, IMU, WRENCH, *POSITIONS}
        joints = () if urdf is None else load_model(urdf).joint_names
        description = _description(bag, types)
        text = urdf.text if urdf is not None else description or ''
        known = {file.joints.type: file for file in _mappings(text)}
        if ROW in types.values() and (table := table_robot(_columns(bag), joints)):
            known[ROW] = table
        mapped = {name: known[kind] for name, kind in types.items() if kind in known}
        for name, kind in types.items():
            if kind not in known and kind not in standard_types().fielddefs:
                with suppress(BagError):  # whose definition cannot be read
                    if file := imu_robot(bag.decoder(name).typestore, kind):
                        mapped[name] = file
        usable = [name for name, kind in types.items() if kind in readable or name in mapped]
        truth = tuple(name for name in usable if 'truth' in name.lower())
        wanted = [name for name in usable if name not in truth]
        begin = next(iter(bag.batches(wanted, LENGTH)), None) if wanted else None
        raws = begin.topics if begin is not None else {}

        def read(
            read_batch: Callable[[RawMessages], Kind], *of: str, signal: str = ''
        ) -> dict[str, Kind]:
            batches = {name: read_batch(raws[name]) for name in raws if types[name] in of}
            if signal:
                for name in mapped.keys() & raws.keys():
                    if getattr(mapped[name], signal).type:
                        batches[name] = _mapped(bag, mapped[name], signal, raws[name])
            batches = {name: _credible(batch) for name, batch in batches.items()}
            return {name: batch for name, batch in batches.items() if len(batch)}

        joint_states = read(joint_state_batch, JOINT_STATE, signal='joints')
        nameless = () if joint_states else (JOINT_STATE,)
        whole = {
            name for name, kind in types.items()
            if name in mapped and kind != ROW and (joint_states or mapped[name].joints.type)
        }  # fmt: skip
        found = Recorded(
            joint_states,
            read(imu_batch, IMU, signal='imu'),
            read(wrench_batch, WRENCH),
            read(pose_batch, *POSITIONS),
            mapped,
            tuple(name for name in wanted if not len(raws[name])) if raws else (),
            truth,
            tuple(_arrays(bag, types, whole, nameless)),
            description,
        )
    if not found.imus:
        posed = {name: pose for name, pose in found.poses.items() if has_rotation(pose)}
        found = dataclasses.replace(found, poses=posed)
    arrays = '; '.join(found.arrays)
    if arrays:
        arrays = (
            'Numbers that joints.positions, imu and feet may name (see '
            f'config/robot_example.yaml): {arrays}.'
        )
    by_names = ROW in types.values() and not joints
    either = f'{IMU}, nor of a pose ({", ".join(POSES)}),'
    for batches, msgtype in ((found.joints, JOINT_STATE), (found.imus or found.poses, either)):
        if not batches and ROW in types.values() and joints:
            what = 'joints of the URDF' if batches is found.joints else 'an IMU, as gyro_x, acc_x'
            raise ReplayError(
                f"'{path}' has no columns with names of {what}. {arrays}",
                kind='not_in_bag', path=path, msgtype=msgtype,
            )  # fmt: skip
        if not batches:
            there = ', '.join(f'{name} ({msgtype})' for name, msgtype in types.items())
            raise ReplayError(
                f"'{path}' has no readable messages of the type {msgtype} in its first "
                f'{LENGTH:.0f} s, with which a draft begins. There are: {there or "none at all"}.'
                f'{" State --urdf: by its names columns are joints." if by_names else ""}'
                f'{arrays and f" {arrays}"}',
                kind='not_in_bag', path=path, msgtype=msgtype,
            )  # fmt: skip
    return found


def _mappings(urdf: str) -> list[RobotFile]:
    """Shipped robot files that map messages; those with more names of this URDF come last."""
    names = {*re.findall(r'name=["\']([^"\']+)', urdf)}
    files = map(load_robot_file, find_resources(MAPPINGS))
    return sorted(
        files,
        key=lambda file: len(names & {*(file.joints.names or ()), file.imu.frame, file.root}),
    )


def _mapped(bag: BagReader, file: RobotFile, signal: str, messages: RawMessages) -> Any:
    """Messages of a maker's type as the joints or the IMU; of that the file knows the frame."""
    mapped = next(each for each in file.signals() if each.name == signal)
    typestore = bag.decoder(messages.topic).typestore
    batch = MappedMessages(mapped, typestore).read(messages, file.joints.names or ())
    return batch if mapped.frame is None else dataclasses.replace(batch, frame_ids=(mapped.frame,))


def _arrays(
    bag: BagReader, types: Mapping[str, str], known: Collection[str], nameless: Collection[str]
) -> Iterator[str]:
    """Say which numbers are in messages of types that no robot file maps, or that lack names."""
    standard = standard_types().fielddefs.keys() - nameless
    for topic, msgtype in types.items():
        if topic not in known and (msgtype not in standard or 'MultiArray' in msgtype):
            try:
                typestore = bag.decoder(topic).typestore
                table = msgtype == ROW
                arrays = _columns(bag) if table else [*number_arrays(typestore, msgtype)]
            except BagError as error:
                arrays = [f'what cannot be read: {str(error).rstrip(".")}']
            if arrays:
                yield f'{topic} (type: {msgtype}) has {", ".join(arrays)}'


def _columns(bag: BagReader) -> list[str]:
    """Names of the columns of a table that are numbers."""
    fields = bag.decoder(TOPIC).typestore.fielddefs[ROW][1]
    return [name for name, (_, detail) in fields if detail[0] == 'float64']


def _credible(batch: Any) -> Any:
    """A batch with NaN in place of numbers that no sensor reads."""
    arrays = {
        name: np.where(np.abs(value) < LARGEST, value, np.nan)
        for name, value in vars(batch).items()
        if isinstance(value, np.ndarray) and value.dtype == np.float64
    }
    return dataclasses.replace(batch, **arrays)


def _description(bag: BagReader, types: Mapping[str, str]) -> str | None:
    """The first robot_description in a bag."""
    for topic, msgtype in types.items():
        if msgtype == TEXT and topic.endswith('/robot_description'):
            message = next(iter(bag.messages([topic])), None)
            if message is not None:
                texts = bag.decoder(topic).decode([message.raw]).texts('data')
                return texts[0] if len(texts) else None  # none of a damaged message
    return None


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
