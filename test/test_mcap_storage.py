"""The mcap files that are written by the batch: byte by byte those of rosbags."""

from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer

from izmp_dynamics.bags import mcap_storage
from izmp_dynamics.bags.mcap_storage import CHUNK_SIZE, McapStorage, message_records
from izmp_dynamics.bags.typestores import standard_types

TOPICS = (('/imu', 'sensor_msgs/msg/Imu'), ('/a', 'std_msgs/msg/String'),
          ('/b', 'std_msgs/msg/String'))  # fmt: skip
START = 1_700_000_000_000_000_000

MESSAGES = st.lists(
    st.tuples(
        st.integers(0, len(TOPICS) - 1),
        st.integers(0, 10**9),
        st.sampled_from([0, 1, 330, 70_000, CHUNK_SIZE]),
    ),
    max_size=60,
)


class Ours(Writer):
    """Rosbags' writer with this package's storage, which calls itself rosbags."""

    STORAGE_PLUGINS = {  # noqa: RUF012
        StoragePlugin.MCAP: lambda path, mode: McapStorage(
            path, mode, f'rosbags-{version("rosbags")}'
        )
    }


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
                bag.write(connections[place], START + stamp, bytes(range(256)) * (size // 256 + 1))
    data = (folder / 'bag' / 'bag.mcap').read_bytes()
    (folder / 'bag' / 'metadata.yaml').unlink()
    (folder / 'bag' / 'bag.mcap').unlink()
    (folder / 'bag').rmdir()
    return data


def put_at_once(bag, connections, messages):
    stamps = [START + stamp for _, stamp, _ in messages]
    for place, stamp in zip((m[0] for m in messages), stamps, strict=True):
        bag.counts[connections[place].id] += 1
        bag.min_timestamp = min(bag.min_timestamp, stamp)
        bag.max_timestamp = max(bag.max_timestamp, stamp)
    channels = np.array([connections[place].id for place, _, _ in messages], np.uint16)
    records = [
        record
        for channel, stamp, (_, _, size) in zip(channels, stamps, messages, strict=True)
        for record in message_records(
            channel, np.array([stamp]), [bytes(range(256)) * (size // 256 + 1)]
        )
    ]
    bag.storage.write_records(channels, np.array(stamps, np.int64), records)


@given(MESSAGES.filter(bool))
def test_the_file_is_that_of_rosbags(tmp_path_factory, messages):
    folder = tmp_path_factory.mktemp('mcap')
    expected = written(Writer, folder, messages, batched=False)
    assert written(Ours, folder, messages, batched=True) == expected
    assert written(Ours, folder, messages, batched=False) == expected


def test_rows_become_the_same_records_as_byte_strings():
    rows = np.random.default_rng(0).integers(0, 256, (5, 37), np.uint8)
    stamps = START + np.arange(5)
    records = message_records(3, stamps, rows)
    assert [bytes(r) for r in records] == message_records(3, stamps, [r.tobytes() for r in rows])


def test_without_messages_the_times_are_zero_as_the_format_wants(tmp_path):
    reader = pytest.importorskip('mcap.reader', reason='the reader of the format’s authors')
    written_bytes = written(Ours, tmp_path, [], batched=False)
    (tmp_path / 'empty.mcap').write_bytes(written_bytes)
    with (tmp_path / 'empty.mcap').open('rb') as file:
        summary = reader.make_reader(file, validate_crcs=True).get_summary()
    assert summary.statistics.message_count == 0
    assert summary.statistics.message_start_time == summary.statistics.message_end_time == 0
    assert {channel.topic for channel in summary.channels.values()} == {t for t, _ in TOPICS}


def test_what_was_synced_is_in_the_file(tmp_path):
    storage = McapStorage(tmp_path)
    place = storage._file.tell()
    storage.sync()
    assert storage.path.stat().st_size == place
    records = message_records(1, np.array([START]), [b'12345'])
    storage._counts[1] = 0
    storage.write_records(np.array([1], np.uint16), np.array([START]), records)
    assert storage.path.stat().st_size == place
    storage.sync()
    assert b'12345' in storage.path.read_bytes()
    storage.abort()
    assert mcap_storage.MAGIC in storage.path.read_bytes()
