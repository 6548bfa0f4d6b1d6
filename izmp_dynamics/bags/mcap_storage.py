"""Writing the mcap container (https://mcap.dev/spec) by the batch: no Python call per byte.

`McapStorage` is a storage of rosbags' `Writer`, which writes the metadata. Many messages come at
once: their records are laid out in one array, of which a chunk is a part and its index a few
arrays. Chunks are not compressed; channels and schemas stand before the first message and again
in the summary.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.mcap_records import (
    CHANNEL,
    CHUNK,
    CHUNK_INDEX,
    DATA_END,
    FOOTER,
    HEADER,
    MAGIC,
    MESSAGE,
    MESSAGE_INDEX,
    RECORD,
    SCHEMA,
    STATISTICS,
)
from izmp_dynamics.bags.raws import Raw, Raws, copy_pieces, read_only
from izmp_dynamics.base.conventions import Indices, Stamps

METADATA, METADATA_INDEX, SUMMARY_OFFSET = 12, 13, 14

CHUNK_SIZE = 2**20
"""A chunk ends with the message that makes it larger than this [bytes]."""

_LIBRARY = 'izmp_dynamics'
_HEAD = np.dtype(
    [('opcode', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('sequence', '<u4'),
     ('logged', '<u8'), ('published', '<u8')]
)  # fmt: skip
_INDEX = np.dtype([('stamp', '<u8'), ('offset', '<u8')])


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
        self._file.write(MAGIC + _record(HEADER, _text('ros2') + _text(library)))
        self._schemas: dict[str, bytes] = {}
        self._channels: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._chunk_indices: list[bytes] = []
        self._chunk = _Chunk()
        self._spans: list[tuple[int, int]] = []

    def add_msgtype(self, connection: Any) -> None:
        """Define the message type of a topic."""
        definition = connection.msgdef
        encoding = 'ros2msg' if definition.format.name == 'MSG' else 'ros2idl'
        number = _uint16(len(self._schemas) + 1)
        texts = (connection.msgtype, encoding, definition.data)
        record = _record(SCHEMA, number + b''.join(map(_text, texts)))
        self._schemas[connection.msgtype] = record
        self._chunk.define(record)

    def add_connection(self, connection: Any, offered_qos_profiles: str) -> None:
        """Define a topic."""
        schema = list(self._schemas).index(connection.msgtype) + 1
        qos = _text('offered_qos_profiles') + _text(offered_qos_profiles)
        record = _record(
            CHANNEL,
            _uint16(connection.id)
            + _uint16(schema)
            + _text(connection.topic)
            + _text(connection.ext.serialization_format)
            + _uint32(len(qos))
            + qos,
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
        data = _text('serialized_metadata') + _text(metadata)
        record = _record(METADATA, _text('rosbag2') + _uint32(len(data)) + data)
        place = self._file.tell()
        self._file.write(record + _record(DATA_END, _uint32(0)))
        index = _uint64(place) + _uint64(len(record)) + _text('rosbag2')
        summary = self._file.tell()
        groups = (
            (SCHEMA, [*self._schemas.values()]),
            (CHANNEL, self._channels),
            (CHUNK_INDEX, self._chunk_indices),
            (METADATA_INDEX, [_record(METADATA_INDEX, index)]),
            (STATISTICS, [_record(STATISTICS, self._statistics())]),
        )
        offsets = b''.join(self._groups(groups))
        place = self._file.tell()
        footer = _uint64(summary) + _uint64(place) + _uint32(0)
        self._file.write(offsets + _record(FOOTER, footer) + MAGIC)
        self._file.close()

    def abort(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def _groups(self, groups: Iterable[tuple[int, list[bytes]]]) -> Iterator[bytes]:
        """Write the groups of the summary; yields the record of the place of each."""
        for opcode, records in groups:
            place = self._file.tell()
            self._file.write(b''.join(records))
            length = self._file.tell() - place
            if length:
                fields = bytes([opcode]) + _uint64(place) + _uint64(length)
                yield _record(SUMMARY_OFFSET, fields)

    def _statistics(self) -> bytes:
        counts = b''.join(_uint16(key) + _uint64(n) for key, n in sorted(self._counts.items()))
        attachments, metadata = 0, 1
        begins, ends = zip(*self._spans, strict=True) if self._spans else ((0,), (0,))
        return (
            _uint64(sum(self._counts.values()))
            + _uint16(len(self._schemas))
            + struct.pack('<4I', len(self._channels), attachments, metadata,
                          len(self._chunk_indices))
            + struct.pack('<2Q', min(begins), max(ends))
            + _uint32(len(counts))
            + counts
        )  # fmt: skip

    def _close_chunk(self) -> None:
        chunk, self._chunk = self._chunk, _Chunk()
        if chunk.has_messages:
            self._spans.append(chunk.span)
        span = struct.pack('<2Q', *chunk.span)
        size, place = chunk.size, self._file.tell()
        fields = span + _uint64(size) + _uint32(0) + _text('') + _uint64(size)
        self._file.write(RECORD.pack(CHUNK, len(fields) + size) + fields)
        self._file.writelines(chunk.parts)
        after = self._file.tell()
        places = b''
        for channel, entries in chunk.indices():
            places += _uint16(channel) + _uint64(self._file.tell())
            index = _uint16(channel) + _uint32(len(entries)) + entries
            self._file.write(_record(MESSAGE_INDEX, index))
        self._chunk_indices.append(
            _record(
                CHUNK_INDEX,
                span
                + struct.pack('<2Q', place, after - place)
                + _uint32(len(places))
                + places
                + _uint64(self._file.tell() - after)
                + _text('')
                + struct.pack('<2Q', size, size),
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


def _record(opcode: int, fields: bytes) -> bytes:
    return RECORD.pack(opcode, len(fields)) + fields


def _text(text: str) -> bytes:
    data = text.encode()
    return _uint32(len(data)) + data


def _uint16(number: int) -> bytes:
    return number.to_bytes(2, 'little')


def _uint32(number: int) -> bytes:
    return number.to_bytes(4, 'little')


def _uint64(number: int) -> bytes:
    return number.to_bytes(8, 'little')
