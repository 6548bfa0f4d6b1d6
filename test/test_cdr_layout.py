"""The vectorised layout against rosbags, message by message."""

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from izmp_dynamics.bags import cdr_decoder
from izmp_dynamics.bags.cdr_decoder import CdrDecoder
from izmp_dynamics.bags.cdr_layout import CdrLayout, serialized
from izmp_dynamics.base.errors import BagError, UnknownNameError

from .raising import raising
from .sample_bags import TYPES, USED_TYPES, imu_raws, messages, raw_of, texts

IMU = 'sensor_msgs/msg/Imu'
JOINTS = 'sensor_msgs/msg/JointState'


def attribute(message, path):
    """What rosbags says at a path like 'transforms[0].transform.rotation.w'."""
    for part in path.split('.'):
        name, _, index = part.partition('[')
        message = getattr(message, name)
        if index:
            message = message[int(index[:-1])]
    return message


def read(layout, raws):
    rows = layout.rows(raws)
    assert layout.matches(rows).all()
    return layout.fields(rows)


def assert_says_the_same(fields, row, layout, message):
    for path in layout.paths:
        np.testing.assert_array_equal(fields[path][row], attribute(message, path), path)
    for path, text in layout.strings.items():
        expected = attribute(message, path)
        assert text == (tuple(expected) if isinstance(expected, list) else expected)


@pytest.mark.parametrize('msgtype', USED_TYPES)
@settings(max_examples=10)
@given(data=st.data())
def test_writes_what_rosbags_reads_and_the_same_bytes(msgtype, data):
    example = bytes(TYPES.serialize_cdr(data.draw(messages(msgtype)), msgtype))
    template = CdrLayout(TYPES, msgtype, example)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    values = {}
    for path in template.paths:
        shape, dtype = template.columns(path).shape, template.columns(path).dtype
        whole = dtype.kind != 'f'
        values[path] = rng.integers(0, 99, (3, *shape)) if whole else rng.normal(size=(3, *shape))
    raws = [row.tobytes() for row in template.encode_rows(3, values)]
    for row, raw in enumerate(raws):
        message = TYPES.deserialize_cdr(raw, msgtype)
        assert_says_the_same(read(template, raws), row, template, message)
        assert bytes(TYPES.serialize_cdr(message, msgtype)) == raw


@pytest.mark.parametrize('msgtype', USED_TYPES)
@given(message=st.data())
@settings(max_examples=10)
def test_an_example_of_given_values_has_the_bytes_of_rosbags(msgtype, message):
    raw = bytes(TYPES.serialize_cdr(message.draw(messages(msgtype)), msgtype))
    layout = CdrLayout(TYPES, msgtype, raw)
    fields = read(layout, [raw])
    values = layout.strings | {path: fields[path][0] for path in layout.paths}
    counts = {}
    for path in values:  # of messages in a sequence, their number
        for found in re.finditer(r'\[(\d+)\]', path):
            count = int(found[1]) + 1
            counts[path[: found.start()]] = max(count, counts.get(path[: found.start()], 0))
    assert serialized(TYPES, msgtype, values | counts) == raw


@pytest.mark.parametrize('msgtype', USED_TYPES)
@settings(max_examples=10)
@given(data=st.data())
def test_mixed_messages_are_sorted_and_none_is_misread(msgtype, data):
    sent = data.draw(st.lists(messages(msgtype), min_size=1, max_size=5))
    orders = data.draw(st.lists(st.booleans(), min_size=5, max_size=5))
    raws = [
        bytes(TYPES.serialize_cdr(message, msgtype, little_endian=little))
        for message, little in zip(sent, orders, strict=False)
    ] * 2
    decoded = CdrDecoder(TYPES, msgtype).decode(raws)
    assert decoded.broken == 0
    np.testing.assert_array_equal(decoded.index, np.arange(len(raws)))
    for group in decoded.groups:
        for row, place in enumerate(group.index):
            message = sent[place % len(sent)]
            assert_says_the_same(group, row, group.layout, message)


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans())
def test_a_changed_byte_never_makes_a_layout_misread(place, change, cut):
    """What a layout accepts, rosbags reads as the same numbers; else it is another layout."""
    names = {'name': ['hip', 'knee_pitch'], 'position': [1, 2], 'header.frame_id': 'x'}
    raw = raw_of(JOINTS, names)
    layout = CdrLayout(TYPES, JOINTS, raw)
    damaged = bytearray(raw)
    damaged[place % len(raw)] ^= change
    if cut:
        del damaged[place % len(raw) :]
    decoded = CdrDecoder(TYPES, JOINTS).decode([raw, bytes(damaged)])
    assert decoded.broken + len(decoded.index) == 2
    if len(damaged) == len(raw) and layout.matches(layout.rows([damaged])).all():
        message = TYPES.deserialize_cdr(bytes(damaged), JOINTS)
        assert_says_the_same(read(layout, [damaged]), 0, layout, message)
    for group in decoded.groups:
        for row, index in enumerate(group.index):
            message = TYPES.deserialize_cdr([raw, bytes(damaged)][index], JOINTS)
            assert_says_the_same(group, row, group.layout, message)


