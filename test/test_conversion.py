"""MCAP files with messages in protobuf or JSON, as Foxglove's tools write them."""

import json
import sys

import numpy as np
import pytest
import yaml
from mcap.writer import CompressionType, Writer

from izmp_dynamics.bags.fields import FieldNumbers
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.errors import BagError, MissingDependencyError, ReplayError
from izmp_dynamics.base.field_path import parse
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.robot_file import load_robot_file

from .bag_surgery import IMU, JOINTS, TOPICS
from .raising import raising
from .requiring import need

TIME = {'type': 'object', 'properties': {'sec': {'type': 'integer'}, 'nsec': {'type': 'integer'}}}
NUMBER, TEXT = {'type': 'number'}, {'type': 'string'}
DOUBLE, INT32, STRING, MESSAGE = 1, 5, 9, 11  # types of protobuf's fields


def array(items):
    return {'type': 'array', 'items': items}


def record(**properties):
    return {'type': 'object', 'properties': properties}


SCHEMAS = {
    'foxglove.JointStates': record(
        timestamp=TIME, joints=array(record(name=TEXT, position=NUMBER, velocity=NUMBER))
    ),
    'my.robot.Imu': record(
        stamp=TIME, q=record(w=NUMBER, x=NUMBER, y=NUMBER, z=NUMBER),
        rates=array(NUMBER), acceleration=record(x=NUMBER, y=NUMBER, z=NUMBER), note=TEXT,
    ),
}  # fmt: skip


def time(stamp):
    return dict(zip(('sec', 'nsec'), divmod(int(stamp), 10**9), strict=True))


def trees(sound):
    """Messages of the joints and of the IMU as JSON has them."""
    joints, imu = sound[JOINTS], sound[IMU]
    for stamp, positions in zip(joints.stamps, joints['position'], strict=True):
        each = [
            {'name': name, 'position': position}
            for name, position in zip(joints.like['name'], positions.tolist(), strict=True)
        ]
        yield 'joints', int(stamp), {'timestamp': time(stamp), 'joints': each}
    columns = (imu[path].tolist() for path in ('orientation', 'angular_velocity'))
    forces = imu['linear_acceleration'].tolist()
    for stamp, quaternion, rates, force in zip(imu.stamps, *columns, forces, strict=True):
        yield 'imu', int(stamp), {
            'stamp': time(stamp), 'q': dict(zip('xyzw', quaternion, strict=True)),
            'rates': rates, 'acceleration': dict(zip('xyz', force, strict=True)),
        }  # fmt: skip


def write(path, encoding, schemas, messages):
    """Write (topic, stamp, bytes) to an mcap file; schemas: topic → name and data."""
    with path.open('wb') as stream:
        writer = Writer(stream, compression=CompressionType.ZSTD)
        writer.start()
        kind = {'json': 'jsonschema'}.get(encoding, encoding)
        channels = {}
        for topic, (name, data) in schemas.items():
            schema = writer.register_schema(name, kind, data) if data else 0
            channels[topic] = writer.register_channel(f'/{topic}', encoding, schema)
        for topic, stamp, data in messages:
            writer.add_message(channels[topic], stamp, data, stamp)
        writer.finish()
    return path


def json_file(path, messages, schemas=SCHEMAS):
    data = {name: json.dumps(schema).encode() for name, schema in schemas.items()}
    raws = (
        (topic, stamp, tree if isinstance(tree, bytes) else json.dumps(tree).encode())
        for topic, stamp, tree in messages
    )
    return write(path, 'json', dict(zip(('joints', 'imu'), data.items(), strict=True)), raws)


