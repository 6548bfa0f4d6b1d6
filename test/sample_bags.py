"""Messages and bags for the tests of izmp_dynamics.bags."""

import functools
import os
import sqlite3
from importlib.metadata import version as version_of
from pathlib import Path

import numpy as np
import yaml
from hypothesis import strategies as st
from mcap.writer import Writer as McapWriter
from rosbags.interfaces import Nodetype
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer, writer

from izmp_dynamics.bags.cdr_layout import serialized
from izmp_dynamics.bags.mcap_storage import McapStorage, write_messages
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.typestores import standard_types

if dump := getattr(writer, 'dump_qos_v8', None):  # serializes the same twice for each topic
    dumped = functools.cache(lambda profiles: dump(list(profiles)))
    writer.dump_qos_v8 = lambda profiles: dumped(tuple(profiles))

TYPES = standard_types()

USED_TYPES = [
    'sensor_msgs/msg/JointState',
    'sensor_msgs/msg/Imu',
    'geometry_msgs/msg/PointStamped',
    'geometry_msgs/msg/PoseStamped',
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'geometry_msgs/msg/WrenchStamped',
    'geometry_msgs/msg/AccelStamped',
    'geometry_msgs/msg/TwistStamped',
    'geometry_msgs/msg/Vector3Stamped',
    'geometry_msgs/msg/PolygonStamped',
    'nav_msgs/msg/Odometry',
    'trajectory_msgs/msg/JointTrajectory',
    'tf2_msgs/msg/TFMessage',
    'std_msgs/msg/String',
    'std_msgs/msg/Float64',
]

START = 1_700_000_000_000_000_000

SHARED = Path(os.environ.get('IZMP_SHARED_DATA', Path(__file__).parents[2] / 'shared' / 'data'))

texts = st.text(st.characters(exclude_categories=['Cs']), max_size=9)
_LENGTHS = st.integers(0, 3)


@st.composite
def messages(draw, msgtype):
    """Any message of a type."""
    values = {name: draw(_values(field)) for name, field in TYPES.fielddefs[msgtype][1]}
    return TYPES.types[msgtype](**values)


def _values(field):
    kind, detail = field
    if kind == Nodetype.NAME:
        return messages(detail)
    if kind == Nodetype.BASE:
        return _scalars(detail[0])
    element, count = detail
    lengths = st.just(count) if kind == Nodetype.ARRAY else _LENGTHS
    if element[0] == Nodetype.BASE and element[1][0] != 'string':
        return lengths.flatmap(lambda n: _arrays(element[1][0], n))
    return lengths.flatmap(lambda n: st.lists(_values(element), min_size=n, max_size=n))


def _scalars(name):
    if name == 'string':
        return texts
    if name == 'bool':
        return st.booleans()
    if name.startswith('float'):
        return st.floats(width=int(name[5:]))
    limits = np.iinfo(name)
    return st.integers(int(limits.min), int(limits.max))


def _arrays(name, count):
    values = st.lists(_scalars(name), min_size=count, max_size=count)
    return values.map(lambda numbers: np.array(numbers, name))


def raw_of(msgtype, values=None, **options):
    """A serialized message, by rosbags if it has options."""
    raw = serialized(TYPES, msgtype, values or {})
    if not options:
        return raw
    return bytes(TYPES.serialize_cdr(TYPES.deserialize_cdr(raw, msgtype), msgtype, **options))


def imu_raws(count, start=START, step=2_000_000, frame='imu'):
    """Imu messages whose x acceleration counts, and their stamps."""
    stamps = [start + i * step for i in range(count)]
    raws = [
        raw_of(
            'sensor_msgs/msg/Imu',
            {
                'header.stamp.sec': stamp // 10**9,
                'header.stamp.nanosec': stamp % 10**9,
                'header.frame_id': frame,
                'linear_acceleration.x': float(i),
                'linear_acceleration.z': 9.81,
            },
        )
        for i, stamp in enumerate(stamps)
    ]
    return stamps, raws


class Storage(McapStorage):
    """This package's storage, which calls itself rosbags."""

    library = f'rosbags-{version_of("rosbags")}'


