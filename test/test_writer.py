"""Writing bags: read back by rosbags, complete or not there at all."""

# ruff: noqa: PT012 (the body of the `with` statement under test belongs inside `raises`)

import os
import resource
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rosbags.highlevel import AnyReader
from rosbags.interfaces import QosDurability, QosReliability
from rosbags.rosbag2 import StoragePlugin, Writer

from izmp_dynamics.bags.mcap_storage import CHUNK_SIZE, write_messages
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.errors import BagError, ShapeError, UnknownNameError

from .raising import raising
from .requiring import need
from .sample_bags import START, BatchWriter, imu_bag

POINT = 'geometry_msgs/msg/PointStamped'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
TEXT = 'std_msgs/msg/String'

NAN = {'point.x': np.nan}
STORAGES = pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])


def stamps(count, offset=0):
    return START + 2_000_000 * np.arange(count) + offset


def write_walk(path, storage='mcap', count=50, **options):
    """A bag as the replay writes it."""
    points = np.arange(3.0 * count).reshape(count, 3)
    with BagWriter(path, storage, **options) as bag:
        bag.add_topic('/izmp', POINT, {'header.frame_id': 'pelvis'})
        bag.add_topic('/wrench', WRENCH, {'header.frame_id': 'world'}, qos='sensor_data')
        bag.add_topic('/robot_description', TEXT, {})
        bag.write_batch('/robot_description', np.array([START]), like={'data': '<robot/>'})
        for part in (slice(0, count // 2), slice(count // 2, count)):
            bag.write_batch('/izmp', stamps(count)[part], {'point': points[part]})
            bag.write_batch('/wrench', stamps(count, 5)[part], {'wrench.force.z': points[part, 0]})
            bag.flush()
        bag.mark('fell', 'no')
    return points


@STORAGES
def test_rosbags_reads_what_was_written(tmp_path, storage):
    points = write_walk(tmp_path / 'out', storage)
    with AnyReader([tmp_path / 'out']) as bag:
        entries = [(c, stamp, bag.deserialize(raw, c.msgtype)) for c, stamp, raw in bag.messages()]
        assert [stamp for _, stamp, _ in entries] == sorted(
            [START, *stamps(50).tolist(), *stamps(50, 5).tolist()]
        )
        found = [m for c, _, m in entries if c.topic == '/izmp']
        assert [[m.point.x, m.point.y, m.point.z] for m in found] == points.tolist()
        heads = [m.header for m in found]
        assert [h.stamp.sec * 10**9 + h.stamp.nanosec for h in heads] == stamps(50).tolist()
        assert {h.frame_id for h in heads} == {'pelvis'}
        qos = {c.topic: c.ext.offered_qos_profiles[0] for c in bag.connections}
        assert qos['/robot_description'].durability == QosDurability.TRANSIENT_LOCAL
        assert qos['/izmp'].durability == QosDurability.VOLATILE
        assert qos['/wrench'].reliability == QosReliability.BEST_EFFORT


def test_metadata_is_what_humble_reads_and_lyrical_still_accepts(tmp_path):
    write_walk(tmp_path / 'out', custom_data={'source': 'walk'})
    text = (tmp_path / 'out' / 'metadata.yaml').read_text()
    information = yaml.load(text, yaml.BaseLoader)['rosbag2_bagfile_information']
    assert information['version'] == '8'
    assert information['relative_file_paths'] == ['out.mcap']
    assert information['custom_data'] == {'fell': 'no', 'source': 'walk'}
    for topic in information['topics_with_message_count']:
        profiles = topic['topic_metadata']['offered_qos_profiles']
        assert isinstance(profiles, str)
        (profile,) = yaml.safe_load(profiles)
        assert all(isinstance(profile[key], int) for key in ('history', 'durability', 'depth'))
    with BagReader(tmp_path / 'out') as bag:
        assert bag.custom_data == {'fell': 'no', 'source': 'walk'}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(st.integers(0, 2**61), max_size=20), min_size=1, max_size=4),
    st.sampled_from(['mcap', 'sqlite3']),
)
def test_what_is_written_is_read(tmp_path_factory, times, storage):
    path = tmp_path_factory.mktemp('any') / 'out'
    with BagWriter(path, storage) as bag:
        for number, received in enumerate(times):
            bag.add_topic(f'/t{number}', 'std_msgs/msg/Float64', {})
            values = np.arange(float(len(received)))
            bag.write_batch(f'/t{number}', np.array(received, np.int64), {'data': values})
    with BagReader(path) as bag:
        for number, received in enumerate(times):
            topic = f'/t{number}'
            batches = [batch[topic] for batch in bag.batches([topic], span_s=1e8)]
            pairs = [
                pair
                for found in batches
                for pair in zip(found.received, found.decode().column('data'), strict=True)
            ]
            assert sorted(pairs) == sorted(zip(received, np.arange(len(received)), strict=True))
            assert bag.topics[topic].count == len(received)
        assert bag.damage is None


