"""The mcap files that are written by the batch: byte by byte those of rosbags."""

from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer

from izmp_dynamics.bags import mcap_storage
from izmp_dynamics.bags.mcap_storage import CHUNK_SIZE, McapStorage
from izmp_dynamics.bags.raws import Raws
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


class Storage(McapStorage):
    library = f'rosbags-{version("rosbags")}'


class Ours(Writer):
    """Rosbags' writer with this package's storage, which calls itself rosbags."""

    STORAGE_PLUGINS = {StoragePlugin.MCAP: Storage}  # noqa: RUF012


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
    for place, stamp in zip((m[0] for m in messages), stamps, strict=True):
        bag.counts[connections[place].id] += 1
        bag.min_timestamp = min(bag.min_timestamp, stamp)
        bag.max_timestamp = max(bag.max_timestamp, stamp)
    channels = np.array([connections[place].id for place, _, _ in messages], np.uint16)
    raws = Raws.of([content(size) for _, _, size in messages])
    bag.storage.write_messages(channels, np.array(stamps, np.int64), [raws[:1], raws[1:]])


def content(size):
    return bytes(range(256)) * (size // 256 + 1)


@settings(max_examples=40)
@given(MESSAGES.filter(bool))
def test_the_file_is_that_of_rosbags(tmp_path_factory, messages):
    folder = tmp_path_factory.mktemp('mcap')
    assert written(Ours, folder, messages, batched=False) == written(
        Writer, folder, messages, batched=False
    )
    in_order = sorted(messages, key=lambda message: message[1])
    assert written(Ours, folder, messages, batched=True) == written(
        Writer, folder, in_order, batched=False
    )


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
    storage._counts[1] = 0
    storage.write_messages(np.array([1], np.uint16), np.array([START]), [Raws.of([b'12345'])])
    assert storage.path.stat().st_size == place
    storage.sync()
    assert b'12345' in storage.path.read_bytes()
    storage.abort()
    assert mcap_storage.MAGIC in storage.path.read_bytes()
