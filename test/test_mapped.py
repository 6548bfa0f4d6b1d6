"""Joints and IMU in messages of any type, by the fields that the robot file names."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from izmp_dynamics.bags.batch import RawMessages
from izmp_dynamics.bags.cdr_decoder import CdrDecoder
from izmp_dynamics.bags.cdr_layout import CdrLayout, serialized
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.storage import Channel
from izmp_dynamics.bags.typestores import choose_types
from izmp_dynamics.base.errors import BagError, ReplayError, RobotFileError, SensingError
from izmp_dynamics.check import check
from izmp_dynamics.draft.write import write_draft
from izmp_dynamics.evaluate import evaluate_bag
from izmp_dynamics.model.feet import FootContact, FootForce
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.model.sensors import Joints
from izmp_dynamics.recording.mapped import CounterClock, MappedMessages
from izmp_dynamics.recording.recording import Recording

from .bag_surgery import IMU, JOINTS
from .raising import raising

LOW_STATE = 'my_robot/msg/LowState'
MOTORS = 35
STORE = get_typestore(Stores.LATEST)
STORE.register({
    **get_types_from_msg('int8 mode\nfloat64 q\nint8[2] temperature', 'my_robot/msg/Motor'),
    **get_types_from_msg(
        'float64[4] quaternion\nfloat64[3] gyroscope\ngeometry_msgs/Vector3 accelerometer',
        'my_robot/msg/ImuState',
    ),
    **get_types_from_msg(
        'uint8[3] head\nstd_msgs/Header header\nmy_robot/ImuState imu_state\n'
        f'my_robot/Motor[{MOTORS}] motor_state\nuint32 tick\nfloat32[] currents\nstring name',
        LOW_STATE,
    ),
})  # fmt: skip
EVERY = slice(None)


def low_states(draft, rows=EVERY, **changes):
    """The joints and the IMU of a draft in messages of one type: their bytes."""
    joints, imu = draft[JOINTS], draft[IMU]
    layout = CdrLayout(STORE, LOW_STATE, serialized(STORE, LOW_STATE, {'currents': 4}))
    stamps = joints.stamps[rows]
    values = {
        'header.stamp': stamps,
        'imu_state.quaternion': imu['orientation'][rows][:, [3, 0, 1, 2]],
        'imu_state.gyroscope': imu['angular_velocity'][rows],
        'imu_state.accelerometer': imu['linear_acceleration'][rows],
        'tick': (stamps - stamps[0]) // 10**6 + 7,
    }
    for k, column in enumerate(joints['position'][rows].T):
        values[f'motor_state[{k}].q'] = column
    return [row.tobytes() for row in layout.encode_rows(len(stamps), values | changes)]


@pytest.fixture(scope='module')
def mapped(sound, robot_content, tmp_path_factory):
    """Makes the robot file of such a bag, with changes, and the bag."""
    folder = tmp_path_factory.mktemp('mapped')
    draft = sound.copy()
    draft.raw_topics = [
        ('/lowstate', LOW_STATE, draft[JOINTS].received.tolist(), low_states(draft))
    ]
    draft.drop(JOINTS)
    draft.drop(IMU)
    bag = draft.write(folder / 'bag', typestore=STORE)
    joints = {
        'topic': 'lowstate', 'type': LOW_STATE, 'names': list(sound[JOINTS].like['name']),
        'positions': 'motor_state[0:31].q',
    }  # fmt: skip
    imu = {
        'topic': 'lowstate', 'type': LOW_STATE, 'frame': 'imu_link', 'quaternion': 'wxyz',
        'angular_velocity': 'imu_state.gyroscope', 'orientation': 'imu_state.quaternion',
        'linear_acceleration': 'imu_state.accelerometer',
    }  # fmt: skip

    def robot(joints_changes=(), imu_changes=()):
        content = {
            'joints': {**joints, **dict(joints_changes)},
            'imu': {**imu, **dict(imu_changes)},
        }
        file = folder / 'robot.yaml'
        file.write_text(yaml.safe_dump(robot_content | content, sort_keys=False))
        return load_robot_file(file)

    return robot, bag


def test_mapped_fields_are_the_standard_messages(mapped, sound_results):
    robot, bag = mapped
    found = evaluate_bag(bag, robot())
    for name, track in found.tracks.items():
        known = np.isfinite(track.wrench)
        np.testing.assert_array_equal(track.wrench[known], sound_results.wrenches[name][known])
        assert known.any()
    used = [(each.msgtype, each.count) for each in found.health if each.topic == '/lowstate']
    assert used == 2 * [(LOW_STATE, 1000)]


@pytest.mark.parametrize(
    ('key', 'stated', 'expected'),
    [
        ('force', {'field': 'imu_state.gyroscope[0] * -2.0'}, [-2.0, -4.0, -8.0, np.nan]),
        ('contact', {'field': 'imu_state.gyroscope[0]', 'loaded_above': 1.5}, [0, 1, 1, np.nan]),
        ('contact', {'field': 'imu_state.gyroscope[0]', 'loaded': (1, 4)}, [1, 0, 1, np.nan]),
        ('contact', {'field': 'head[1]'}, [0, 1, 1, 0]),
    ],
)
def test_the_load_of_a_foot_is_a_number(mapped, sound, key, stated, expected):
    robot, _ = mapped
    foot = robot().feet[0]
    sensor = {'force': FootForce, 'contact': FootContact}[key]
    stated = {name: tuple(v) if isinstance(v, list) else v for name, v in stated.items()}
    scalar = dataclasses.replace(
        foot, wrench=None, **{key: sensor('lowstate', LOW_STATE, **stated)}
    )
    file = dataclasses.replace(robot(), feet=(scalar,))
    (signal,) = [each for each in file.signals() if each.kind == 'feet']
    assert signal.key == f'feet[0].{key}'
    counts = np.tile([[1.0], [2.0], [4.0], [np.nan]], 3)
    heads = np.array([[0, 0, 9], [9, 1, 0], [0, 3, 9], [1, 0, 1]], np.uint8)
    raws = low_states(sound.copy(), slice(4), **{'imu_state.gyroscope': counts, 'head': heads})
    raw = RawMessages(
        '/lowstate', LOW_STATE, np.arange(4) + 1, Raws.of(raws), CdrDecoder(STORE, LOW_STATE)
    )
    found = MappedMessages(signal, STORE).read(raw, ())
    np.testing.assert_array_equal(found.wrenches[:, 2], expected)
    assert not found.wrenches[:, [0, 1, 3, 4, 5]].any()


def test_values_whose_names_are_elsewhere_are_refused_where_these_change():
    kind = 'pal_statistics_msgs/msg/StatisticsValues'
    STORE.register(get_types_from_msg('float64[] values\nuint32 names_version', kind))
    joints = Joints(
        'values', type=kind, names=('hip', 'knee'), positions='values[3:5]', clock='received'
    )
    signal = next(RobotFile('', joints=joints).signals())
    layout = CdrLayout(STORE, kind, serialized(STORE, kind, {'values': 6}))

    def messages(*versions):
        values = np.tile(np.arange(6.0), (len(versions), 1))
        raws = layout.encode_rows(len(versions), {'values': values, 'names_version': versions})
        stamps = np.arange(len(versions)) + 1
        raws = Raws.of([row.tobytes() for row in raws])
        return RawMessages('/values', kind, stamps, raws, CdrDecoder(STORE, kind))

    reader = MappedMessages(signal, STORE)
    found = reader.read(messages(2, 2, 2), ('hip', 'knee'))
    np.testing.assert_array_equal(found.positions, [[3.0, 4.0]] * 3)
    with raising(BagError, 'names_changed'):
        reader.read(messages(3, 3), ('hip', 'knee'))


def test_joints_are_named_in_the_order_of_the_messages(mapped, sound, tmp_path):
    bag = sound.copy().write(tmp_path / 'bag')
    names = list(sound[JOINTS].like['name'])
    joints = {'topic': JOINTS, 'type': 'sensor_msgs/msg/JointState', 'positions': 'position[0:31]'}
    standard = {'topic': IMU, 'type': 'sensor_msgs/msg/Imu', 'quaternion': 'xyzw',
                'angular_velocity': 'angular_velocity', 'orientation': 'orientation',
                'linear_acceleration': 'linear_acceleration'}  # fmt: skip
    file = mapped[0](joints | {'names': names}, standard)
    assert evaluate_bag(bag, file).tracks['mr_ad'].valid.any()
    file = mapped[0](joints | {'names': names[::-1]}, standard)
    with pytest.raises(ReplayError) as caught:
        evaluate_bag(bag, file)
    assert f'valid: names: [{names[0]}, {names[1]}' in str(caught.value)
    file = mapped[0](joints | {'names': names, 'positions': 'position[1:32]'}, standard)
    with raising(ReplayError, 'unreadable') as caught:
        evaluate_bag(bag, file)
    assert "'position' has 31 elements" in str(caught.value)
    assert 'valid: [0:31]' in str(caught.value)
    array = FootForce('/joint_states', 'sensor_msgs/msg/JointState', 'position[31]')
    feet = (dataclasses.replace(file.feet[0], wrench=None, force=array), *file.feet[1:])
    file = dataclasses.replace(mapped[0](joints | {'names': names}, standard), feet=feet)
    (found,) = [each for each in check(bag, file).findings if each.kind == 'unreadable']
    assert found.level == 'warning'
    assert "'position' has 31 elements" in found.sentence


SENSOR = {'topic': 't', 'type': LOW_STATE, 'field': 'head[0]'}


@pytest.mark.parametrize(
    ('stated', 'kind', 'says'),
    [
        (
            {'force': SENSOR, 'contact': SENSOR | {'field': 'head[1]'}},
            'two_foot_sensors',
            'force and contact',
        ),
        ({'contact': SENSOR | {'loaded': [1], 'loaded_above': 3}}, 'two_thresholds', 'counts'),
        ({'force': SENSOR | {'field': 'head[0-1]'}}, 'no_field', 'field is'),
        ({'force': {'topic': 't', 'type': LOW_STATE}}, 'missing_key', 'field'),
    ],
)
def test_a_foot_sensor_that_does_not_fit_says_what_would(mapped, tmp_path, stated, kind, says):
    content = yaml.safe_load(mapped[0]().path.read_text())
    del content['feet'][0]['wrench']
    content['feet'][0] |= stated
    path = tmp_path / 'robot.yaml'
    path.write_text(yaml.safe_dump(content))
    with raising(RobotFileError, kind) as caught:
        load_robot_file(path)
    assert says in str(caught.value)


def test_a_number_says_whether_a_foot_carries_load_by_a_threshold_alone(mapped):
    robot, bag = mapped
    contact = FootContact('lowstate', LOW_STATE, 'imu_state.gyroscope[0]')
    foot = dataclasses.replace(robot().feet[0], wrench=None, contact=contact)
    file = dataclasses.replace(robot(), feet=(foot, *robot().feet[1:]))
    (found,) = [each for each in check(bag, file).findings if each.kind == 'no_threshold']
    assert "feet[l_foot].contact: 'imu_state.gyroscope[0]' of" in found.sentence
    assert 'state loaded_above' in found.sentence


POSITIONS, OMEGA, FORCE = 'positions', 'angular_velocity', 'linear_acceleration'
MISTAKES = {
    'an unknown field': (POSITIONS, 'motor_state[0:31].angle', 'unknown_field', 'valid: mode, q'),
    'fields of a number': (POSITIONS, 'motor_state[0:31].q.x', 'unknown_field', 'leave out'),
    'too long a slice': (POSITIONS, 'motor_state[5:36].q', 'wrong_slice', 'valid: [0:35]'),
    'too few numbers': (POSITIONS, 'motor_state[0:30].q', 'wrong_width', '31 joints'),
    'no slice of a sequence': (OMEGA, 'currents', 'no_length', 'currents[0:12]'),
    'a text': (OMEGA, 'name', 'no_number', 'string'),
    'no array': (OMEGA, 'tick[0:3]', 'no_array', 'leave out'),
    'a quaternion as a vector': (OMEGA, 'imu_state.quaternion', 'wrong_width', 'gives 4 numbers'),
    'the other order': ('quaternion', 'xyzw', 'quaternion_order', 'quaternion: wxyz'),
    'that order, level': (
        'orientation',
        'imu_state.quaternion[1:4], imu_state.quaternion[0]',
        'quaternion_order',
        'quaternion: xyzw',
    ),
    'units of g': (FORCE, 'imu_state.accelerometer * 0.102', 'imu_in_g', 'm/s²'),
    'a counter without a unit': ('clock', 'tick', 'no_unit', 'tick * 0.001'),
    'a clock that is not there': ('clock', 'header.time', 'unknown_field', 'received'),
    'motors of linkages': ('must_be_zero', 'tick', 'parallel_joints', 'tick is 7 in'),
    'a mode that is none': ('must_be_zero', 'mode_pr', 'unknown_field', 'tick'),
    'no frame': ('frame', None, 'no_frame_id', 'frame: LINK'),
}


@pytest.mark.parametrize(('key', 'value', 'kind', 'says'), MISTAKES.values(), ids=MISTAKES)
def test_a_mapping_that_does_not_fit_the_messages_says_what_would(mapped, key, value, kind, says):
    robot, bag = mapped
    changes = {key: value}
    file = robot(changes) if key in (POSITIONS, 'must_be_zero') else robot(imu_changes=changes)
    model = load_model(file.read_urdf(), file.root)
    with pytest.raises((BagError, ReplayError, SensingError)) as caught, BagReader(bag) as reader:
        Recording(reader, file, model)
    assert caught.value.kind == kind, str(caught.value)
    assert says in str(caught.value)
    assert '\n' not in str(caught.value)


UNFIT = {
    'no field': ({'positions': 'motor_state[0-12].q'}, 'no_field'),
    'an empty slice': ({'positions': 'motor_state[3:3].q'}, 'no_field'),
    'no positions': ({'positions': None}, 'field_missing'),
    'no names': ({'names': None}, 'field_missing'),
    'a name twice': ({'names': ['hip', 'hip']}, 'repeated_name'),
    'no type': ({'type': None}, 'needless_mapping'),
    'another type': ({'type': 'LowState'}, 'no_type'),
}


@pytest.mark.parametrize(('changes', 'kind'), UNFIT.values(), ids=UNFIT)
def test_a_mapping_that_is_none_is_refused_with_its_line(mapped, changes, kind):
    with raising(RobotFileError, kind) as caught:
        mapped[0](changes)
    assert 'line' in str(caught.value)


def test_one_topic_gives_two_signals_only_where_both_are_mapped(mapped):
    with raising(RobotFileError, 'repeated_name'):
        mapped[0](
            dict.fromkeys(('type', 'names', 'positions')),
            dict.fromkeys(('type', 'orientation', 'angular_velocity', 'linear_acceleration'))
            | {'quaternion': 'xyzw'},
        )


MS = 10**6


def test_a_counter_dates_messages_by_what_it_advances():
    """It wraps, its robot restarts, and messages are held up; in pieces of any length."""
    counts = np.array([2**32 - 2, 2**32 - 1, 0, 2, 1, 500, 501, 502, 7, 9])
    received = np.array([10, 11, 12, 14, 15, 513, 900, 901, 5000, 5002]) * MS
    expected = np.array([10, 11, 12, 14, 13, 512, 513, 514, 4613, 4615]) * MS
    np.testing.assert_array_equal(CounterClock(1e-3, 32).stamps(counts, received), expected)
    clock = CounterClock(1e-3, 32)
    pieces = [clock.stamps(counts[k : k + 1], received[k : k + 1]) for k in range(len(counts))]
    np.testing.assert_array_equal(np.concatenate(pieces), expected)


@pytest.mark.parametrize('unit', [1e-2, 5e-4])
def test_a_counter_with_another_unit_is_found(mapped, unit):
    """By the time of recording; a simulation may run so slowly or fast, so it is a warning."""
    robot, bag = mapped
    tick = {'clock': f'tick * {unit}'}
    result = check(bag, robot(tick, tick))
    (found,) = (each for each in result.findings if each.kind == 'clock_unit')
    assert 'clock: tick * 0.001?' in found.remedy
    assert found.level == 'warning'
    assert found.sentence not in result.no_verdict


def test_a_counter_and_the_time_of_recording_are_clocks(mapped, sound_results):
    robot, bag = mapped
    tick = {'clock': 'tick * 0.001'}
    for clocks in ((tick, tick), ({'clock': 'received'}, {'clock': 'received'})):
        found = evaluate_bag(bag, robot(*clocks)).tracks['mr_ad']
        known = np.isfinite(found.wrench)
        np.testing.assert_allclose(
            found.wrench[known], sound_results.wrenches['mr_ad'][known], atol=1e-6
        )
        assert known.any()


def test_a_draft_lists_the_numbers_of_a_type_that_it_does_not_know(mapped, tmp_path):
    with raising(ReplayError, 'not_in_bag') as caught:
        write_draft(mapped[1], None, tmp_path / 'robot.yaml')
    assert f'type: {LOW_STATE}' in str(caught.value)
    assert 'imu_state.gyroscope[0:3], imu_state.accelerometer, motor_state[0:35].q' in str(
        caught.value
    )


def test_joints_in_a_sequence_of_names_and_values():
    """As control_msgs/DynamicJointState has them; messages with too few joints are left out."""
    parts = {
        'InterfaceValue': 'string[] interface_names\nfloat64[] values',
        'DynamicJointState': 'std_msgs/Header header\nstring[] joint_names\n'
                             'control_msgs/InterfaceValue[] interface_values',
    }  # fmt: skip
    store = get_typestore(Stores.LATEST)
    for name, text in parts.items():
        store.register(get_types_from_msg(text, f'control_msgs/msg/{name}'))
    msgtype = f'control_msgs/msg/{name}'
    joints = Joints(
        type=msgtype, names=('hip', 'knee'), positions='interface_values[0:2].values[1]'
    )
    signal = next(RobotFile('robot.urdf', joints=joints).signals())
    raws = []
    for angles in ([0.1, 0.2], [0.3], [0.5, 0.6]):
        values = {'interface_values': len(angles)}
        for k, angle in enumerate(angles):
            values[f'interface_values[{k}].interface_names'] = ['effort', 'position']
            values[f'interface_values[{k}].values'] = [9.0, angle]
        raws.append(serialized(store, msgtype, values))
    decoder = CdrDecoder(store, msgtype)
    messages = RawMessages('/state', msgtype, np.arange(3), Raws.of(raws), decoder)
    read = MappedMessages(signal, store).read(messages, ['knee', 'ankle', 'hip'])
    np.testing.assert_array_equal(read.positions, [[0.2, np.nan, 0.1], [0.6, np.nan, 0.5]])
    assert read.broken == 1
    assert "'interface_values' has 1 elements" in read.fault


def test_a_bag_without_definitions_is_read_by_the_installed_packages(monkeypatch):
    """As recorders up to Humble write sqlite3 files."""
    installed = {
        'my_robot.Flat': {
            'stamp': 'builtin_interfaces/Time', 'q': 'double[2]', 'name': 'string<8>',
            'values': 'sequence<float, 4>', 'flags': 'sequence<boolean>',
        },
        'builtin_interfaces.Time': {'sec': 'int32', 'nanosec': 'uint32'},
    }  # fmt: skip
    for name, fields in installed.items():
        package, kind = name.split('.')
        message = SimpleNamespace(get_fields_and_field_types=lambda fields=fields: fields)
        monkeypatch.setitem(sys.modules, package, SimpleNamespace(__path__=[]))
        monkeypatch.setitem(sys.modules, f'{package}.msg', SimpleNamespace(**{kind: message}))
    text = (
        'builtin_interfaces/Time stamp\nfloat64[2] q\nstring name\nfloat32[] values\nbool[] flags'
    )
    flat = 'my_robot/msg/Flat'
    store = get_typestore(Stores.LATEST)
    store.register(get_types_from_msg(text, flat))
    raw = serialized(store, flat, {'values': 4, 'flags': 4})
    found = choose_types(Channel('/flat', flat, 'cdr'), '', print)
    assert CdrLayout(found, flat, raw).paths == CdrLayout(store, flat, raw).paths
    monkeypatch.delitem(sys.modules, 'my_robot')
    monkeypatch.delitem(sys.modules, 'my_robot.msg')
    with raising(BagError, 'unknown_type') as caught:
        choose_types(Channel('/flat', flat, 'cdr'), '', print)
    assert 'mcap' in str(caught.value)