# -- complete or not at all -------------------------------------------------------------------


class Stopped(Exception):  # noqa: N818
    """As a handler of SIGTERM raises."""


@STORAGES
@pytest.mark.parametrize('error', [ValueError, KeyboardInterrupt, SystemExit, Stopped])
def test_an_interrupted_bag_leaves_nothing(tmp_path, storage, error):
    with pytest.raises(error), BagWriter(tmp_path / 'deep' / 'out', storage) as bag:
        bag.add_topic('/izmp', POINT, {})
        bag.write_batch('/izmp', stamps(5000))
        bag.flush()
        raise error
    assert list(tmp_path.iterdir()) == []


@STORAGES
def test_an_interrupt_while_the_bag_is_closed_leaves_nothing(tmp_path, storage, monkeypatch):
    def interrupt(*_):
        os.kill(os.getpid(), signal.SIGINT)

    bag = BagWriter(tmp_path / 'out', storage)
    with pytest.raises(KeyboardInterrupt), bag:
        bag.add_topic('/izmp', POINT, {})
        bag.write_batch('/izmp', stamps(50))
        monkeypatch.setattr(bag._place, 'publish', interrupt)
    assert list(tmp_path.iterdir()) == []


def killed_while_writing(path, calls, *options):
    """Run statements on an open `bag` in another process that is then killed; wait for that."""
    program = (
        'import os, signal, sys\n'
        'from izmp_dynamics.bags import writer\n'
        'writer.monotonic = lambda: 0.0  # nothing is flushed because time has passed\n'
        'with writer.BagWriter(sys.argv[1], *sys.argv[2:]) as bag:\n'
        f'    {calls}\n'
        '    os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    command = [sys.executable, '-c', program, str(path), *options]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


def test_what_a_killed_process_left_hinders_no_other(tmp_path):
    killed_while_writing(tmp_path / 'out', "bag.add_topic('/izmp', 'std_msgs/msg/String', {})")
    (remnant,) = tmp_path.iterdir()
    assert remnant.name.startswith('.out.partial-')
    write_walk(tmp_path / 'out')
    with BagReader(tmp_path / 'out') as bag:
        assert '/robot_description' in bag.topics


@STORAGES
def test_a_killed_recorder_loses_only_what_came_after_its_last_flush(tmp_path, storage):
    raw = bytes([0, 1, 0, 0, 2, 0, 0, 0, 65, 0])
    calls = (
        "bag.add_raw_topic('/x', 'std_msgs/msg/String'); "
        f"[bag.write_raw('/x', {START} + k, {raw} + bytes(800_000)) for k in range(5)]; "
        f"bag.flush(); bag.write_raw('/x', {START} + 9, {raw})"
    )
    killed_while_writing(tmp_path / 'out', calls, storage)
    (remnant,) = tmp_path.iterdir()
    before = sorted(remnant.rglob('*'))
    with BagReader(remnant / 'out') as bag:
        received = [message.received for message in bag.messages()]
    assert received == list(range(START, START + 5))
    assert sorted(remnant.rglob('*')) == before


@STORAGES
def test_a_recording_that_fills_the_disk_is_kept_as_far_as_it_came(tmp_path, storage):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    message = bytes([0, 1, 0, 0, 2, 0, 0, 0, 65, 0]) + bytes(400_000)
    try:
        refused = raising(BagError, 'cannot_write')
        with refused as caught, BagWriter(tmp_path / 'out', storage) as bag:
            bag.add_raw_topic('/x', TEXT)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5_000_000, limits[1]))
            for k in range(100):
                bag.write_raw('/x', START + k, message)
                bag.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith('out-recovered-')
    assert caught.value.data['kept'] == kept
    assert str(caught.value).endswith(f"kept as '{kept}', which izmp can read.")
    with BagReader(kept) as found:
        received = [item.received for item in found.messages()]
    assert 3 <= len(received) < 40
    assert received == list(range(START, START + len(received)))