@settings(max_examples=300)
@given(st.binary(max_size=300), st.sampled_from(USED_TYPES))
def test_noise_is_counted_and_raises_nothing(noise, msgtype):
    decoded = CdrDecoder(TYPES, msgtype).decode([noise, b'\0\1\0\0' + noise])
    assert decoded.broken + len(decoded.index) == 2
    assert (decoded.fault is None) == (decoded.broken == 0)


def test_every_constant_byte_counts():
    """In short texts as in long ones, and where a zero takes its place."""
    names = {'name': ['hip', 'x' * 90], 'position': [1, 2], 'header.frame_id': 'abc'}
    raw = raw_of(JOINTS, names)
    layout = CdrLayout(TYPES, JOINTS, raw)
    places = [k for begin, same in layout.constants for k in range(begin, begin + len(same))]
    changed = [
        raw[:place] + bytes([value]) + raw[place + 1 :]
        for place in places
        for value in (raw[place] ^ 0x80, 0)
    ]
    expected = [message == raw for message in changed]
    assert 0 < sum(expected) < len(places)
    assert layout.matches(layout.rows(changed)).tolist() == expected


def test_padding_is_ignored():
    """DDS leaves whatever was in memory between a text and the next number."""
    raw = raw_of(IMU, {'header.frame_id': 'a'})
    padded = bytearray(raw)
    first_number = CdrLayout(TYPES, IMU, raw).columns('orientation').offset
    padded[first_number - 1] = 0xAB
    padded[2:4] = b'\7\7'  # the options of the encapsulation
    layout = CdrLayout(TYPES, IMU, raw)
    assert layout.matches(layout.rows([raw, bytes(padded)])).all()
    assert str(TYPES.deserialize_cdr(bytes(padded), IMU)) == str(TYPES.deserialize_cdr(raw, IMU))


@pytest.mark.parametrize('padding', [4, 8, 12])
def test_empty_sequences_may_leave_padding_of_any_content(padding):
    """As `rclpy.serialization.serialize_message` does: what was in memory follows."""
    raw = raw_of(JOINTS, {'name': ['a'], 'position': [2.5]})  # velocity and effort are empty
    for noise in (bytes(padding), bytes(range(1, 1 + padding))):
        decoded = CdrDecoder(TYPES, JOINTS).decode([raw + noise])
        assert (decoded.broken, decoded.column('position').tolist()) == (0, [[2.5]])
    with raising(BagError, 'trailing_bytes'):
        CdrLayout(TYPES, JOINTS, raw + bytes(20))


def test_every_joint_state_that_ros_serializes_is_read():
    from rclpy import serialization
    from sensor_msgs.msg import JointState as joint_state

    for frame, count, *full in product(range(5), range(1, 4), *[(False, True)] * 3):
        names, values = ['knee_pitch'[: k + 3] for k in range(count)], [2.5] * count
        message = joint_state(name=names)
        message.header.frame_id = 'x' * frame
        for field, there in zip(('position', 'velocity', 'effort'), full, strict=True):
            setattr(message, field, values if there else [])
        decoded = CdrDecoder(TYPES, JOINTS).decode([serialization.serialize_message(message)])
        assert (decoded.broken, decoded.fault) == (0, None)
        assert decoded.groups[0].layout.strings['name'] == tuple(names)
        assert decoded.column('position').tolist() == [values if full[0] else []]


def test_a_type_of_countless_fields_ends_in_a_sentence():
    class Nested:
        fielddefs = {
            f'a/msg/A{depth}': ([], [('a', (3, ((2, f'a/msg/A{depth + 1}'), 1000)))])
            for depth in range(5)
        } | {'a/msg/A5': ([], [])}

    with raising(BagError, 'too_many_values', msgtype='a/msg/A0'):
        CdrLayout(Nested(), 'a/msg/A0', bytes([0, 1, 0, 0]) + bytes(1000))


