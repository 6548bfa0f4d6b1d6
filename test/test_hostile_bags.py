"""Contrived bags: small files that would fill the memory or keep a computer busy for hours."""

import os
import sqlite3
import struct
import time
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mcap.data_stream import RecordBuilder
from mcap.reader import make_reader
from mcap.records import Footer
from mcap.writer import CompressionType, Writer

from izmp_dynamics.bags import storage
from izmp_dynamics.bags.mcap_file import McapFile
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.reader import BagReader, Merger
from izmp_dynamics.bags.sqlite_file import _blocks
from izmp_dynamics.bags.storage import FOREVER, Block
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.base.errors import BagError, ModelError, RobotFileError
from izmp_dynamics.files.libraries import zstandard
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.model.urdf import read_urdf

from .raising import raising
from .sample_bags import START, imu_bag, imu_raws, raw_of, storage_file, write_bag, write_mcap

TEXT = 'std_msgs/msg/String'
RECORD = struct.Struct('<BQ')


@contextmanager
def within(seconds):
    """The block takes a second of computing time; without a bound on the work, many minutes."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def text_log(length, count=1):
    """Messages with a text of one letter, which compress well."""
    raws = [raw_of(TEXT, {'data': 'a' * length})] * count
    return [('/text', TEXT, list(range(START, START + count)), raws)]


def read(path):
    """Stamps of all messages, and the damage."""
    with BagReader(path) as bag:
        return [message.received for message in bag.messages()], bag.damage or ''


# -- decompression ----------------------------------------------------------------------------


@pytest.fixture
def small_allowance(monkeypatch):
    """Few bytes may be decompressed whatever their ratio is."""
    monkeypatch.setattr(storage, 'ALLOWANCE', 2**16)


@pytest.mark.usefixtures('small_allowance')
@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_a_file_that_grows_beyond_all_measure_is_refused(tmp_path, storage):
    path = storage_file(write_bag(tmp_path / 'bag', text_log(3_000_000), storage, mode='FILE'))
    with raising(BagError, 'decompression_bomb', path=path):
        BagReader(path)


@pytest.mark.usefixtures('small_allowance')
def test_a_message_that_grows_beyond_all_measure_is_left_out(tmp_path):
    log = text_log(3_000_000)
    log[0][2].append(START + 1)
    log[0][3].append(raw_of(TEXT, {'data': 'sound'}))
    path = write_bag(tmp_path / 'bag', log, mode='MESSAGE')
    with BagReader(path) as bag:
        (batch,) = bag.batches(['/text'])
        decoded = batch['/text'].decode()
        assert (decoded.broken, decoded.texts('data')) == (1, ('sound',))
        assert '/text' in bag.damage


@pytest.mark.usefixtures('small_allowance')
@pytest.mark.parametrize('kind', [CompressionType.ZSTD, CompressionType.LZ4])
@pytest.mark.parametrize('cut', [0, 1])
def test_a_chunk_that_grows_beyond_all_measure_is_left_out(tmp_path, kind, cut):
    log = [*text_log(3_000_000), ('/sound', TEXT, [START + 1], [raw_of(TEXT)])]
    path = write_mcap(tmp_path / 'x.mcap', log, compression=kind)
    path.write_bytes(path.read_bytes()[: -cut or None])  # without its end it has no index
    received, damage = read(path)
    assert received == [START + 1]
    assert 'x.mcap' in damage


def test_many_chunks_are_measured_together(monkeypatch):
    counted = storage.Expansion()
    monkeypatch.setattr(storage, 'ALLOWANCE', 1000)
    for _ in range(4):
        counted.add(1, 250)
    with raising(BagError, 'decompression_bomb'):
        counted.add(1, 250)
    counted.add(100, 1000)  # what is not compressed makes room


def test_what_robots_record_is_far_below_the_limit(tmp_path):
    raws = [raw_of('sensor_msgs/msg/Imu')] * 2000  # a robot that is switched off
    log = [('/imu', 'sensor_msgs/msg/Imu', list(range(START, START + 2000)), raws)]
    path = storage_file(write_bag(tmp_path / 'bag', log, mode='FILE'))
    packed = len(zstandard().decompress(path.read_bytes())) / path.stat().st_size
    assert packed < storage.RATIO / 2


def test_a_full_temporary_folder_is_named(tmp_path, monkeypatch):
    path = storage_file(write_bag(tmp_path / 'bag', text_log(10), mode='FILE'))
    monkeypatch.setattr('tempfile.gettempdir', lambda: str(tmp_path / 'missing'))
    with raising(BagError, 'temporary_folder', path=tmp_path / 'missing'):
        BagReader(path)
    plain = imu_bag(tmp_path / 'plain', 3)  # what is not compressed needs none
    assert len(read(plain)[0]) == 3


def test_nothing_stays_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr('tempfile.gettempdir', lambda: str(tmp_path))
    path = storage_file(write_bag(tmp_path / 'bag', text_log(10), mode='FILE'))
    with BagReader(path), BagReader(path):
        assert len(list(tmp_path.glob('izmp_bag_*'))) == 2
    assert [x.name for x in tmp_path.iterdir()] == ['bag']


# -- files that are none ----------------------------------------------------------------------


@pytest.mark.parametrize('name', ['metadata.yaml', 'bag.mcap', 'bag.db3-wal'])
def test_pipes_in_a_bag_are_not_read(tmp_path, name):
    path = imu_bag(tmp_path / 'bag', 3, storage='sqlite3' if 'wal' in name else 'mcap')
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    if name == 'bag.mcap':
        with raising(BagError, 'files_missing'):
            BagReader(path)
    else:
        assert len(read(path)[0]) == 3
    if name == 'metadata.yaml':
        with raising(BagError, 'no_metadata'):
            BagWriter(path, overwrite=True)


@pytest.mark.parametrize('device', ['pipe', '/dev/zero'])
def test_models_are_read_from_regular_files_only(tmp_path, device):
    path = Path(tmp_path / device)
    if device == 'pipe':
        os.mkfifo(path)
    with pytest.raises(ModelError) as caught:
        read_urdf(path)
    assert str(path) in str(caught.value)
    with pytest.raises(RobotFileError) as caught:
        load_robot_file(path)
    assert str(path) in str(caught.value)


# -- metadata ---------------------------------------------------------------------------------


def test_aliases_in_the_metadata_are_not_written_out(tmp_path):
    path = imu_bag(tmp_path / 'bag', 3)
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    lines += [f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 10)}]' for k in range(1, 6)]
    head = 'rosbag2_bagfile_information:\n  storage_identifier: *a5\n  relative_file_paths: []\n'
    (path / 'metadata.yaml').write_text('\n'.join(lines) + '\n' + head)
    with BagReader(path) as bag:
        assert len(list(bag.messages())) == 3
        assert len(bag.notes) == 1
        assert len(bag.notes[0]) < 1000


@pytest.mark.parametrize('opened', ['[', '{', '- '])
def test_metadata_that_are_nested_too_deeply_are_not_composed(tmp_path, opened):
    path = imu_bag(tmp_path / 'bag', 3)
    (path / 'metadata.yaml').write_text('rosbag2_bagfile_information:\n ' + opened * 100_000)
    with BagReader(path) as bag:
        assert len(list(bag.messages())) == 3
        assert 'nested more than 100 levels deep' in bag.notes[0]


@pytest.mark.parametrize('odd', ['files: [1, {a: b}]', 'files: {a: b}', 'files:', '[a]: b', '1'])
def test_a_bag_with_odd_custom_data_can_be_replaced(tmp_path, odd):
    path = imu_bag(tmp_path / 'bag', 3)
    text = (path / 'metadata.yaml').read_text()
    assert 'custom_data: null' in text
    (path / 'metadata.yaml').write_text(
        text.replace('custom_data: null', f'custom_data: {{{odd}}}' if ':' in odd else odd)
    )
    with BagWriter(path, overwrite=True) as bag:
        bag.add_topic('/text', TEXT, {})
    with BagReader(path) as bag:
        assert list(bag.topics) == ['/text']


# -- sqlite3 ----------------------------------------------------------------------------------


def database(path, messages):
    """A database with one topic; `messages` is the SQL that makes the messages."""
    connection = sqlite3.connect(path)
    connection.executescript(
        'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT,'
        'serialization_format TEXT, offered_qos_profiles TEXT);'
        f"INSERT INTO topics VALUES(1, '/text', '{TEXT}', 'cdr', '');" + messages
    )
    connection.commit()
    connection.close()
    return path


ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT'


@pytest.mark.parametrize(
    'messages',
    [
        f'CREATE VIEW messages AS {ENDLESS} i AS id, 1 AS topic_id, i AS timestamp, i AS data '
        'FROM n;',
        'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,'
        'data BLOB GENERATED ALWAYS AS (zeroblob(900000000)));',
        'CREATE TABLE t(a);',
    ],
    ids=['view', 'computed column', 'absent'],
)
def test_messages_that_are_no_table_are_refused(tmp_path, messages):
    path = database(tmp_path / 'x.db3', messages)
    with raising(BagError, 'not_rosbag2', path=path):
        BagReader(path)


def test_a_query_that_takes_longer_than_its_file_explains_is_ended(tmp_path, monkeypatch):
    path = imu_bag(tmp_path / 'bag', 3000, storage='sqlite3')
    monkeypatch.setattr('izmp_dynamics.bags.sqlite_file._STEPS', 100)
    monkeypatch.setattr('izmp_dynamics.bags.sqlite_file._LEAST_STEPS', 10_000)
    monkeypatch.setattr('izmp_dynamics.bags.sqlite_file._STEPS_PER_BYTE', 0)
    received, damage = read(path)
    assert len(received) < 3000
    assert 'bag.db3' in damage


def test_rows_that_need_more_space_than_the_file_has():
    """As a tree gives them whose branches lead to the same leaves."""
    rows = [(1, START, bytes(92))] * 40
    assert [len(block) for block in _blocks(iter(rows), 4000)] == [40]
    with pytest.raises(sqlite3.DatabaseError):
        list(_blocks(iter(rows), 3999))


# -- mcap -------------------------------------------------------------------------------------


def test_a_chunk_that_the_index_names_twice(tmp_path):
    """The index is not used; the file is read from its beginning."""
    path = write_mcap(tmp_path / 'x.mcap', [('/imu', 'sensor_msgs/msg/Imu', *imu_raws(40))])
    with path.open('rb') as stream:
        found = make_reader(stream).get_summary()
    found.statistics.chunk_count += 1
    indices = [found.chunk_indexes[0], *found.chunk_indexes]
    builder, data = RecordBuilder(), path.read_bytes()
    begin = int.from_bytes(data[-28:-20], 'little')
    for record in (*found.schemas.values(), *found.channels.values(), *indices, found.statistics):
        record.write(builder)
    Footer(summary_start=begin, summary_offset_start=0, summary_crc=0).write(builder)
    summary = builder.end()[:-4]
    path.write_bytes(data[:begin] + summary + struct.pack('<I', zlib.crc32(summary)) + data[-8:])
    file = McapFile(path)
    assert (bool(file.damages), sum(file.counts.values())) == (True, 40)
    file.close()


def test_tiny_records_between_tiny_chunks_are_read_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr('izmp_dynamics.bags.mcap_file._WINDOW', 2**24)
    tiny = b''.join(
        RECORD.pack(opcode, n) + bytes(n) for opcode, n in ((0x90, 0), (5, 22), (6, 40))
    )
    (tmp_path / 'x.mcap').write_bytes(b'\x89MCAP0\r\n' + tiny * 30_000)
    with within(15.0):
        McapFile(tmp_path / 'x.mcap').close()


def test_a_bag_of_countless_topics_is_opened_in_time(tmp_path):
    with (tmp_path / 'x.mcap').open('wb') as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema(TEXT, 'ros2msg', b'string data')
        for k in range(20_000):
            writer.register_channel(f'/topic{k}', 'cdr', schema)
        writer.finish()
    with within(60.0), BagReader(tmp_path / 'x.mcap') as bag:
        assert len(bag.topics) == 20_000


# -- spans ------------------------------------------------------------------------------------


class Blocks:
    """A container with blocks that are given."""

    path = Path('blocks')
    start = 0

    def __init__(self, blocks):
        self._blocks = blocks
        self.damages = []

    def blocks(self, wanted):
        """All blocks."""
        return iter(self._blocks)


def spans(blocks, span):
    """Number of messages in every span."""
    merger = Merger([(Blocks(blocks), {1: '/a'})])
    return [len(parts['/a'][0]) for _, _, parts in merger.spans(span)]


def test_an_index_that_promises_early_messages_is_read_in_time():
    count = 20_000
    blocks = [Block({1: (np.array([count - k]), Raws.of([b'']))}, 0) for k in range(count)]
    with within(60.0):
        assert sum(spans(blocks, 5)) == count


def test_a_chunk_of_many_spans_is_read_in_time():
    count = 50_000
    block = Block({1: (10 * np.arange(count), Raws.of([b''] * count))}, FOREVER)
    with within(15.0):
        assert spans([block], 5) == [1] * count