def test_a_recorder_flushes_unasked(tmp_path, monkeypatch):
    monkeypatch.setattr('izmp_dynamics.bags.writer._FLUSH_EVERY', 0.0)
    with BagWriter(tmp_path / 'out', 'sqlite3') as bag:
        bag.add_raw_topic('/x', TEXT)
        bag.write_raw('/x', START, bytes(10))
        with sqlite3.connect(next(tmp_path.rglob('*.db3'))) as database:
            assert database.execute('SELECT COUNT(*) FROM messages').fetchone() == (1,)
        database.close()
    assert [x.name for x in (tmp_path / 'out').iterdir()] == ['out.db3', 'metadata.yaml']
    assert (tmp_path / 'out' / 'out.db3').read_bytes()[18:20] == bytes([1, 1])  # no log needed


def test_a_process_that_is_still_writing_is_not_hindered(tmp_path):
    with raising(BagError, 'place_taken'), BagWriter(tmp_path / 'out') as bag:
        bag.add_topic('/izmp', POINT, {})
        bag.write_batch('/izmp', stamps(3))
        write_walk(tmp_path / 'out')
    with BagReader(tmp_path / 'out') as found:
        assert '/robot_description' in found.topics


@STORAGES
def test_a_bag_is_replaced_only_when_asked_and_only_when_complete(tmp_path, storage):
    path = imu_bag(tmp_path / 'out', 3)
    with raising(BagError, 'place_taken', path=path):
        BagWriter(path, storage)
    with pytest.raises(ValueError, match='stop'), BagWriter(path, storage, overwrite=True):
        raise ValueError('stop')
    with BagReader(path) as bag:
        assert list(bag.topics) == ['/imu']
    write_walk(path, storage, overwrite=True)
    with BagReader(path) as bag:
        assert list(bag.topics) == ['/izmp', '/robot_description', '/wrench']
    assert [x.name for x in tmp_path.iterdir()] == ['out']


@pytest.mark.parametrize('moves', [0, 1, 2])
def test_an_interrupt_while_replacing_keeps_one_whole_bag(tmp_path, monkeypatch, moves):
    path = imu_bag(tmp_path / 'out', 3)
    rename, done = Path.rename, []

    def interrupted(self, target):
        if len(done) == moves:
            done.append('interrupt')
            raise KeyboardInterrupt
        done.append(self)
        return rename(self, target)

    bag = BagWriter(path, overwrite=True)
    with suppress(KeyboardInterrupt), bag:
        bag.add_topic('/izmp', POINT, {})
        bag.write_batch('/izmp', stamps(3))
        monkeypatch.setattr(Path, 'rename', interrupted)
    with BagReader(path) as found:
        assert list(found.topics) == (['/izmp'] if moves == 2 else ['/imu'])
        assert len(list(found.messages())) == 3
    assert [x.name for x in tmp_path.iterdir()] == ['out']