def protobuf_file(path, messages):
    """The same messages and schemas in protobuf; positions of joints are optional there."""
    pb2 = need('google.protobuf.descriptor_pb2')
    from google.protobuf import descriptor_pool, message_factory, timestamp_pb2

    stamp_file = pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp_file)
    pool, files = descriptor_pool.DescriptorPool(), [stamp_file]

    def declare(file, full_name, schema):
        made = file.message_type.add(name=full_name.rpartition('.')[2])
        for number, (name, part) in enumerate(schema['properties'].items(), 1):
            is_array = part['type'] == 'array'
            part = part['items'] if is_array else part
            kind = {'number': DOUBLE, 'string': STRING, 'object': MESSAGE}[part['type']]
            field = made.field.add(name=name, number=number, type=kind, label=3 if is_array else 1)
            if part is TIME:
                field.type_name = '.google.protobuf.Timestamp'
            elif kind == MESSAGE:
                field.type_name = f'.{full_name}_{name}'
                declare(file, f'{full_name}_{name}', part)
            elif full_name.endswith('_joints'):
                field.proto3_optional, field.oneof_index = True, len(made.oneof_decl)
                made.oneof_decl.add(name=f'_{name}')

    for full_name, schema in SCHEMAS.items():
        package = full_name.rpartition('.')[0]
        file = pb2.FileDescriptorProto(name=full_name, package=package, syntax='proto3')
        file.dependency.append(stamp_file.name)
        declare(file, full_name, schema)
        files.append(file)
    for file in files:
        pool.Add(file)
    data = pb2.FileDescriptorSet(file=files).SerializeToString()

    def renamed(tree):
        if isinstance(tree, list):
            return [renamed(each) for each in tree]
        if not isinstance(tree, dict):
            return tree
        names = {'sec': 'seconds', 'nsec': 'nanos'}
        return {names.get(name, name): renamed(value) for name, value in tree.items()}

    schemas = dict(zip(('joints', 'imu'), SCHEMAS, strict=True))
    classes = {
        topic: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for topic, name in schemas.items()
    }
    raws = (
        (
            topic,
            stamp,
            tree
            if isinstance(tree, bytes)
            else classes[topic](**renamed(tree)).SerializeToString(),
        )
        for topic, stamp, tree in messages
    )
    return write(path, 'protobuf', {topic: (n, data) for topic, n in schemas.items()}, raws)


@pytest.fixture(scope='module')
def robot(robot_content, tmp_path_factory):
    """The joints are those of a standard type, the IMU is mapped."""
    imu = {
        'topic': 'imu', 'type': 'my_robot/msg/Imu', 'frame': 'imu_link', 'clock': 'stamp',
        'angular_velocity': 'rates[0:3]', 'linear_acceleration': 'acceleration',
        'orientation': 'q', 'quaternion': 'wxyz',
    }  # fmt: skip
    joints = {'topic': 'joints'}
    path = tmp_path_factory.mktemp('conversion') / 'robot.yaml'
    path.write_text(yaml.safe_dump(robot_content | {'joints': joints, 'imu': imu}))
    return load_robot_file(path)


def test_protobuf_and_json_give_what_cdr_gives(robot, slower, biped31, tmp_path):
    sound = slower.until(1.2)
    draft = sound.copy()
    for topic in {*TOPICS} - {JOINTS, IMU}:
        draft.drop(topic)
    expected = evaluate_bag(draft.write(tmp_path / 'bag'), biped31).tracks['mr_ad'].wrench
    assert np.isfinite(expected).any()
    for file in (json_file, protobuf_file):
        path = file(tmp_path / f'{file.__name__}.mcap', trees(sound))
        with BagReader(path) as bag:
            types = {name: topic.msgtype for name, topic in bag.topics.items()}
        assert types == {'/joints': 'sensor_msgs/msg/JointState', '/imu': 'my_robot/msg/Imu'}
        found = evaluate_bag(path, robot)
        np.testing.assert_array_equal(found.tracks['mr_ad'].wrench, expected)


def columns(path, topic, names):
    with BagReader(path) as bag:
        (batch,) = bag.batches([topic])
        decoded = batch[topic].decode()
        return decoded, [decoded.column(name).tolist() for name in names]


