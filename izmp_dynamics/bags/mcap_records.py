"""Records of the mcap container (https://mcap.dev/spec), as far as reading messages needs them."""

import struct
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.expansion import Expansion
from izmp_dynamics.bags.raws import Raw, Raws
from izmp_dynamics.bags.storage import FOREVER
from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.files.libraries import library, zstandard

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 1, 2, 3, 4, 5, 6
MESSAGE_INDEX, CHUNK_INDEX, STATISTICS, DATA_END = 7, 8, 11, 15

RECORD = struct.Struct('<BQ')
HEAD = RECORD.size
"""Opcode and length [bytes]."""

_BEFORE_DATA = 22
"""Channel, sequence number, log time and publish time of a message [bytes]."""

_FOREVER = np.uint64(FOREVER)
_PAIR = struct.Struct('<HQ')
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

    def rest(self) -> memoryview:
        """All bytes that remain."""
        return memoryview(self._data)[self._at :]


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


def unpack_chunk(body: bytes, expansion: Expansion, *, partial: bool = False) -> Raw:
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


def _decompress(packed: memoryview, compression: str, size: int) -> Raw:
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
        messages: channel id → receive stamps (T,) [ns] and serialized messages, at least one.
        schemas: those that were met, by id.
        channels: likewise.
        size: how many bytes make sense as records.
    """

    messages: dict[int, tuple[Stamps, Raws]]
    schemas: dict[int, Schema]
    channels: dict[int, ChannelRecord]
    size: int

    def span(self) -> tuple[int, int] | None:
        """First and last stamp [ns]; None without messages."""
        if not self.messages:
            return None
        stamps = [stamps for stamps, _ in self.messages.values()]
        return min(int(part.min()) for part in stamps), max(int(part.max()) for part in stamps)


def read_records(
    records: Raw, wanted: Collection[int] | None = None, stop: Collection[int] = (0,)
) -> Contents:
    """Walk over records in memory up to their end or up to what is no record.

    Args:
        records: as they lie in a chunk or between chunks.
        wanted: channels whose messages are kept; None keeps all.
        stop: opcodes to stop at.
    """
    data = np.frombuffer(records, np.uint8)
    stops = np.zeros(256, np.bool_)
    stops[list(stop)] = True
    found, size = _walk(data, stops)
    opcodes, channels, stamps, begins, ends = found.T
    of_messages = opcodes == MESSAGE
    messages = {}
    for channel in np.unique(channels[of_messages]) if wanted is None else wanted:
        rows = np.flatnonzero(of_messages & (channels == channel))
        if len(rows):
            raws = Raws.cut(data, begins[rows], ends[rows] - begins[rows])
            messages[int(channel)] = stamps[rows], raws
    schemas, topics = (
        [bytes(records[begins[row] : ends[row]]) for row in np.flatnonzero(opcodes == opcode)]
        for opcode in (SCHEMA, CHANNEL)
    )
    return Contents(
        messages, dict(map(Schema.parse, schemas)), dict(map(ChannelRecord.parse, topics)), size
    )


@kernel
def _walk(
    records: npt.NDArray[np.uint8], stops: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], int]:
    """Find the records of messages, schemas and channels.

    Args:
        records: (N,) bytes.
        stops: (256,) at which opcodes to stop.

    Returns:
        (T, 5): opcode, channel, stamp [ns], and where message or body begin and end; channel and
        stamp are zero where it is no message. How many bytes make sense as records.
    """
    found, count, at = np.zeros((1024, 5), np.int64), 0, 0
    while len(records) - at >= HEAD:
        opcode, length = records[at], _number(records[at + 1 : at + HEAD])
        begin = at + HEAD
        if stops[opcode] or length > np.uint64(len(records) - begin):
            break
        end = begin + np.int64(length)
        if count == len(found):
            longer = np.zeros((2 * count, 5), np.int64)
            for k in range(count):
                for field in range(5):
                    longer[k, field] = found[k, field]
            found = longer
        entry = found[count]
        if opcode == MESSAGE:
            if end - begin < _BEFORE_DATA:
                break
            entry[1] = _number(records[begin : begin + 2])
            stamp = _number(records[begin + 6 : begin + 14])
            if stamp >= _FOREVER:
                break
            entry[2] = stamp
            begin += _BEFORE_DATA
        if opcode in (MESSAGE, SCHEMA, CHANNEL):
            entry[0], entry[3], entry[4] = opcode, begin, end
            count += 1
        at = end
    return found[:count], at


@kernel
def _number(data: npt.NDArray[np.uint8]) -> Any:
    """Unsigned integer of up to eight bytes, the lowest first."""
    number = np.uint64(0)
    for k in range(len(data)):
        number |= np.uint64(data[k]) << np.uint64(8 * k)
    return number