def test_what_is_not_a_bag_is_never_replaced(tmp_path):
    places = {name: tmp_path / name for name in ('file', 'folder', 'report', 'other', 'link')}
    places['file'].touch()
    places['folder'].mkdir()
    imu_bag(places['report'], 3)
    (places['report'] / 'report.html').touch()
    places['other'].mkdir()
    (places['other'] / 'metadata.yaml').write_text('a: b')
    places['link'].symlink_to(places['report'])
    before = sorted(tmp_path.rglob('*'))
    for name, kind, file in (
        ('file', 'not_a_bag_folder', 'file'),
        ('folder', 'no_metadata', 'metadata.yaml'),
        ('report', 'foreign_file', 'report.html'),
        ('other', 'foreign_metadata', 'metadata.yaml'),
        ('link', 'not_a_bag_folder', 'link'),
    ):
        with raising(BagError, kind, path=places[name], name=file):
            BagWriter(places[name], overwrite=True)
    assert sorted(tmp_path.rglob('*')) == before


def test_further_files_come_and_go_with_the_bag(tmp_path):
    def write(text):
        with BagWriter(tmp_path / 'out', overwrite=True) as bag:
            bag.add_topic('/izmp', POINT, {})
            bag.write_batch('/izmp', stamps(3))
            bag.add_file('notes.txt', text)
            bag.add_file('robot.yaml', 'urdf: é')

    write('first')
    write('second')
    assert (tmp_path / 'out' / 'notes.txt').read_text() == 'second'
    assert (tmp_path / 'out' / 'robot.yaml').read_text(encoding='utf-8') == 'urdf: é'
    with BagReader(tmp_path / 'out') as bag:
        assert len(list(bag.messages())) == 3
    (tmp_path / 'out' / 'mine.txt').touch()
    with raising(BagError, 'foreign_file', name='mine.txt'):
        write('third')


# -- what must not be written -----------------------------------------------------------------


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(tmp_path, bad):
    forces = np.zeros((5, 3))
    forces[3, 1] = bad
    for path, values in (('wrench.force', forces), ('wrench.force.y', forces[:, 1])):
        refused = raising(BagError, 'not_finite', topic='/w', field=path, index=3)
        with refused, BagWriter(tmp_path / 'out') as bag:
            bag.add_topic('/w', WRENCH, {})
            bag.write_batch('/w', stamps(5), {path: values})
    assert list(tmp_path.iterdir()) == []


def test_too_large_for_single_precision_is_not_finite(tmp_path):
    refused = raising(BagError, 'not_finite', field='polygon.points')
    with refused, BagWriter(tmp_path / 'out') as bag:
        bag.add_topic('/p', 'geometry_msgs/msg/PolygonStamped', {'polygon.points': 3})
        bag.write_batch('/p', stamps(1), {'polygon.points': np.full((1, 9), 1e300)})