@pytest.mark.parametrize('file', [json_file, protobuf_file])
def test_values_that_are_absent_and_messages_that_are_broken(file, tmp_path):
    joints = [{'name': 'hip'}, {'name': 'knee', 'position': 0.0, 'velocity': 1.0}]
    messages = [
        ('joints', 5, {'timestamp': time(5), 'joints': joints}),
        ('joints', 6, b'\xff{'),
        ('imu', 6, {'stamp': time(2 * 10**9 + 1), 'rates': [0.0, 2.0], 'acceleration': {'x': 1.0,
         'y': 0.0, 'z': 0.0}}),
    ]  # fmt: skip
    path = file(tmp_path / 'log.mcap', messages)
    decoded, found = columns(path, '/joints', ['position', 'velocity', 'effort'])
    np.testing.assert_array_equal(found[:2], [[[np.nan, 0.0]], [[np.nan, 1.0]]])
    assert found[2] == [[]]
    assert decoded.broken == 1
    _, found = columns(path, '/imu', ['stamp', 'rates', 'acceleration', 'q'])
    assert found[:3] == [[2 * 10**9 + 1], [[0.0, 2.0]], [[1.0, 0.0, 0.0]]]
    np.testing.assert_array_equal(found[3], [[np.nan] * 4])


def test_whole_numbers_that_are_absent_are_nan(tmp_path):
    """Also where null is allowed; a name that ROS does not allow costs its field alone."""
    whole, maybe = {'type': 'integer'}, {'type': ['number', 'null']}
    schema = record(
        force=whole, counts={'type': ['array', 'null'], 'items': whole}, load=maybe,
        größe=NUMBER, länge=record(x=NUMBER),
    )  # fmt: skip
    full = {'force': 2**40, 'counts': [1, None], 'load': 0.5, 'größe': 1.0, 'länge': {'x': 1.0}}
    raws = (json.dumps(tree).encode() for tree in (full, {'force': None, 'counts': [1, 2]}))
    schemas = {'foot': ('a.Foot', json.dumps(schema, ensure_ascii=False).encode())}
    messages = [('foot', stamp, raw) for stamp, raw in enumerate(raws, 5)]
    path = write(tmp_path / 'log.mcap', 'json', schemas, messages)
    decoded, found = columns(path, '/foot', ['force', 'counts', 'load'])
    assert decoded.broken == 0
    expected = [2**40, np.nan], [[1, np.nan], [1, 2]], [0.5, np.nan]
    for values, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(values, wanted)


def protobuf_whole():
    """Schema of a.Foot: `tick`, which is always there, and `force`, which may be absent."""
    pb2 = need('google.protobuf.descriptor_pb2')
    file = pb2.FileDescriptorProto(name='foot', package='a', syntax='proto3')
    foot = file.message_type.add(name='Foot')
    foot.oneof_decl.add(name='_force')
    foot.field.add(name='tick', number=1, type=INT32, label=1)
    foot.field.add(
        name='force', number=2, type=INT32, label=1, proto3_optional=True, oneof_index=0
    )
    foot.oneof_decl.add(name='_down')
    foot.field.add(
        name='down', number=3, type=foot.field[0].TYPE_BOOL, label=1, proto3_optional=True,
        oneof_index=1,
    )  # fmt: skip
    return pb2.FileDescriptorSet(file=[file]).SerializeToString()


def test_whole_numbers_of_protobuf_that_may_be_absent(tmp_path):
    messages = [('foot', 5, b''), ('foot', 6, b'\x08\x03\x10\x00')]  # tick 3, force 0
    schemas = {'foot': ('a.Foot', protobuf_whole())}
    path = write(tmp_path / 'log.mcap', 'protobuf', schemas, messages)
    _, found = columns(path, '/foot', ['tick', 'force', 'down'])
    np.testing.assert_array_equal(found, [[0, 3], [np.nan, 0], [np.nan, np.nan]])
    with BagReader(path) as bag:
        typestore = bag.decoder('/foot').typestore
    bits = [FieldNumbers(typestore, 'a/msg/Foot', parse(each)).bits for each in ('tick', 'force')]
    assert bits == [32, 32]


