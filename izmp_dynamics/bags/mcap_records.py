"""Records of the mcap container (https://mcap.dev/spec), as far as reading messages needs them."""

import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from izmp_dynamics.bags.expansion import Expansion
from izmp_dynamics.bags.libraries import library, zstandard
from izmp_dynamics.bags.storage import FOREVER
from izmp_dynamics.conventions import Stamps
from izmp_dynamics.errors import BagError

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 1, 2, 3, 4, 5, 6
MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, DATA_END = 7, 8, 11, 15

RECORD = struct.Struct('<BQ')
MESSAGE_HEAD = struct.Struct('<BQHIQ')
"""Opcode, length, channel, sequence number, log time; publish time and data follow."""

_PADDING = bytes(MESSAGE_HEAD.size)
_PAIR = struct.Struct('<HQ')
_DATA = RECORD.size + 22
LARGEST = 2**31
"""Most bytes of a chunk or a message."""


class Fields:
    """Reads the fields of one record in their order; raises `BagError` beyond its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self, size: int) -> int:
        """Unsigned integer of `size` bytes."""
        return int.from_bytes(self.take(size), 'little')

    def text(self) -> str:
        """Text with its length before it."""
        try:
            return self.take(self.number(4)).decode()
        except UnicodeDecodeError as error:
            raise BagError('a text is not UTF-8') from error

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        part = self._data[self._at : self._at + size]
        if len(part) != size:
            raise BagError('a record is shorter than its fields')
        self._at += size
        return part

    def rest(self) -> bytes:
        """All bytes that remain."""
        return self._data[self._at :]


@dataclass(frozen=True)
class Schema:
    """Definition of a message type."""

    name: str
    encoding: str
    definition: str

    @classmethod
    def parse(cls, data: bytes) -> tuple[int, 'Schema']:
        """Its id and itself."""
        fields = Fields(data)
        return fields.number(2), cls(fields.text(), fields.text(), fields.text())


@dataclass(frozen=True)
class ChannelRecord:
    """A topic and the schema of its messages."""

    schema: int
    topic: str
    encoding: str

    @classmethod
    def parse(cls, data: bytes) -> tuple[int, 'ChannelRecord']:
        """Its id and itself."""
        fields = Fields(data)
        return fields.number(2), cls(fields.number(2), fields.text(), fields.text())


@dataclass(frozen=True)
class Statistics:
    """Counts over the whole file."""

    messages: int
    channels: int
    chunks: int
    start: int
    end: int
    counts: dict[int, int]

    @classmethod
    def parse(cls, data: bytes) -> 'Statistics':
        """From the body of the record."""
        fields = Fields(data)
        messages, _, channels = fields.number(8), fields.number(2), fields.number(4)
        fields.take(8)  # attachments, metadata
        chunks, start, end = fields.number(4), fields.number(8), fields.number(8)
        counts = dict(_pairs(fields))
        return cls(messages, channels, chunks, start, end, counts)


def parse_chunk_index(data: bytes) -> tuple[int, int, int, int, frozenset[int]]:
    """First and last stamp, offset and length of a chunk, and its channels ('none' if unknown)."""
    fields = Fields(data)
    start, end, offset, length = (fields.number(8) for _ in range(4))
    channels = frozenset(channel for channel, _ in _pairs(fields))
    return start, end, offset, length, channels


def _pairs(fields: Fields) -> Iterator[tuple[int, int]]:
    """Read a map of channel id → number."""
    data = fields.take(fields.number(4))
    if len(data) % _PAIR.size:
        raise BagError('a record is shorter than its fields')
    return _PAIR.iter_unpack(data)


def unpack_chunk(body: bytes, expansion: Expansion, *, partial: bool = False) -> bytes:
    """Decompress the body of a chunk record and check its checksum.

    Args:
        body: start, end, uncompressed size, checksum, compression, records.
        expansion: of the chunks of this file.
        partial: the file ends inside this chunk; return what there is of it.

    Raises:
        BagError: it cannot be decompressed or grows beyond all measure, or size or checksum are
            wrong.
    """
    fields = Fields(body)
    fields.take(16)
    size, checksum, compression, length = (
        fields.number(8), fields.number(4), fields.text(), fields.number(8),
    )  # fmt: skip
    packed = fields.rest()[:length]
    if size > LARGEST:
        raise BagError(f'a chunk claims {size} bytes')
    try:
        expansion.add(len(packed), size if compression else len(packed))
    except BagError as error:
        raise BagError(f'a chunk is refused: {error}', kind=error.kind) from error
    records = _decompress(packed, compression, size)
    if partial:
        return records
    if len(packed) != length or len(records) != size:
        raise BagError('a chunk has another length than it states')
    if checksum and zlib.crc32(records) != checksum:
        raise BagError("a chunk's checksum is wrong")
    return records


def _decompress(packed: bytes, compression: str, size: int) -> bytes:
    """At most `size` + 1 bytes; a cut stream gives what can be had of it."""
    if not compression:
        return packed
    if compression == 'zstd':
        codec = zstandard()
        decompressor, failure = codec.ZstdDecompressor(), codec.ZstdError
    elif compression == 'lz4':
        codec = library('lz4.frame', 'Reading a bag compressed with lz4')
        decompressor, failure = codec.LZ4FrameDecompressor(), RuntimeError
    else:
        raise BagError(f"a chunk is compressed with '{compression[:20]}', which is unknown")
    try:
        return bytes(decompressor.decompress(packed, max_length=size + 1))
    except (failure, EOFError, MemoryError) as error:
        raise BagError(f'a chunk cannot be decompressed ({error})') from error


@dataclass
class Contents:
    """What a run of records holds.

    Attributes:
        messages: channel id → stamps [ns] and serialized messages.
        schemas: those that were met, by id.
        channels: likewise.
        size: how many bytes make sense as records.
    """

    messages: dict[int, tuple[list[int], list[bytes]]] = field(default_factory=dict)
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, ChannelRecord] = field(default_factory=dict)
    size: int = 0

    def arrays(self) -> dict[int, tuple[Stamps, list[bytes]]]:
        """The messages with their stamps as (T,) arrays."""
        return {
            channel: (np.array(stamps, np.int64), raws)
            for channel, (stamps, raws) in self.messages.items()
            if stamps
        }

    def span(self) -> tuple[int, int] | None:
        """First and last stamp [ns]; None without messages."""
        extremes = [x for stamps, _ in self.messages.values() for x in (min(stamps), max(stamps))]
        return (min(extremes), max(extremes)) if extremes else None


def read_records(
    records: bytes, wanted: Collection[int] | None = None, stop: Collection[int] = (0,)
) -> Contents:
    """Walk over records in memory up to their end or up to what is no record.

    Args:
        records: as they lie in a chunk or between chunks.
        wanted: channels whose messages are kept; None keeps all.
        stop: opcodes to stop at.
    """
    contents = Contents({channel: ([], []) for channel in wanted or ()})
    messages, unpack, at, size = contents.messages, MESSAGE_HEAD.unpack_from, 0, len(records)
    last = size - MESSAGE_HEAD.size
    while at < size:
        head, place = (records, at) if at <= last else (records[at:] + _PADDING, 0)
        opcode, length, channel, _, stamp = unpack(head, place)
        end = at + RECORD.size + length
        if end > size or opcode in stop:
            break
        if opcode == MESSAGE:
            if length < _DATA - RECORD.size or stamp >= FOREVER:
                break
            if wanted is None and channel not in messages:
                messages[channel] = ([], [])
            if channel in messages:
                stamps, raws = messages[channel]
                stamps.append(stamp)
                raws.append(records[at + _DATA : end])
        elif opcode == SCHEMA:
            contents.schemas.update([Schema.parse(records[at + RECORD.size : end])])
        elif opcode == CHANNEL:
            contents.channels.update([ChannelRecord.parse(records[at + RECORD.size : end])])
        at = end
    contents.size = at
    return contents