@pytest.mark.parametrize(
    ('error', 'kind', 'use'),
    [
        (BagError, 'topic_exists', lambda b: b.add_topic('/izmp', POINT, {})),
        (BagError, 'unknown_type', lambda b: b.add_topic('/x', 'a/msg/B', {})),
        (UnknownNameError, 'unknown_name', lambda b: b.add_topic('/x', POINT, {'frame': 1})),
        (BagError, 'wrong_type', lambda b: b.add_topic('/x', POINT, {'header.frame_id': 3})),
        (BagError, 'not_finite', lambda b: b.add_topic('/x', POINT, NAN)),
        (UnknownNameError, 'unknown_name', lambda b: b.write_batch('/x', stamps(1))),
        (ShapeError, 'shape', lambda b: b.write_batch('/izmp', [[1]])),
        (BagError, 'wrong_dtype', lambda b: b.write_batch('/izmp', [1.0])),
        (BagError, 'bad_stamp', lambda b: b.write_batch('/izmp', [-1])),
        (BagError, 'bad_stamp', lambda b: b.write_batch('/izmp', [2**62])),
        (ShapeError, 'shape', lambda b: b.write_batch('/izmp', stamps(2), {'point': [[1, 2, 3]]})),
        (BagError, 'not_finite', lambda b: b.write_batch('/izmp', stamps(1), like=NAN)),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, error, kind, use):
    with raising(error, kind), BagWriter(tmp_path / 'out') as bag:
        bag.add_topic('/izmp', POINT, {})
        use(bag)
    assert list(tmp_path.iterdir()) == []


def test_unknown_storages_and_places(tmp_path):
    with raising(UnknownNameError, 'unknown_name') as caught:
        BagWriter(tmp_path / 'out', 'csv')
    assert caught.value.valid == ('mcap', 'sqlite3')
    with raising(BagError, 'bad_path', path=tmp_path / 'a#b'):
        BagWriter(tmp_path / 'a#b', 'sqlite3')


# ---- The mcap files that are written by the batch: byte by byte those of rosbags ----------------


TOPICS = (('/imu', 'sensor_msgs/msg/Imu'), ('/a', 'std_msgs/msg/String'),
          ('/b', 'std_msgs/msg/String'))  # fmt: skip

MESSAGES = st.lists(
    st.tuples(
        st.integers(0, len(TOPICS) - 1),
        st.integers(0, 10**9),
        st.sampled_from([0, 1, 330, 70_000, CHUNK_SIZE]),
    ),
    max_size=60,
)


def written(writer, folder, messages, batched):
    """Content of the mcap file with these messages."""
    with writer(folder / 'bag', version=8, storage_plugin=StoragePlugin.MCAP) as bag:
        connections = [
            bag.add_connection(topic, msgtype, typestore=standard_types())
            for topic, msgtype in TOPICS
        ]
        if batched:
            put_at_once(bag, connections, messages)
        else:
            for place, stamp, size in messages:
                bag.write(connections[place], START + stamp, content(size))
    data = (folder / 'bag' / 'bag.mcap').read_bytes()
    (folder / 'bag' / 'metadata.yaml').unlink()
    (folder / 'bag' / 'bag.mcap').unlink()
    (folder / 'bag').rmdir()
    return data


def put_at_once(bag, connections, messages):
    stamps = [START + stamp for _, stamp, _ in messages]
    channels = np.array([connections[place].id for place, _, _ in messages], np.uint16)
    raws = Raws.of([content(size) for _, _, size in messages])
    write_messages(bag, channels, np.array(stamps, np.int64), [raws[:1], raws[1:]])


def content(size):
    return bytes(range(256)) * (size // 256 + 1)


@settings(max_examples=40)
@given(MESSAGES.filter(bool))
def test_the_file_is_that_of_rosbags(tmp_path_factory, messages):
    folder = tmp_path_factory.mktemp('mcap')
    in_order = sorted(messages, key=lambda message: message[1])
    assert written(BatchWriter, folder, messages, batched=False) == written(
        Writer, folder, messages, batched=False
    )
    assert written(BatchWriter, folder, messages, batched=True) == written(
        Writer, folder, in_order, batched=False
    )


def test_without_messages_the_times_are_zero_as_the_format_wants(tmp_path):
    reader = need('mcap.reader')
    written_bytes = written(BatchWriter, tmp_path, [], batched=False)
    (tmp_path / 'empty.mcap').write_bytes(written_bytes)
    with (tmp_path / 'empty.mcap').open('rb') as file:
        summary = reader.make_reader(file, validate_crcs=True).get_summary()
    assert summary.statistics.message_count == 0
    assert summary.statistics.message_start_time == summary.statistics.message_end_time == 0
    assert {channel.topic for channel in summary.channels.values()} == {t for t, _ in TOPICS}
