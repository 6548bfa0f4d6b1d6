"""Writing the mcap container (https://mcap.dev/spec) by the batch: no Python call per byte.

`McapStorage` is a storage of rosbags' `Writer`, which writes the metadata. Many messages come at
once: their records are laid out in one array, of which a chunk is a part and its index a few
arrays. Chunks are not compressed; channels and schemas stand before the first message and again
in the summary.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.mcap_file import MAGIC, MESSAGE, MESSAGE_INDEX, RECORD
from izmp_dynamics.bags.raws import Raw, Raws, copy_pieces, read_only
from izmp_dynamics.base.conventions import Indices, Stamps
from izmp_dynamics.files.libraries import library

CHUNK_SIZE = 2**20
"""A chunk ends with the message that makes it larger than this [bytes]."""

_HEAD = np.dtype(
    [('opcode', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
     ('logged', '<u8'), ('published', '<u8')]
)  # fmt: skip
_ENTRY = np.dtype([('channel', '<u2'), ('stamp', '<u8'), ('offset', '<u8')])
_NONE = np.empty(0, _ENTRY)
_INDEX = struct.Struct('<HI')
"""Channel and length before its entries of stamp and offset."""


class McapStorage:
    """An mcap file, with the interface of the storages of rosbags' `Writer`."""

    library = 'izmp_dynamics'
    """Named in the file as that which wrote it."""

    def __init__(self, folder: Path, compression: object = None) -> None:
        """Begin the file in a folder that exists; it is called like it, and is not compressed."""
        self.path = folder / f'{folder.name}.mcap'
        self._file = self.path.open('xb')
        self._file.write(MAGIC + _record('Header', profile='ros2', library=self.library))
        self._schemas: dict[str, bytes] = {}
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._chunks: list[bytes] = []
        self._parts: list[Raw] = []  # of the chunk that is being filled
        self._size = 0
        self._entries: list[npt.NDArray[Any]] = []
        self._spans: list[tuple[int, int]] = []

    def add_msgtype(self, connection: Any) -> None:
        """Define the message type of a topic."""
        definition = connection.msgdef
        record = _record(
            'Schema',
            id=len(self._schemas) + 1,
            name=connection.msgtype,
            encoding='ros2msg' if definition.format.name == 'MSG' else 'ros2idl',
            data=definition.data.encode(),
        )
        self._schemas[connection.msgtype] = record
        self._add(record)

    def add_connection(self, connection: Any, offered_qos_profiles: str) -> None:
        """Define a topic."""
        record = _record(
            'Channel',
            id=connection.id,
            schema_id=list(self._schemas).index(connection.msgtype) + 1,
            topic=connection.topic,
            message_encoding=connection.ext.serialization_format,
            metadata={'offered_qos_profiles': offered_qos_profiles},
        )
        self._channels.append(record)
        self._counts[connection.id] = 0
        self._add(record)

    def write_messages(
        self, channels: npt.NDArray[np.uint16], stamps: Stamps, messages: Sequence[Raws]
    ) -> None:
        """Write messages in the order of their stamps; of equal stamps, the first comes first.

        Args:
            channels: (T,) their topics' numbers.
            stamps: (T,) receive stamps [ns].
            messages: T serialized messages, in parts.
        """
        _count(self._counts, channels)
        order = np.argsort(stamps, kind='stable')
        channels, stamps = channels[order], stamps[order]
        sizes = np.concatenate([part.sizes for part in messages])[order]
        ends = np.cumsum(sizes + _HEAD.itemsize)
        begins = np.empty_like(ends)
        begins[order] = ends - sizes
        data = _records(channels, stamps, messages, begins, ends)
        begin = 0
        while begin < len(ends):
            at = int(ends[begin - 1]) if begin else 0
            before = self._size - at
            full = int(np.searchsorted(ends, CHUNK_SIZE - before, side='right'))
            end = min(full + 1, len(ends))
            entries = np.empty(end - begin, _ENTRY)
            entries['channel'], entries['stamp'] = channels[begin:end], stamps[begin:end]
            entries['offset'] = np.append(at, ends[begin : end - 1]) + before
            self._entries.append(entries)
            self._add(data[at : int(ends[end - 1])])
            if self._size > CHUNK_SIZE:
                self._close_chunk()
            begin = end

    def write(self, connection: Any, timestamp: int, data: Raw) -> None:
        """Write one message."""
        channels = np.array([connection.id], np.uint16)
        self.write_messages(channels, np.array([timestamp]), [Raws.of([data])])

    def sync(self) -> None:
        """Hand all messages to the operating system: what is killed now loses none of them."""
        if self._entries:
            self._close_chunk()
        self._file.flush()

    def close(self, version: int, metadata: str) -> None:
        """Complete the file; `metadata` is the content of metadata.yaml."""
        if self._size:
            self._close_chunk()
        place = self._file.tell()
        record = _record('Metadata', name='rosbag2', metadata={'serialized_metadata': metadata})
        self._file.write(record + _record('DataEnd', data_section_crc=0))
        index = _record('MetadataIndex', offset=place, length=len(record), name='rosbag2')
        begins, ends = zip(*self._spans or [(0, 0)], strict=True)
        statistics = _record(
            'Statistics',
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(sorted(self._counts.items())),
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_start_time=min(begins),
            message_end_time=max(ends),
            metadata_count=1,
            schema_count=len(self._schemas),
        )
        summary, offsets = self._file.tell(), b''
        groups = self._schemas.values(), self._channels, self._chunks, [index], [statistics]
        for group in groups:
            place, data = self._file.tell(), b''.join(group)
            self._file.write(data)
            if data:
                fields = {'group_opcode': data[0], 'group_start': place, 'group_length': len(data)}
                offsets += _record('SummaryOffset', **fields)
        starts = {'summary_start': summary, 'summary_offset_start': self._file.tell()}
        self._file.write(offsets + _record('Footer', **starts, summary_crc=0) + MAGIC)
        self._file.close()

    def abort(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _add(self, records: Raw) -> None:
        self._parts.append(records)
        self._size += len(records)

    def _close_chunk(self) -> None:
        records, entries = b''.join(self._parts), np.concatenate([_NONE, *self._entries])
        self._parts, self._size, self._entries = [], 0, []
        span = 0, 0
        if len(entries):
            span = int(entries['stamp'].min()), int(entries['stamp'].max())
            self._spans.append(span)
        fields = {'compression': '', 'uncompressed_size': len(records)}
        fields |= {'message_start_time': span[0], 'message_end_time': span[1]}
        place = self._file.tell()
        self._file.write(_record('Chunk', data=records, uncompressed_crc=0, **fields))
        after, places = self._file.tell(), {}
        channels, first = np.unique(entries['channel'], return_index=True)
        for channel in channels[np.argsort(first)].tolist():
            places[channel] = self._file.tell()
            own = entries[entries['channel'] == channel].view(np.uint8)
            index = own.reshape(-1, _ENTRY.itemsize)[:, _ENTRY['channel'].itemsize :].tobytes()
            head = RECORD.pack(MESSAGE_INDEX, _INDEX.size + len(index))
            self._file.write(head + _INDEX.pack(channel, len(index)) + index)
        self._chunks.append(
            _record(
                'ChunkIndex',
                chunk_start_offset=place,
                chunk_length=after - place,
                compressed_size=len(records),
                message_index_offsets=places,
                message_index_length=self._file.tell() - after,
                **fields,
            )
        )


def write_messages(
    writer: Any, channels: npt.NDArray[np.uint16], stamps: Stamps, messages: Sequence[Raws]
) -> None:
    """Write by a `Writer` of rosbags, which counts for its metadata, into its `McapStorage`.

    Args:
        writer: of rosbags.
        channels: (T,) the messages' topics' numbers.
        stamps: (T,) receive stamps [ns].
        messages: T serialized messages, in parts.
    """
    _count(writer.counts, channels)
    writer.min_timestamp = min(writer.min_timestamp, int(stamps.min()))
    writer.max_timestamp = max(writer.max_timestamp, int(stamps.max()))
    writer.storage.write_messages(channels, stamps, messages)


def _count(counts: dict[int, int], channels: npt.NDArray[np.uint16]) -> None:
    for channel, count in enumerate(np.bincount(channels).tolist()):
        if count:
            counts[channel] += count


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