class BatchWriter(Writer):
    """Rosbags' writer with that storage."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: Storage}  # noqa: RUF012


def write_bag(
    path, logs, storage='mcap', version=8, mode='NONE', typestore=TYPES, at_once=False,
    **definition,
):  # fmt: skip
    """Write a bag by rosbags alone: logs are (topic, msgtype, stamps, raws).

    `definition` may give msgdef and rihs01, which are otherwise the right ones. `at_once` gives
    the same bytes faster, see `test_writer`: of an mcap file with messages, not compressed.
    """
    kind = BatchWriter if at_once else Writer
    writer = kind(path, version=version, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        connected = [
            (writer.add_connection(topic, msgtype, typestore=typestore, **definition), *log)
            for topic, msgtype, *log in logs
        ]
        if at_once:
            numbers = [connection.id for connection, *_ in connected]
            write_messages(
                writer,
                np.repeat(np.array(numbers, np.uint16), [len(log[1]) for log in connected]),
                np.concatenate([np.asarray(stamps, np.int64) for _, stamps, _ in connected]),
                [Raws.of(raws) for *_, raws in connected],
            )
            return path
        flat = []
        for connection, stamps, raws in connected:
            flat += [(stamp, connection, raw) for stamp, raw in zip(stamps, raws, strict=True)]
        for stamp, connection, raw in sorted(flat, key=lambda entry: entry[0]):
            writer.write(connection, stamp, raw)
    return path


def imu_bag(path, count=500, **options):
    """A bag with one Imu topic."""
    return write_bag(path, [('/imu', 'sensor_msgs/msg/Imu', *imu_raws(count))], **options)


def storage_file(path):
    """The only storage file of a bag folder."""
    (file,) = (x for x in Path(path).iterdir() if x.name != 'metadata.yaml')
    return file


def write_mcap(path, logs, **options):
    """Write an mcap file by the mcap library: logs are (topic, msgtype, stamps, raws).

    `options` are those of its Writer; the messages are written in the order of `logs`.
    """
    with Path(path).open('wb') as stream:
        writer = McapWriter(stream, **{'chunk_size': 4096, **options})
        writer.start('ros2', 'test')
        for topic, msgtype, stamps, raws in logs:
            definition = TYPES.generate_msgdef(msgtype, ros_version=2)[0].encode()
            schema = writer.register_schema(msgtype, 'ros2msg', definition)
            channel = writer.register_channel(topic, 'cdr', schema)
            for stamp, raw in zip(stamps, raws, strict=True):
                writer.add_message(channel, stamp, raw, stamp)
        writer.finish()
    return Path(path)


def write_old_sqlite(folder, schema, version, logs):
    """Write a folder as a recorder with schema 1 to 3 of the database did (Dashing to Humble)."""
    write_bag(folder, logs, 'sqlite3', msgdef=' ', rihs01=' ')
    database = sqlite3.connect(storage_file(folder))
    database.execute('DROP TABLE message_definitions')
    database.execute('ALTER TABLE topics DROP COLUMN type_description_hash')
    if schema < 3:
        database.execute('DROP TABLE schema')
    if schema < 2:
        database.execute('ALTER TABLE topics DROP COLUMN offered_qos_profiles')
    database.commit()
    database.close()
    change_metadata(folder, lambda info: info.update(_old_metadata(version, info)))
    return folder


def _old_metadata(version, information):
    for since, keys in _SINCE.items():
        for key in keys if version < since else ():
            del information[key]
    for topic in information['topics_with_message_count']:
        del topic['topic_metadata']['type_description_hash']
        if version < 4:
            del topic['topic_metadata']['offered_qos_profiles']
    if version < 4:  # paths were relative to the folder above
        information['relative_file_paths'] = [
            f'old/{name}' for name in information['relative_file_paths']
        ]
    return {'version': version}


_SINCE = {
    3: ['compression_format', 'compression_mode'],
    5: ['files'],
    6: ['custom_data'],
    8: ['ros_distro'],
}


def change_metadata(path, change):
    """Change what metadata.yaml says about a bag."""
    file = path / 'metadata.yaml'
    content = yaml.safe_load(file.read_text())
    change(content['rosbag2_bagfile_information'])
    file.write_text(yaml.safe_dump(content))