def test_what_cannot_be_converted_is_named(tmp_path, monkeypatch):
    path = json_file(tmp_path / 'log.mcap', [], {'a.B': SCHEMAS['my.robot.Imu'], 'a.C': []})
    with BagReader(path) as bag, raising(BagError, 'broken_definition') as caught:
        bag.decoder('/imu')
    assert "schema 'a.C'" in str(caught.value)
    none = write(tmp_path / 'none.mcap', 'json', {'imu': ('', b'')}, [])
    with BagReader(none) as bag, raising(BagError, 'unsupported_encoding') as caught:
        bag.decoder('/imu')
    assert 'without a schema' in str(caught.value)
    with raising(ReplayError, 'not_in_bag') as caught:
        write_draft(json_file(path, [('imu', 1, {})]), None, tmp_path / 'robot.yaml')
    assert 'rates[0:N]' in str(caught.value)
    path = protobuf_file(path, [])
    monkeypatch.setitem(sys.modules, 'google.protobuf.descriptor_pool', None)
    with BagReader(path) as bag, pytest.raises(MissingDependencyError, match='install protobuf'):
        bag.decoder('/imu')


@pytest.mark.parametrize('schema', ['oGXj-1.Imu', ''])
def test_a_draft_maps_the_imu_by_the_names_of_its_fields(schema, robot, sound, tmp_path):
    """Also of a topic without a schema, whose fields are those of its first message."""
    fields = record(
        stamp=TIME, orientation=record(w=NUMBER, x=NUMBER, y=NUMBER, z=NUMBER),
        gyro=array(NUMBER), accel=record(x=NUMBER, y=NUMBER, z=NUMBER),
    )  # fmt: skip
    names = {'q': 'orientation', 'rates': 'gyro', 'acceleration': 'accel'}
    joints = json.dumps(SCHEMAS['foxglove.JointStates']).encode()
    schemas = {
        'joints': ('foxglove.JointStates', joints),
        'imu': (schema, json.dumps(fields).encode() if schema else b''),
    }
    raws = (
        (topic, stamp, json.dumps({names.get(k, k): v for k, v in tree.items()}).encode())
        for topic, stamp, tree in trees(sound)
    )
    path = write(tmp_path / 'log.mcap', 'json', schemas, raws)
    write_draft(path, robot.urdf, tmp_path / 'robot.yaml')
    imu = load_robot_file(tmp_path / 'robot.yaml').imu
    assert imu.type == ('ogxj_1/msg/Imu' if schema else 'messages/msg/unknown')
    assert (imu.angular_velocity, imu.linear_acceleration) == ('gyro[0:3]', 'accel')
    assert (imu.clock, imu.orientation[-13:]) == ('stamp', 'orientation.w')
    assert evaluate_bag(path, load_robot_file(tmp_path / 'robot.yaml')).tracks['mr_ad']


def test_poses_of_foxglove_are_poses(tmp_path):
    xyz, turn = (
        dict(zip('xyz', (1.0, 2.0, 3.0), strict=True)),
        {'x': 0.6, 'y': 0, 'z': 0, 'w': 0.8},
    )
    pose = {'position': xyz, 'orientation': turn}
    placed = {'timestamp': time(7), 'frame_id': 'map', 'pose': pose}
    transform = {
        'timestamp': time(7), 'parent_frame_id': 'map', 'child_frame_id': 'trunk',
        'translation': xyz, 'rotation': turn,
    }  # fmt: skip
    given = {
        'PoseInFrame': (placed, 'pose.position'), 'FrameTransform': (transform, 'transform'),
        'Odometry': (placed | {'body_frame_id': 'trunk'}, 'pose.pose'),
    }  # fmt: skip
    schemas = {topic: (f'foxglove.{topic}', json.dumps(record()).encode()) for topic in given}
    messages = [(topic, 7, json.dumps(tree).encode()) for topic, (tree, _) in given.items()]
    path = write(tmp_path / 'log.mcap', 'json', schemas, messages)
    for topic, (_, place) in given.items():
        decoded, (stamps, values) = columns(path, f'/{topic}', ['header.stamp', place])
        assert stamps == [7]
        assert values[0][:3] == [1.0, 2.0, 3.0]
        assert decoded.texts('header.frame_id') == ('map',)
