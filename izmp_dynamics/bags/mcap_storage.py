"""Writing many messages at once into an mcap file of rosbags: no Python call per byte.

rosbags' `Writer` makes the file, its summary and the metadata. What is written here has the bytes
that its `write` gives message by message: the records of a batch are laid out in one array, of
which a chunk is a part and its index a few arrays.
"""

import struct
from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.mcap_file import MESSAGE, MESSAGE_INDEX, RECORD
from izmp_dynamics.bags.raws import Raws, copy_pieces, read_only
from izmp_dynamics.base.conventions import Indices, Stamps
from izmp_dynamics.files.libraries import library

CHUNK_SIZE = 2**20
"""A chunk ends with the message that makes it larger than this [bytes]."""

_HEAD = np.dtype(
    [('opcode', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
     ('logged', '<u8'), ('published', '<u8')]
)  # fmt: skip
_INDEX = struct.Struct('<HI')
"""Channel and length before its entries of stamp and offset."""


def write_messages(
    writer: Any, channels: npt.NDArray[np.uint16], stamps: Stamps, messages: Sequence[Raws]
) -> None:
    """Write messages in the order of their stamps; of equal stamps, the first comes first.

    Args:
        writer: of rosbags.
        channels: (T,) their topics' numbers.
        stamps: (T,) receive stamps [ns].
        messages: T serialized messages, in parts.
    """
    storage = writer.storage
    for channel, count in enumerate(np.bincount(channels).tolist()):
        if count:
            writer.counts[channel] += count
            storage.channel_stats[channel] += count
    writer.min_timestamp = min(writer.min_timestamp, int(stamps.min()))
    writer.max_timestamp = max(writer.max_timestamp, int(stamps.max()))
    storage.message_start_time = writer.min_timestamp
    storage.message_end_time = writer.max_timestamp
    order = np.argsort(stamps, kind='stable')
    channels, stamps = channels[order], stamps[order]
    sizes = np.concatenate([part.sizes for part in messages])[order]
    ends = np.cumsum(sizes + _HEAD.itemsize)
    begins = np.empty_like(ends)
    begins[order] = ends - sizes
    data = _records(channels, stamps, messages, begins, ends)
    begin, at = 0, 0
    while begin < len(ends):
        before = storage.chunk.bio.tell() - at
        full = int(np.searchsorted(ends, CHUNK_SIZE - before, side='right'))
        end = min(full + 1, len(ends))
        offsets = np.append(at, ends[begin : end - 1]) + before
        _index(storage.chunk, channels[begin:end], stamps[begin:end], offsets)
        storage.chunk.bio.write(data[at : int(ends[end - 1])])
        begin, at = end, int(ends[end - 1])
        if storage.chunk.bio.tell() > CHUNK_SIZE:
            _close_chunk(storage)


def sync(storage: Any) -> None:
    """Hand all that is pending to the operating system: what is killed now loses none of it."""
    if storage.chunk.bio.tell():
        _close_chunk(storage)
    # zero without messages, as the format wants
    storage.message_start_time = min(storage.message_start_time, storage.message_end_time)
    storage.bio.flush()


def _index(chunk: Any, channels: npt.NDArray[np.uint16], stamps: Stamps, offsets: Indices) -> None:
    """Note the messages of a chunk, whose stamps (K,) ascend, by channel."""
    numbers, first = np.unique(channels, return_index=True)
    for channel in numbers[np.argsort(first)].tolist():
        rows = channels == channel
        chunk.msgs[channel].append(np.stack([stamps[rows], offsets[rows]], axis=1))
    chunk.message_start_time = min(chunk.message_start_time, int(stamps[0]))
    chunk.message_end_time = max(chunk.message_end_time, int(stamps[-1]))


def _close_chunk(storage: Any) -> None:
    chunk, file = storage.chunk, storage.bio
    storage.chunk = type(chunk)(2**63 - 1, 0, BytesIO(), defaultdict(list))
    records, last = chunk.bio.getvalue(), chunk.message_end_time
    fields = {'compression': '', 'uncompressed_size': len(records), 'message_end_time': last}
    fields |= {'message_start_time': min(chunk.message_start_time, last)}
    place = file.tell()
    file.write(_record('Chunk', data=records, uncompressed_crc=0, **fields))
    after, places = file.tell(), {}
    for channel, parts in chunk.msgs.items():
        places[channel] = file.tell()
        index = np.concatenate(parts).astype('<u8').tobytes()
        head = RECORD.pack(MESSAGE_INDEX, _INDEX.size + len(index))
        file.write(head + _INDEX.pack(channel, len(index)) + index)
    entry = _record(
        'ChunkIndex',
        chunk_start_offset=place,
        chunk_length=after - place,
        compressed_size=len(records),
        message_index_offsets=places,
        message_index_length=file.tell() - after,
        **fields,
    )
    storage.chunks.append(BytesIO())
    storage.chunks[-1].write(entry[RECORD.size :])


def _records(
    channels: npt.NDArray[np.uint16],
    stamps: Stamps,
    messages: Sequence[Raws],
    begins: Indices,
    ends: Indices,
) -> memoryview:
    """The records of messages.

    Args:
        channels: (T,) their topics' numbers, in the order of the records.
        stamps: (T,) [ns], likewise.
        messages: T serialized messages, in parts and in any order.
        begins: (T,) where they begin among the records, in their own order.
        ends: (T,) where the records end.
    """
    heads = np.zeros(len(stamps), _HEAD)
    heads['opcode'], heads['channel'] = MESSAGE, channels
    heads['length'] = np.diff(ends, prepend=0) - RECORD.size
    heads['logged'] = heads['published'] = stamps
    data = np.empty(int(ends[-1]), np.uint8)
    sizes = np.full(len(heads), _HEAD.itemsize)
    copy_pieces(
        read_only(heads.view(np.uint8)),
        np.arange(len(heads)) * _HEAD.itemsize,
        sizes,
        data,
        np.append(0, ends[:-1]),
    )
    first = 0
    for part in messages:
        places = begins[first : first + len(part)]
        copy_pieces(part.data, part.begins, part.sizes, data, places)
        first += len(part)
    return data.data


def _record(kind: str, **fields: Any) -> bytes:
    """A record of the package mcap in bytes."""
    builder = library('mcap.data_stream', 'Writing an mcap file').RecordBuilder()
    getattr(library('mcap.records', 'Writing an mcap file'), kind)(**fields).write(builder)
    data: bytes = builder.end()
    return data