def test_a_topic_of_ever_new_large_layouts_is_left_out_in_time(monkeypatch):
    """Walks over 16 MB of such messages took 43 s and 3.8 GB."""
    monkeypatch.setattr(cdr_decoder, '_WALKED', 3000)
    trees = {
        'a/msg/Tree': ([], [('a', (4, ((2, 'a/msg/Leaf'), None)))]),
        'a/msg/Leaf': ([], [('x', (1, ('uint8', 0)))]),
    }
    raws = [b'\0\1\0\0' + n.to_bytes(4, 'little') + b'\1' * n for n in range(1000, 1040, 4)]
    decoder = CdrDecoder(SimpleNamespace(fielddefs=trees), 'a/msg/Tree')
    decoded = decoder.decode(raws)
    read = len(raws) - decoded.broken
    assert 3 <= read <= 4
    assert 'differ from message to message' in decoded.fault
    again = decoder.decode(raws[:read])  # of known layouts nothing is lost
    assert (again.broken, again.fault) == (0, None)


def test_paths_name_leaves_times_and_uniform_messages():
    stamps, raws = imu_raws(4)
    fields = read(CdrLayout(TYPES, IMU, raws[0]), raws)
    np.testing.assert_array_equal(fields['header.stamp'], stamps)
    np.testing.assert_array_equal(fields['linear_acceleration'][:, 0], [0, 1, 2, 3])
    assert fields['orientation_covariance'].shape == (4, 9)
    assert fields['angular_velocity.y'].shape == (4,)
    for path in ('header', 'imu', ''):
        with raising(UnknownNameError, 'unknown_name') as caught:
            fields[path]
        assert 'linear_acceleration.x' in caught.value.valid


def test_times_before_the_epoch_survive():
    layout = CdrLayout(TYPES, IMU, raw_of(IMU))
    stamps = np.array([-1, 0, 2**31 * 10**9 - 1, -(2**31) * 10**9])
    rows = layout.encode_rows(4, {'header.stamp': stamps})
    np.testing.assert_array_equal(layout.fields(rows)['header.stamp'], stamps)
    with raising(BagError, 'out_of_range', field='header.stamp.sec', dtype='int32'):
        layout.encode_rows(1, {'header.stamp': [2**31 * 10**9]})


@pytest.mark.parametrize(
    ('values', 'kind', 'dtype'),
    [
        ({'header.stamp': np.zeros(2)}, 'wrong_dtype', 'int64'),
        ({'header.stamp.sec': [0.5, 1.0]}, 'wrong_dtype', 'int32'),
        ({'header.stamp.nanosec': [-1, 0]}, 'out_of_range', 'uint32'),
    ],
)
def test_values_of_another_type_are_refused(values, kind, dtype):
    layout = CdrLayout(TYPES, IMU, raw_of(IMU))
    with raising(BagError, kind, field=next(iter(values)), dtype=dtype):
        layout.encode_rows(2, values)


def test_no_messages_are_no_problem():
    layout = CdrLayout(TYPES, JOINTS, raw_of(JOINTS, {'name': ['a'], 'position': [0.0]}))
    assert layout.encode_rows(0, {'position': np.zeros((0, 1))}).shape == (0, layout.size)
    assert read(layout, [])['position'].shape == (0, 1)
    decoded = CdrDecoder(TYPES, JOINTS).decode([])
    assert (decoded.groups, decoded.broken, len(decoded.index)) == ((), 0, 0)


@settings(max_examples=20)
@given(st.lists(texts, min_size=1, max_size=60))
def test_a_topic_whose_texts_always_change(words):
    msgtype = 'std_msgs/msg/String'
    raws = [raw_of(msgtype, {'data': word}) for word in words]
    decoder = CdrDecoder(TYPES, msgtype)
    for _ in range(2):
        decoded = decoder.decode(raws)
        assert len(decoded.index) == len(words)
        for group in decoded.groups:
            assert {words[i] for i in group.index} == {group.layout.strings['data']}


def test_a_recursive_definition_ends_in_a_sentence():
    class Recursive:
        fielddefs = {'a/msg/A': ([], [('a', (2, 'a/msg/A'))])}  # noqa: RUF012

    with raising(BagError, 'recursive_type', msgtype='a/msg/A'):
        CdrLayout(Recursive(), 'a/msg/A', bytes([0, 1, 0, 0]))


def test_extended_encodings_are_refused():
    with raising(BagError, 'not_plain_cdr', msgtype=IMU):
        CdrLayout(TYPES, IMU, b'\0\7' + raw_of(IMU)[2:])
