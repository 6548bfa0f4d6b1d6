"""Messages and bags for the tests of izmp_dynamics.bags."""

import os
import sqlite3
from pathlib import Path

import numpy as np
import yaml
from hypothesis import strategies as st
from mcap.writer import Writer as McapWriter
from rosbags.interfaces import Nodetype
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from izmp_dynamics.bags.examples import example
from izmp_dynamics.bags.typestores import standard_types

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
WALKING = SHARED / 'icub_walking'

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
    """A serialized message."""
    return bytes(TYPES.serialize_cdr(example(msgtype, values), msgtype, **options))


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


def write_bag(path, logs, storage='mcap', version=8, mode='NONE', **definition):
    """Write a bag by rosbags alone: logs are (topic, msgtype, stamps, raws).

    `definition` may give msgdef and rihs01, which are otherwise the right ones.
    """
    writer = Writer(path, version=version, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        flat = []
        for topic, msgtype, stamps, raws in logs:
            connection = writer.add_connection(topic, msgtype, typestore=TYPES, **definition)
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
    folder.mkdir()
    database = sqlite3.connect(folder / 'old_0.db3')
    qos = ', offered_qos_profiles TEXT NOT NULL' if schema > 1 else ''
    database.executescript(
        'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,'
        f'serialization_format TEXT NOT NULL{qos});'
        'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,'
        'timestamp INTEGER NOT NULL, data BLOB NOT NULL);'
        'CREATE INDEX timestamp_idx ON messages (timestamp ASC);'
    )
    if schema > 2:
        database.execute(
            'CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT)'
        )
        database.execute("INSERT INTO schema VALUES (3, 'humble')")
    topics = []
    for number, (topic, msgtype, stamps, raws) in enumerate(logs, 1):
        row = (number, topic, msgtype, 'cdr', *([''] if schema > 1 else []))
        database.execute(f'INSERT INTO topics VALUES ({",".join("?" * len(row))})', row)
        rows = ((number, stamp, raw) for stamp, raw in zip(stamps, raws, strict=True))
        query = 'INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)'
        database.executemany(query, rows)
        known = {'name': topic, 'type': msgtype, 'serialization_format': 'cdr'}
        if version >= 4:
            known['offered_qos_profiles'] = ''
        topics.append({'topic_metadata': known, 'message_count': len(raws)})
    database.commit()
    database.close()
    (folder / 'metadata.yaml').write_text(yaml.safe_dump(_old_metadata(version, topics)))
    return folder


def _old_metadata(version, topics):
    information = {
        'version': version,
        'storage_identifier': 'sqlite3',
        # before version 4, paths were relative to the folder above
        'relative_file_paths': ['old/old_0.db3' if version < 4 else 'old_0.db3'],
        'duration': {'nanoseconds': 0},
        'starting_time': {'nanoseconds_since_epoch': 0},
        'message_count': sum(topic['message_count'] for topic in topics),
        'topics_with_message_count': topics,
    }
    if version >= 3:
        information.update(compression_format='', compression_mode='')
    if version >= 5:
        information['files'] = []
    return {'rosbag2_bagfile_information': information}
