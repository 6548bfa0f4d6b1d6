"""Writing the mcap container (https://mcap.dev/spec) by the batch: no Python call per byte.

`McapStorage` is a storage of rosbags' `Writer`, which writes the metadata. Many messages come at
once: their records are laid out in one array, of which a chunk is a part and its index a few
arrays. Chunks are not compressed; channels and schemas stand before the first message and again
in the summary.
"""

import struct
from collections.abc import Iterator, Sequence
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

_LIBRARY = 'izmp_dynamics'
_HEAD = np.dtype(
    [('opcode', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
     ('logged', '<u8'), ('published', '<u8')]
)  # fmt: skip
_INDEX = np.dtype([('stamp', '<u8'), ('offset', '<u8')])
_INDEX_OF = struct.Struct('<HI')
"""Channel and length before its entries."""


class McapStorage:
    """An mcap file, with the interface of the storages of rosbags' `Writer`.

    Attributes:
        path: of the file.
    """

    def __init__(self, folder: Path, compression: object = None, library: str = _LIBRARY) -> None:
        """Begin the file in a folder; it is called like the folder.

        Args:
            folder: of the bag; exists.
            compression: not used.
            library: named in the file as that which wrote it.
        """
        self.path = folder / f'{folder.name}.mcap'
        self._file = self.path.open('xb')
        self._file.write(MAGIC + _record('Header', profile='ros2', library=library))
        self._schemas: dict[str, bytes] = {}
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._chunks: list[bytes] = []
        self._chunk = _Chunk()
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
        self._chunk.define(record)

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
        self._chunk.define(record)

    def write_messages(
        self, channels: npt.NDArray[np.uint16], stamps: Stamps, messages: Sequence[Raws]
    ) -> None:
        """Write messages in the order of their stamps; of equal stamps, the first comes first.

        Args:
            channels: (T,) their topics' numbers.
            stamps: (T,) receive stamps [ns].
            messages: T serialized messages, in parts.
        """
        for channel, count in enumerate(np.bincount(channels).tolist()):
            if count:
                self._counts[channel] += count
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
            before = self._chunk.size - at
            full = int(np.searchsorted(ends, CHUNK_SIZE - before, side='right'))
            end = min(full + 1, len(ends))
            part = slice(begin, end)
            offsets = np.append(at, ends[begin : end - 1]) + before
            self._chunk.add(channels[part], stamps[part], offsets, data[at : int(ends[end - 1])])
            if self._chunk.size > CHUNK_SIZE:
                self._close_chunk()
            begin = end

    def write(self, connection: Any, timestamp: int, data: Raw) -> None:
        """Write one message."""
        channels = np.array([connection.id], np.uint16)
        self.write_messages(channels, np.array([timestamp]), [Raws.of([data])])

    def sync(self) -> None:
        """Hand all messages to the operating system: what is killed now loses none of them."""
        if self._chunk.has_messages:
            self._close_chunk()
        self._file.flush()

    def close(self, version: int, metadata: str) -> None:
        """Complete the file; `metadata` is the content of metadata.yaml."""
        if self._chunk.size:
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
        for group in (
            [*self._schemas.values()],
            self._channels,
            self._chunks,
            [index],
            [statistics],
        ):
            place, data = self._file.tell(), b''.join(group)
            self._file.write(data)
            if data:
                fields = {'group_opcode': data[0], 'group_start': place, 'group_length': len(data)}
                offsets += _record('SummaryOffset', **fields)
        place = self._file.tell()
        footer = _record(
            'Footer', summary_start=summary, summary_offset_start=place, summary_crc=0
        )
        self._file.write(offsets + footer + MAGIC)
        self._file.close()

    def abort(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _close_chunk(self) -> None:
        chunk, self._chunk = self._chunk, _Chunk()
        if chunk.has_messages:
            self._spans.append(chunk.span)
        first, last = chunk.span
        times = {'message_start_time': first, 'message_end_time': last}
        place, records = self._file.tell(), b''.join(chunk.parts)
        fields = times | {'compression': '', 'uncompressed_size': chunk.size}
        self._file.write(_record('Chunk', data=records, uncompressed_crc=0, **fields))
        after = self._file.tell()
        places = {}
        for channel, entries in chunk.indices():
            places[channel] = self._file.tell()
            head = RECORD.pack(MESSAGE_INDEX, _INDEX_OF.size + len(entries))
            self._file.write(head + _INDEX_OF.pack(channel, len(entries)) + entries)
        self._chunks.append(
            _record(
                'ChunkIndex',
                chunk_start_offset=place,
                chunk_length=after - place,
                compressed_size=chunk.size,
                message_index_offsets=places,
                message_index_length=self._file.tell() - after,
                **fields,
            )
        )


class _Chunk:
    """A chunk that is being filled.

    Attributes:
        parts: its records, one after the other.
        size: their length [bytes].
    """

    def __init__(self) -> None:
        self.size = 0
        self.parts: list[Raw] = []
        self._channels: list[npt.NDArray[np.uint16]] = []
        self._entries: list[npt.NDArray[Any]] = []

    def define(self, records: Raw) -> None:
        """Add the definition of a schema or a channel."""
        self.parts.append(records)
        self.size += len(records)

    def add(
        self,
        channels: npt.NDArray[np.uint16],
        stamps: Stamps,
        offsets: npt.NDArray[np.int64],
        records: Raw,
    ) -> None:
        """Add messages whose records begin at these offsets from the beginning of the chunk."""
        entries = np.empty(len(stamps), _INDEX)
        entries['stamp'], entries['offset'] = stamps, offsets
        self._channels.append(channels)
        self._entries.append(entries)
        self.define(records)

    @property
    def has_messages(self) -> bool:
        """Whether there is more in it than definitions."""
        return bool(self._entries)

    @property
    def span(self) -> tuple[int, int]:
        """First and last stamp [ns]; zeros without messages."""
        if not self._entries:
            return 0, 0
        stamps = [entries['stamp'] for entries in self._entries]
        return min(int(part.min()) for part in stamps), max(int(part.max()) for part in stamps)

    def indices(self) -> Iterator[tuple[int, bytes]]:
        """Yield the channels in the order of their first messages, and stamps and offsets."""
        if not self._entries:
            return
        channels, entries = np.concatenate(self._channels), np.concatenate(self._entries)
        order = np.argsort(channels, kind='stable')
        numbers, first, counts = np.unique(channels, return_index=True, return_counts=True)
        ends = np.cumsum(counts)
        for k in np.argsort(first).tolist():
            yield int(numbers[k]), entries[order[ends[k] - counts[k] : ends[k]]].tobytes()


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
