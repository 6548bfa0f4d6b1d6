"""Reading bags: whatever a recorder wrote, whatever has happened to it since."""

import errno
import os
import sqlite3
import sys
import tracemalloc
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.errors import BagError, MissingDependencyError, UnknownNameError
from izmp_dynamics.files.libraries import library

from .raising import raising
from .sample_bags import (
    START,
    change_metadata,
    imu_bag,
    imu_raws,
    raw_of,
    storage_file,
    write_bag,
    write_mcap,
    write_old_sqlite,
)

IMU = 'sensor_msgs/msg/Imu'
POINT = 'geometry_msgs/msg/PointStamped'
TEXT = 'std_msgs/msg/String'

FUZZ = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def everything(path):
    """(topic, stamp, bytes) of all messages, and the damage known after reading them."""
    with BagReader(path) as bag:
        found = [(m.topic, m.received, m.raw) for m in bag.messages()]
        return found, bag.damage


def logs(count=300):
    """Two topics, the second at half the rate."""
    stamps, raws = imu_raws(count)
    points = [raw_of(POINT, {'point.x': float(i)}) for i in range(count // 2)]
    return [('/imu', IMU, stamps, raws), ('/gps', POINT, stamps[1::2], points)]


def expected(entries):
    """What `everything` finds when nothing is lost: in time order, equal stamps in file order."""
    flat = [
        (topic, s, r)
        for topic, _, stamps, raws in entries
        for s, r in zip(stamps, raws, strict=True)
    ]
    return sorted(flat, key=lambda entry: entry[1])


UNREPEATED = {'repeat_channels': False, 'repeat_schemas': False, 'use_summary_offsets': False}


# -- whole bags -------------------------------------------------------------------------------


@pytest.mark.parametrize('version', [8, 9, 12])
@pytest.mark.parametrize(
    ('storage', 'mode'),
    [*product(['mcap', 'sqlite3'], ['NONE', 'FILE', 'MESSAGE']), ('mcap', 'STORAGE')],
)
def test_reads_every_kind_of_bag(tmp_path, storage, mode, version):
    path = write_bag(tmp_path / 'bag', logs(), storage, min(version, 9), mode)
    change_metadata(path, lambda info: info.update(version=version, new='thing'))
    found, damage = everything(path)
    assert found == expected(logs())
    assert damage is None
    assert everything(storage_file(path)) == (found, None)
    assert everything(path / 'metadata.yaml') == (found, None)
    with BagReader(path) as bag:
        assert (bag.storage, bag.start, bag.end) == (storage, START, START + 299 * 2_000_000)
        assert {t.name: (t.msgtype, t.count) for t in bag.topics.values()} == {
            '/imu': (IMU, 300),
            '/gps': (POINT, 150),
        }
        assert bag.notes == ()


@pytest.mark.parametrize(
    'options',
    [
        {'compression': CompressionType.ZSTD},
        {'compression': CompressionType.LZ4},
        {'compression': CompressionType.NONE, 'enable_data_crcs': True},
        {'use_chunking': False},
        {'use_chunking': False, 'enable_data_crcs': True},
        {'index_types': IndexType.NONE},
        {'index_types': IndexType.CHUNK},
        {'use_statistics': False},
        UNREPEATED,
        UNREPEATED | {'use_statistics': False, 'index_types': IndexType.NONE},
    ],
    ids=str,
)
def test_reads_every_kind_of_mcap(tmp_path, options):
    path = write_mcap(tmp_path / 'x.mcap', logs(), **options)
    assert everything(path) == (expected(logs()), None)


@pytest.mark.parametrize(('schema', 'version'), [(1, 1), (1, 2), (1, 3), (2, 4), (3, 5)])
def test_reads_databases_of_older_recorders(tmp_path, schema, version):
    path = write_old_sqlite(tmp_path / 'old', schema, version, logs())
    assert everything(path) == (expected(logs()), None)


def test_a_split_bag_is_one_log(tmp_path):
    """Files of a split bag overlap a little in time."""
    (topic, msgtype, stamps, raws), *_ = logs()
    folder = tmp_path / 'bag'
    folder.mkdir()
    for number, part in enumerate((slice(0, 110), slice(190, 300), slice(110, 190))):
        write_mcap(folder / f'bag_{number}.mcap', [(topic, msgtype, stamps[part], raws[part])])
    assert everything(folder) == (expected([(topic, msgtype, stamps, raws)]), None)


def test_chunks_in_any_order(tmp_path):
    stamps, raws = imu_raws(300)
    order = np.random.default_rng(0).permutation(10).repeat(30) * 30 + np.tile(np.arange(30), 10)
    shuffled = [('/imu', IMU, [stamps[i] for i in order], [raws[i] for i in order])]
    for name, options in (('a', {}), ('b', {'index_types': IndexType.NONE})):
        path = write_mcap(tmp_path / f'{name}.mcap', shuffled, **options)
        assert everything(path) == (expected([('/imu', IMU, stamps, raws)]), None)


def test_an_empty_bag_holds_nothing(tmp_path):
    for storage in ('mcap', 'sqlite3'):
        path = write_bag(tmp_path / storage, [('/imu', IMU, [], [])], storage)
        with BagReader(path) as bag:
            assert (bag.start, bag.end, bag.topics['/imu'].count) == (None, None, 0)
            assert list(bag.batches(['/imu'])) == []
            assert bag.damage is None


# -- spans ------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 3 * 10**9), st.booleans()), min_size=1, max_size=60),
    st.floats(0.001, 10),
    st.sampled_from(['mcap', 'sqlite3', 'scan']),
)
def test_every_message_is_in_exactly_one_span(tmp_path_factory, entries, span_s, kind):
    """Unordered, duplicate and far apart stamps, over two topics."""
    raw = raw_of(TEXT)
    split = [
        (topic, TEXT, [s for s, first in entries if first == flag], [])
        for topic, flag in (('/a', True), ('/b', False))
    ]
    split = [(topic, kind_, s, [raw] * len(s)) for topic, kind_, s, _ in split]
    folder = tmp_path_factory.mktemp('spans')
    if kind == 'scan':
        path = write_mcap(folder / 'x.mcap', split, chunk_size=200, index_types=IndexType.NONE)
    else:
        path = write_bag(folder / 'x', split, kind)
    with BagReader(path) as bag:
        batches = list(bag.batches(['/b', '/a'], span_s))
    for topic, _, stamps, _ in split:
        received = [batch[topic].received for batch in batches]
        assert np.concatenate(received).tolist() == sorted(stamps)
        for batch, inside in zip(batches, received, strict=True):
            assert batch.end - batch.start == max(1, round(span_s * 1e9))
            assert ((inside >= batch.start) & (inside < batch.end)).all()
    assert all(len(batch['/a']) + len(batch['/b']) for batch in batches)
    ends = [batch.end for batch in batches]
    assert ends == sorted(set(ends))


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_memory_does_not_grow_with_the_length_of_the_log(tmp_path, storage):
    path = imu_bag(tmp_path / 'bag', 20_000, storage=storage)
    size = storage_file(path).stat().st_size
    tracemalloc.start()
    with BagReader(path) as bag:
        for batch in bag.batches(['/imu'], span_s=1.0):
            batch['/imu'].decode().column('angular_velocity')
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size


def test_topics_that_were_not_asked_for_do_not_appear(tmp_path):
    path = write_bag(tmp_path / 'bag', logs())
    with BagReader(path) as bag:
        assert {name for batch in bag.batches(['/gps']) for name in batch.topics} == {'/gps'}
        with raising(UnknownNameError, 'unknown_name') as caught:
            next(bag.batches(['/imU']))
        assert (caught.value.name, caught.value.valid) == ('/imU', ('/gps', '/imu'))


# -- metadata and files -----------------------------------------------------------------------


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize('text', [None, '', '{', 'a: b', '\0', 'rosbag2_bagfile_information: 3'])
def test_without_usable_metadata_the_storage_is_read(tmp_path, storage, text):
    path = write_bag(tmp_path / 'bag', logs(), storage)
    (path / 'metadata.yaml').unlink()
    if text is not None:
        (path / 'metadata.yaml').write_text(text)
    assert everything(path) == (expected(logs()), None)
    with BagReader(path) as bag:
        assert 'metadata.yaml' in bag.notes[0]
        assert bag.topics['/gps'].count == 150


@pytest.mark.parametrize('there', [False, True])
def test_a_missing_or_unreadable_part_of_a_split_bag_is_damage(tmp_path, there):
    path = write_bag(tmp_path / 'bag', logs())
    if there:
        (path / 'bag_1.mcap').write_bytes(b'')
        (path / 'metadata.yaml').unlink()
    else:
        change_metadata(path, lambda info: info['relative_file_paths'].append('bag_1.mcap'))
    found, damage = everything(path)
    assert found == expected(logs())
    assert 'bag_1.mcap' in damage


def nested(folder):
    imu_bag(folder / 'day' / 'walk')
    return folder / 'day'


def without_its_file(folder):
    storage_file(path := imu_bag(folder / 'bag')).unlink()
    return path


def pipe(folder):
    os.mkfifo(folder / 'pipe.mcap')
    return folder / 'pipe.mcap'


def other_database(folder):
    database = sqlite3.connect(folder / 'x.db3')
    database.execute('CREATE TABLE t(a)')
    database.close()
    return folder / 'x.db3'


def holding(name, data, inside=True):
    """Makes a file in a folder; gives its path, or that of the folder."""

    def make(folder):
        (folder / name).write_bytes(data)
        return folder / name if inside else folder

    return make


ROS1 = b'#ROSBAG V2.0\n' + bytes(100)


@pytest.mark.parametrize(
    ('make', 'kind', 'data'),
    [
        (lambda folder: folder / 'nothing', 'no_bag', {}),
        (lambda folder: folder, 'no_bag', {'similar': []}),
        (nested, 'no_bag', {'similar': ['walk']}),
        (holding('notes.txt', b'not a bag'), 'not_a_bag', {}),
        (holding('empty.mcap', b''), 'empty_file', {}),
        (holding('walk.bag', ROS1), 'ros1_bag', {}),
        (holding('walk.bag', ROS1, inside=False), 'ros1_bag', {}),
        (without_its_file, 'files_missing', {'files': ('bag.mcap',)}),
        (other_database, 'not_rosbag2', {}),
        (pipe, 'not_a_regular_file', {}),
        (holding('x.mcap.zstd', b'\x28\xb5\x2f\xfd' + bytes(40)), 'cannot_decompress', {}),
        (holding('metadata.yaml', b'a: [', inside=False), 'bad_metadata', {'cause': 'not_yaml'}),
    ],
)
def test_what_is_no_bag_is_refused(tmp_path, make, kind, data):
    with raising(BagError, kind, **data) as caught:
        BagReader(make(tmp_path))
    assert tmp_path in (caught.value.data['path'], *caught.value.data['path'].parents)


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    path = storage_file(imu_bag(tmp_path / 'bag'))

    def refuse(*_, **__):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(Path, 'open', refuse)
    with raising(BagError, 'unreadable', path=path, errno=errno.EACCES):
        BagReader(path)


def test_names_that_are_special_in_a_url(tmp_path):
    path = write_bag(tmp_path / 'bag', logs(), 'sqlite3').rename(tmp_path / 'a#b?c=d%20e')
    storage_file(path).rename(path / '%.db3')
    assert everything(path) == (expected(logs()), None)


@pytest.mark.parametrize('suffix', ['-wal', '-journal'])
def test_a_log_of_changes_beside_a_database_is_noted(tmp_path, suffix):
    path = write_bag(tmp_path / 'bag', logs(), 'sqlite3')
    log = path / f'bag.db3{suffix}'
    log.write_bytes(b'x')
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    assert everything(path) == (expected(logs()), None)
    with BagReader(path) as bag:
        assert log.name in bag.notes[0]
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    path = imu_bag(tmp_path / 'bag')
    standard_types.cache_clear()
    monkeypatch.setitem(sys.modules, 'rosbags.typesys', None)
    with raising(MissingDependencyError, 'missing_dependency') as caught:
        BagReader(path)
    assert caught.value.library == 'rosbags'
    assert caught.value.remedy == 'pip install rosbags'
    (tmp_path / 'broken.py').write_text("raise ImportError('libGL.so.1: cannot open it')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingDependencyError, match=r"library 'broken'.*libGL\.so\.1"):
        library('broken', 'Drawing')


# -- types ------------------------------------------------------------------------------------


def test_unknown_types_elsewhere_do_not_matter(tmp_path):
    strange = ('/odd', TEXT, [START], [raw_of(TEXT)])
    path = write_bag(tmp_path / 'bag', [strange], msgdef='int32 x', rihs01='RIHS01_0')
    for file in (path, write_mcap(tmp_path / 'x.mcap', [*logs(), strange])):
        with BagReader(file) as bag:
            assert '/odd' in bag.topics
    path = write_old_sqlite(tmp_path / 'old', 2, 4, [*logs(), ('/odd', 'my/msg/Odd', [1], [b'x'])])
    with BagReader(path) as bag:
        assert sum(len(batch['/imu']) for batch in bag.batches(['/imu'])) == 300
        with raising(BagError, 'unknown_type', topic='/odd', msgtype='my/msg/Odd'):
            next(bag.batches(['/odd']))


def test_the_definition_in_the_bag_counts(tmp_path):
    """A recorder's own type, in the two languages in which definitions are embedded."""
    raw = raw_of('std_msgs/msg/Float64', {'data': 2.5})
    idl = 'module my { module msg { struct Own { double height; }; }; };'
    for number, definition in enumerate(('float64 height', idl)):
        writer_path = tmp_path / f'{number}'
        encoding = {'msgdef': definition, 'rihs01': ' '}
        path = write_bag(writer_path, [('/own', 'my/msg/Own', [START], [raw])], **encoding)
        if definition == idl:
            file = storage_file(path)
            file.write_bytes(file.read_bytes().replace(b'ros2msg', b'ros2idl'))
        with BagReader(path) as bag:
            (batch,) = bag.batches(['/own'])
            assert batch['/own'].decode().column('height').tolist() == [2.5]


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@pytest.mark.parametrize(
    ('definition', 'type_hash', 'kind'),
    [
        ('int32 x', 'RIHS01_' + '0' * 64, 'type_hash_mismatch'),
        ('int32', 'RIHS01_' + '0' * 64, 'broken_definition'),
    ],
)
def test_a_definition_that_contradicts_its_hash_is_refused(
    tmp_path, storage, definition, type_hash, kind
):
    log = [('/t', TEXT, [START], [raw_of(TEXT)])]
    path = write_bag(tmp_path / 'bag', log, storage, msgdef=definition, rihs01=type_hash)
    with BagReader(path) as bag, raising(BagError, kind, topic='/t', msgtype=TEXT):
        next(bag.batches(['/t']))


def test_a_broken_definition_of_a_standard_type_is_replaced(tmp_path):
    log = [('/t', TEXT, [START], [raw_of(TEXT, {'data': 'hi'})])]
    path = write_bag(tmp_path / 'bag', log, msgdef='int32', rihs01='unknown')
    with BagReader(path) as bag:
        (batch,) = bag.batches(['/t'])
        assert batch['/t'].decode().texts('data') == ('hi',)
        assert TEXT in bag.notes[0]


def test_another_definition_of_a_standard_type_is_noted(tmp_path):
    raw = raw_of('std_msgs/msg/Float64', {'data': 2.5})
    path = write_bag(
        tmp_path / 'bag', [('/t', TEXT, [START], [raw])], msgdef='float64 x', rihs01=' '
    )
    with BagReader(path) as bag:
        (batch,) = bag.batches(['/t'])
        assert batch['/t'].decode().column('x').tolist() == [2.5]
        assert TEXT in bag.notes[0]


def test_other_serializations_are_refused(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / 'x.mcap').open('wb') as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema('foo', 'flatbuffer', b'{}')
        channel = writer.register_channel('/other', 'flatbuffer', schema)
        writer.add_message(channel, START, b'{}', START)
        writer.finish()
    with BagReader(tmp_path / 'x.mcap') as bag:
        with raising(BagError, 'unsupported_encoding', topic='/other', encoding='flatbuffer'):
            next(bag.batches(['/other']))
        assert [m.raw for m in bag.messages()] == [b'{}']


# -- damage -----------------------------------------------------------------------------------

SAMPLES = {
    'checked': {},
    'lz4': {'compression': CompressionType.LZ4},
    'plain': {'compression': CompressionType.NONE},
    'loose': {'use_chunking': False, 'enable_data_crcs': True},
}


class Sample:
    """A good file; its repr is short, for hypothesis prints it."""

    def __init__(self, path):
        self.path = path
        self.data = path.read_bytes()
        self.whole, damage = everything(path)
        assert damage is None

    def corrupted(self, folder, data):
        copy = folder / self.path.name
        copy.write_bytes(data)
        return copy

    def safe(self, size):
        """Number of messages that a cut after `size` bytes must not touch."""
        if self.path.suffix == '.mcap':
            with self.path.open('rb') as stream:
                chunks = make_reader(stream).get_summary().chunk_indexes
            ends = [
                c.message_end_time for c in chunks if c.chunk_start_offset + c.chunk_length <= size
            ]
            return sum(stamp <= max(ends, default=0) for _, stamp, _ in self.whole)
        return 0

    def __repr__(self):
        return f'Sample({self.path.name})'


@pytest.fixture(scope='module')
def samples(tmp_path_factory):
    """Name → sample."""
    folder = tmp_path_factory.mktemp('samples')
    log, long_log = [('/imu', IMU, *imu_raws(450))], [('/imu', IMU, *imu_raws(1800))]
    files = {n: write_mcap(folder / f'{n}.mcap', log, **o) for n, o in SAMPLES.items()}
    files['rosbags'] = storage_file(write_bag(folder / 'rosbags', log))
    files['sqlite3'] = storage_file(write_bag(folder / 'sqlite3', long_log, 'sqlite3'))
    files['packed'] = storage_file(write_bag(folder / 'packed', log, 'mcap', mode='FILE'))
    return {name: Sample(path) for name, path in files.items()}


def read_damaged(path):
    """What `everything` finds; None instead of messages when the bag cannot be opened."""
    try:
        return everything(path)
    except BagError as error:
        return None, str(error)


@pytest.mark.parametrize('name', [*SAMPLES, 'rosbags', 'sqlite3', 'packed'])
@FUZZ
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_cut_bag_is_read_up_to_the_cut(tmp_path, samples, name, share):
    sample = samples[name]
    size = int(share * len(sample.data))
    found, damage = read_damaged(sample.corrupted(tmp_path, sample.data[:size]))
    assert damage or found == sample.whole
    if found is None:
        assert sample.safe(size) == 0
    else:
        assert found == sample.whole[: len(found)]
        assert len(found) >= sample.safe(size)


@pytest.mark.parametrize('name', ['plain', 'loose', 'rosbags'])
def test_a_cut_says_where_and_when(tmp_path, samples, name):
    sample = samples[name]
    size = len(sample.data) // 2
    found, damage = everything(sample.corrupted(tmp_path, sample.data[:size]))
    elapsed = (found[-1][1] - START) / 1e9
    assert f'of {len(sample.data)}' in damage or f'byte {size}' in damage
    assert f'read up to {elapsed:.3f} s after the start' in damage
    assert 0.4 < len(found) / len(sample.whole) < 0.6


@pytest.mark.parametrize('size', [50_000, -5])
def test_a_cut_database_names_what_may_recover_it(tmp_path, samples, size):
    cut = samples['sqlite3'].corrupted(tmp_path, samples['sqlite3'].data[:size])
    with raising(BagError, 'not_rosbag2', path=cut) as caught:
        BagReader(cut)
    assert '.recover' in str(caught.value)


@pytest.mark.parametrize('name', ['checked', 'lz4', 'plain', 'loose'])
@FUZZ
@given(place=st.integers(0, 10**9), change=st.integers(1, 255))
def test_no_wrong_message_passes_a_checksum(tmp_path, samples, name, place, change):
    sample = samples[name]
    corrupted = bytearray(sample.data)
    corrupted[place % len(corrupted)] ^= change
    found, damage = read_damaged(sample.corrupted(tmp_path, corrupted))
    if damage is None:
        assert found == sample.whole
    elif found is not None and name != 'loose':  # its checksum is over everything at once
        assert set(found) <= set(sample.whole)


@pytest.mark.parametrize('name', ['rosbags', 'sqlite3', 'packed', 'checked'])
@FUZZ
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**9), st.binary(min_size=1, max_size=9))),
    cut=st.none() | st.integers(0, 10**9),
)
def test_noise_in_a_bag_never_ends_in_a_traceback(tmp_path, samples, name, changes, cut):
    corrupted = bytearray(samples[name].data)
    for place, noise in changes:
        at = place % len(corrupted)
        corrupted[at : at + len(noise)] = noise
    if cut is not None:
        del corrupted[cut % len(corrupted) :]
    copy = samples[name].corrupted(tmp_path, corrupted)
    with suppress(BagError), BagReader(copy) as bag:
        for topic in bag.topics:
            with suppress(BagError):
                for batch in bag.batches([topic], 0.05):
                    batch[topic].decode()


@FUZZ
@given(text=st.text() | st.binary().map(lambda b: b.decode('latin1')), key=st.booleans())
def test_any_metadata_is_survived(tmp_path_factory, text, key):
    path = imu_bag(tmp_path_factory.mktemp('meta') / 'bag', 3)
    head = 'rosbag2_bagfile_information:\n  ' if key else ''
    (path / 'metadata.yaml').write_text(head + text, 'utf-8', errors='replace')
    assert len(everything(path)[0]) == 3
