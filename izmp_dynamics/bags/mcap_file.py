"""Reading mcap files (https://mcap.dev/spec), whole or damaged, as a stream of blocks.

A whole file is read by the index in its summary. A file without a summary (recorder killed, copy
cut off) is walked record by record up to the place where the records stop making sense. Chunks
are decompressed one at a time and checked against their checksums. The package mcap takes records
apart, compiled code finds the messages among them.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.conversion import ros_type
from izmp_dynamics.bags.raws import Raw, Raws
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, Expansion, Storage
from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.base.kernel import kernel
from izmp_dynamics.files.libraries import library, zstandard

MAGIC = b'\x89MCAP0\r\n'
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, DATA_END = 2, 3, 4, 5, 6, 7, 15

RECORD = struct.Struct('<BQ')
"""Opcode and length."""

_CHUNK = struct.Struct('<QQQII')
"""First and last stamp, size and checksum when decompressed, and length of the compression."""

_LENGTH = struct.Struct('<Q')
_HEAD = RECORD.size
_BEFORE_DATA = 22
"""Channel, sequence number, log time and publish time of a message [bytes]."""

_FOOTER = RECORD.pack(FOOTER, 20)
_FOOTER_SIZE = _HEAD + 20 + len(MAGIC)
_DATA_END_SIZE = _HEAD + 4
_FOREVER = np.uint64(FOREVER)
_EMPTY = (2**63 - 1, 0)
"""First and last stamp that rosbags writes for a chunk without messages."""

LARGEST = 2**31
"""Most bytes of a chunk or a message."""

_LEAST_WINDOW, _WINDOW = 2**10, 2**18
"""Messages outside of chunks are read in pieces of this size [bytes]: it doubles as long as they
follow each other."""


@dataclass(frozen=True)
class _Run:
    """Consecutive records: those of a chunk, or some that lie outside of chunks.

    Attributes:
        begin: offset of the first byte (of a chunk: of its body).
        end: offset after the last byte.
        first: earliest stamp [ns].
        last: latest stamp [ns].
        chunk: whether it is a chunk.
        cut: whether the file ends inside this chunk.
        channels: ids of its channels; None when they are not known.
    """

    begin: int
    end: int
    first: int = 0
    last: int = 0
    chunk: bool = True
    cut: bool = False
    channels: frozenset[int] | None = None


_Contents = tuple[dict[int, tuple[Stamps, Raws]], list[bytes], int]
"""Channel id → receive stamps (T,) [ns] and serialized messages, at least one; the records of
schemas and channels; how many bytes make sense as records."""


class McapFile(Storage):
    """An open mcap file; see `storage.Storage` for the attributes."""

    kind = 'mcap'

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._counted: Counter[int] = Counter()
        self._runs: list[_Run] = []
        self._schemas: dict[int, Any] = {}
        self._topics: dict[int, Any] = {}
        self._size = path.stat().st_size
        self._stream = path.open('rb')
        try:
            self._index()
        except BaseException:
            self.close()
            raise
        self._expansion = Expansion()
        self._runs.sort(key=lambda run: run.first)
        self.counts = dict(self._counted)
        self.channels = dict(self._channels())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """One block per chunk, in the order of their first stamps."""
        runs = [x for x in self._runs if x.channels is None or x.channels.intersection(wanted)]
        horizons = [*(run.first for run in runs[1:]), FOREVER]
        for run, horizon in zip(runs, horizons, strict=False):
            try:
                messages, _, _ = self._read(run, wanted)
            except (BagError, OSError) as error:
                first, last = self.after(run.first), self.after(run.last)
                self.damage(
                    f'is damaged at byte {run.begin}: {error}; its messages from {first} to '
                    f'{last} are left out.'
                )
            else:
                yield Block(messages, horizon)

    def _channels(self) -> Iterator[tuple[int, Channel]]:
        for number, topic in self._topics.items():
            own, name, text, encoding = topic.message_encoding, 'unknown', '', 'ros2idl'
            if schema := self._schemas.get(topic.schema_id):
                code = 'utf-8' if own == 'cdr' else 'latin-1'
                name, text = schema.name, schema.data.decode(code, errors='replace')
                encoding = 'ros2msg' if schema.encoding == 'ros2msg' else 'ros2idl'
            yield (
                number,
                Channel(topic.topic, ros_type(name, own), own, text, encoding, schema=name),
            )

    def _at(self, offset: int, size: int) -> bytes:
        self._stream.seek(max(0, offset))
        return self._stream.read(size)

    def _read(self, run: _Run, wanted: Collection[int] | None) -> _Contents:
        """Read and check the records of one run.

        Args:
            run: to be read.
            wanted: channels whose messages are kept, and nothing else; None keeps all.

        Raises:
            BagError: when the run is damaged as a whole.
        """
        if run.end - run.begin > LARGEST:
            raise BagError(f'a chunk claims {run.end - run.begin} bytes')
        body = self._at(run.begin, run.end - run.begin)
        records = _unpacked(body, self._expansion, partial=run.cut) if run.chunk else body
        contents = _walked(records, wanted)
        if contents[-1] != len(records) and not run.cut:
            raise BagError('records do not follow each other')
        return contents

    def _index(self) -> None:
        """Find out where messages lie: by the summary, or by a walk over the file."""
        self._expansion = Expansion()
        try:
            self._read_summary()
        except BagError as error:
            self._runs = []
            if fault := str(error):
                self._schemas, self._topics = {}, {}
            ending = self._scan()
            if fault:
                self.damage(f'is damaged: {fault}.')
            if ending:
                self.damage(f'{ending}; {self.read_up_to(self.end)}')

    def _declare(self, record: Any) -> None:
        if isinstance(record, _mcap('records').Schema):
            self._schemas[record.id] = record
        elif isinstance(record, _mcap('records').Channel):
            self._topics[record.id] = record

    def _read_summary(self) -> None:
        end = self._size - _FOOTER_SIZE
        footer = self._at(end, _FOOTER_SIZE)
        if not (footer.startswith(_FOOTER) and footer.endswith(MAGIC)):
            raise BagError('')
        begin, _, checksum = struct.unpack_from('<QQI', footer, _HEAD)
        if not len(MAGIC) <= begin < end:
            raise BagError('')
        data = self._at(begin, end - begin) + footer
        if checksum and zlib.crc32(data[: -4 - len(MAGIC)]) != checksum:
            raise BagError('its index is damaged and is not used')
        statistics = None
        for record in _records(data):
            self._declare(record)
            if isinstance(record, _mcap('records').Statistics):
                statistics = record
            elif isinstance(record, _mcap('records').ChunkIndex):
                self._runs.append(self._run(record, trusted=checksum != 0))
        if (
            statistics is None
            or statistics.chunk_count != len(self._runs)
            or statistics.channel_count != len(self._topics)
            or (statistics.message_count and not self._runs)  # outside of chunks
        ):
            raise BagError('')  # nothing wrong, but not enough
        self._runs.sort(key=lambda run: run.begin)
        if any(first.end > second.begin for first, second in pairwise(self._runs)):
            raise BagError('its index contradicts itself')  # one chunk stands there twice
        self._runs = [x for x in self._runs if (x.first, x.last) != _EMPTY]
        if statistics.message_count:
            first, last = statistics.message_start_time, statistics.message_end_time
            earliest = min((run.first for run in self._runs), default=FOREVER)
            latest = max((run.last for run in self._runs), default=0)
            if not earliest <= first <= last <= latest:
                raise BagError('its statistics contradict its index')
            self.start, self.end = first, last
        self._counted.update(statistics.channel_message_counts)
        self._check_data(begin - _DATA_END_SIZE)

    def _run(self, index: Any, trusted: bool) -> _Run:
        """The chunk that a record of the chunk index describes, if it is really there."""
        begin, length = index.chunk_start_offset, index.chunk_length
        head = self._at(begin, _HEAD) if begin + length <= self._size else b''
        if length < _HEAD or head != RECORD.pack(CHUNK, length - _HEAD):
            raise BagError('its index points to places where no messages are')
        first, last = index.message_start_time, index.message_end_time
        if (first, last) != _EMPTY and not first <= last < FOREVER:
            raise BagError('its index contradicts itself')
        channels = frozenset(index.message_index_offsets) if trusted else None
        return _Run(begin + _HEAD, begin + length, first, last, channels=channels or None)

    def _scan(self) -> str:
        """Walk from record to record, reading everything once; return how that ended, if badly."""
        at, window = len(MAGIC), _LEAST_WINDOW
        while len(head := self._at(at, _HEAD)) == _HEAD:
            opcode, length = RECORD.unpack(head)
            begin, end = at + _HEAD, at + _HEAD + length
            cut = end > self._size
            if opcode == CHUNK:
                self._scan_chunk(_Run(begin, min(end, self._size), cut=cut))
            if cut:
                return self._ending(at, 0 < opcode <= DATA_END and length <= LARGEST)
            if opcode in (DATA_END, FOOTER):
                self._check_data(at)
                return ''
            if opcode in (SCHEMA, CHANNEL, MESSAGE):
                if length > LARGEST:
                    return self._ending(at, False)
                contents = _walked(self._at(at, max(end - at, window)), None)
                end = at + contents[-1]
                try:
                    self._note(_Run(at, end, chunk=False), contents)
                except BagError:
                    end = at
                if end == at:
                    return self._ending(at, False)
                window = min(max(2 * (end - at), _LEAST_WINDOW), _WINDOW)
            elif opcode == 0:
                return self._ending(at, False)
            at = end
        return self._ending(at, not any(head[1:]) or 0 < head[0] <= DATA_END)

    def _ending(self, at: int, cut: bool) -> str:
        if cut:
            return f'is cut off: it ends at byte {self._size}'
        return f'is damaged at byte {at} of {self._size}'

    def _scan_chunk(self, run: _Run) -> None:
        """Read a chunk; what is damaged is left out, and said unless the file ends there."""
        try:
            self._note(run, self._read(run, None))
        except BagError as error:
            if not run.cut:
                where = f'at byte {run.begin}; the messages of this chunk are left out'
                self.damage(f'is damaged: {error} {where}.')

    def _note(self, run: _Run, contents: _Contents) -> None:
        messages, declared, _ = contents
        for record in declared:
            self._declare(next(_records(record)))
        if not messages:
            return
        stamps = np.concatenate([stamps for stamps, _ in messages.values()])
        first, last = int(stamps.min()), int(stamps.max())
        self._runs.append(replace(run, first=first, last=last, channels=frozenset(messages)))
        self.start = first if self.start is None else min(first, self.start)
        self.end = last if self.end is None else max(last, self.end)
        self._counted.update({channel: len(x) for channel, (x, _) in messages.items()})

    def _check_data(self, end: int) -> None:
        """Check the checksum over all data, which lie before `end`; few recorders write one."""
        record = self._at(end, _DATA_END_SIZE)
        expected = int.from_bytes(record[_HEAD:], 'little')
        if not record.startswith(RECORD.pack(DATA_END, 4)) or not expected:
            return
        checksum, remaining = 0, end
        self._stream.seek(0)
        while remaining and (data := self._stream.read(min(_WINDOW, remaining))):
            checksum = zlib.crc32(data, checksum)
            remaining -= len(data)
        if checksum != expected:
            self.damage('is damaged: the checksum over all data is wrong.')


def _mcap(module: str) -> Any:
    return library(f'mcap.{module}', 'Reading an mcap file')


def _records(data: bytes) -> Iterator[Any]:
    """Records, the last of them a footer unless only the first is asked for."""
    reader = _mcap('stream_reader').StreamReader(BytesIO(data), skip_magic=True, emit_chunks=True)
    try:
        yield from reader.records
    except (_mcap('exceptions').McapError, struct.error, ValueError, OverflowError) as error:
        raise BagError('a record is shorter than its fields') from error


def _unpacked(body: bytes, expansion: Expansion, *, partial: bool) -> Raw:
    """Decompress the body of a chunk record and check its checksum.

    Args:
        body: of the record.
        expansion: of the chunks of this file.
        partial: the file ends inside this chunk; return what there is of it.

    Raises:
        BagError: it cannot be decompressed or grows beyond all measure, or size or checksum are
            wrong.
    """
    try:
        _, _, size, checksum, named = _CHUNK.unpack_from(body)
        compression = body[_CHUNK.size : _CHUNK.size + named].decode()
        (length,) = _LENGTH.unpack_from(body, _CHUNK.size + named)
    except (struct.error, UnicodeDecodeError) as error:
        raise BagError('a record is shorter than its fields') from error
    packed = memoryview(body)[_CHUNK.size + named + _LENGTH.size :][:length]
    if size > LARGEST:
        raise BagError(f'a chunk claims {size} bytes')
    try:
        expansion.add(len(packed), size if compression else len(packed))
    except BagError as error:
        raise BagError(f'a chunk is refused: {error}', kind=error.kind) from error
    records = _decompressed(packed, compression, size)
    if partial:
        return records
    if len(packed) != length or len(records) != size:
        raise BagError('a chunk has another length than it states')
    if checksum and zlib.crc32(records) != checksum:
        raise BagError("a chunk's checksum is wrong")
    return records


def _decompressed(packed: memoryview, compression: str, size: int) -> Raw:
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


def _walked(records: Raw, wanted: Collection[int] | None) -> _Contents:
    """Walk over records in memory, up to their end or up to what is none (`wanted`: as above)."""
    data = np.frombuffer(records, np.uint8)
    count, size = _walk(data, np.empty((0, 5), np.int64))
    found = np.empty((count, 5), np.int64)
    _walk(data, found)
    opcodes, channels, stamps, begins, ends = found.T
    of_messages = opcodes == MESSAGE
    messages = {}
    for channel in np.unique(channels[of_messages]).tolist() if wanted is None else wanted:
        rows = np.flatnonzero(of_messages & (channels == channel))
        if len(rows):
            raws = Raws.cut(data, begins[rows], ends[rows] - begins[rows])
            messages[channel] = stamps[rows], raws
    others = np.flatnonzero(~of_messages) if wanted is None else ()
    declared = [bytes(records[begins[row] - _HEAD : ends[row]]) for row in others]
    return messages, declared, size


@kernel
def _walk(records: npt.NDArray[np.uint8], found: npt.NDArray[np.int64]) -> tuple[int, int]:
    """Find the records of messages, schemas and channels.

    Args:
        records: (N,) bytes.
        found: (T, 5) written to as far as it goes: opcode, channel, stamp [ns], and where message
            or body begin and end; channel and stamp are zero where it is no message.

    Returns:
        How many there are, and how many bytes make sense as records.
    """
    count, at = 0, 0
    while len(records) - at >= _HEAD:
        opcode, length = records[at], _number(records[at + 1 : at + _HEAD])
        begin, channel, stamp = at + _HEAD, np.uint64(0), np.uint64(0)
        if opcode in (0, CHUNK, DATA_END, FOOTER) or length > np.uint64(len(records) - begin):
            break
        end = begin + np.int64(length)
        if opcode == MESSAGE:
            if end - begin < _BEFORE_DATA:
                break
            channel = _number(records[begin : begin + 2])
            stamp = _number(records[begin + 6 : begin + 14])
            if stamp >= _FOREVER:
                break
            begin += _BEFORE_DATA
        if opcode in (MESSAGE, SCHEMA, CHANNEL):
            if count < len(found):
                entry = found[count]
                entry[0], entry[1], entry[2] = opcode, channel, stamp
                entry[3], entry[4] = begin, end
            count += 1
        at = end
    return count, at


@kernel
def _number(data: npt.NDArray[np.uint8]) -> Any:
    """Unsigned integer of up to eight bytes, the lowest first."""
    number = np.uint64(0)
    for k in range(len(data)):
        number |= np.uint64(data[k]) << np.uint64(8 * k)
    return number
