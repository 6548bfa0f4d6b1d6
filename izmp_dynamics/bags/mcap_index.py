"""Where the messages of an mcap file lie: by its summary, or by a walk over a damaged file."""

import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise
from typing import BinaryIO

from izmp_dynamics.bags import mcap_records as mcap
from izmp_dynamics.bags.expansion import Expansion
from izmp_dynamics.bags.storage import FOREVER
from izmp_dynamics.base.errors import BagError

_WINDOW = 2**18
"""Records outside of chunks are read in pieces of at most this size [bytes]."""

_LEAST_WINDOW = 2**10
"""Where few records lie between chunks, the pieces are of this size [bytes]."""

_FOOTER = mcap.RECORD.size + 20 + len(mcap.MAGIC)
_OF_MESSAGES = (0, mcap.SCHEMA, mcap.CHANNEL, mcap.MESSAGE)
_EMPTY = (2**63 - 1, 0)
"""First and last stamp that rosbags writes for a chunk without messages."""

_DATA_END = mcap.RECORD.size + 4


@dataclass(frozen=True)
class Run:
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
    first: int
    last: int
    chunk: bool = True
    cut: bool = False
    channels: frozenset[int] | None = None


@dataclass
class Index:
    """All that is known about a file without reading its messages.

    Attributes:
        runs: where messages lie.
        schemas: by id.
        channels: by id.
        counts: channel id → number of messages.
        start: first stamp [ns]; None without messages.
        end: last stamp [ns].
        damages: what could not be read, as parts of sentences.
        reached: offset at which a file without summary stops making sense, or its size if it
            merely ends too early; None when whole.
        cut: whether it ends too early.
    """

    runs: list[Run] = field(default_factory=list)
    schemas: dict[int, mcap.Schema] = field(default_factory=dict)
    channels: dict[int, mcap.ChannelRecord] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    start: int | None = None
    end: int | None = None
    damages: list[str] = field(default_factory=list)
    reached: int | None = None
    cut: bool = False


def read_run(
    stream: BinaryIO, run: Run, wanted: Collection[int] | None, expansion: Expansion
) -> mcap.Contents:
    """Read and check the records of one run; `expansion` counts those of the file.

    Raises:
        BagError: when the run is damaged as a whole.
    """
    if run.end - run.begin > mcap.LARGEST:
        raise BagError(f'a chunk claims {run.end - run.begin} bytes')
    stream.seek(run.begin)
    body = stream.read(run.end - run.begin)
    records = mcap.unpack_chunk(body, expansion, partial=run.cut) if run.chunk else body
    contents = mcap.read_records(records, wanted)
    if contents.size != len(records) and not run.cut:
        raise BagError('records do not follow each other')
    return contents


def index_of(stream: BinaryIO, size: int) -> Index:
    """Index of a file of `size` bytes, by its summary if that can be relied on."""
    summary = _Summary(stream, size)
    try:
        summary.read()
    except BagError as error:
        index = _Scan(stream, size).index
        if str(error):
            index.damages.append(str(error))
        else:  # topics without messages are declared nowhere else
            index.schemas = summary.index.schemas | index.schemas
            index.channels = summary.index.channels | index.channels
        return index
    return summary.index


class _Summary:
    """The summary at the end of a whole file."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.index = Index()
        self._stream = stream
        self._size = size
        self._trusted = False

    def read(self) -> None:
        """Fill the index.

        Raises:
            BagError: there is no summary to rely on; with a sentence if something is wrong.
        """
        begin, records = self._records()
        statistics = self._collect(records)
        if statistics is None or statistics.chunks != len(self.index.runs):
            raise BagError('')
        if statistics.channels != len(self.index.channels) or not (
            self.index.runs or not statistics.messages
        ):
            raise BagError('')  # nothing wrong, but not enough: messages outside of chunks
        self.index.counts = Counter(statistics.counts)
        self._check_order()
        self.index.runs = [x for x in self.index.runs if (x.first, x.last) != _EMPTY]
        if statistics.messages:
            self._span(statistics)
        self.index.damages += _wrong_checksum(self._stream, begin - _DATA_END)

    def _check_order(self) -> None:
        """Refuse an index in which one chunk stands twice, or inside another."""
        runs = sorted(self.index.runs, key=lambda run: run.begin)
        if any(first.end > second.begin for first, second in pairwise(runs)):
            raise BagError('its index contradicts itself')

    def _span(self, statistics: mcap.Statistics) -> None:
        """Apply first and last stamp, if the index agrees."""
        first = min((run.first for run in self.index.runs), default=FOREVER)
        last = max((run.last for run in self.index.runs), default=0)
        if not first <= statistics.start <= statistics.end <= last:
            raise BagError('its statistics contradict its index')
        self.index.start, self.index.end = statistics.start, statistics.end

    def _at(self, offset: int, size: int) -> bytes:
        self._stream.seek(max(0, offset))
        return self._stream.read(size)

    def _records(self) -> tuple[int, bytes]:
        """Where the summary begins, and its records."""
        footer = self._at(self._size - _FOOTER, _FOOTER)
        opening = mcap.RECORD.pack(mcap.FOOTER, 20)
        if not (footer.startswith(opening) and footer.endswith(mcap.MAGIC)):
            raise BagError('')
        fields = mcap.Fields(footer[len(opening) :])
        begin, _, checksum = fields.number(8), fields.number(8), fields.number(4)
        if not len(mcap.MAGIC) <= begin < self._size - _FOOTER:
            raise BagError('')
        summary = self._at(begin, self._size - _FOOTER - begin)
        if checksum and zlib.crc32(summary + footer[: len(opening) + 16]) != checksum:
            raise BagError('its index is damaged and is not used')
        self._trusted = checksum != 0
        return begin, summary

    def _collect(self, records: bytes) -> mcap.Statistics | None:
        statistics, at = None, 0
        while at < len(records):
            opcode, length = mcap.RECORD.unpack(mcap.Fields(records[at : at + 9]).take(9))
            at += mcap.RECORD.size
            body = mcap.Fields(records[at : at + length]).take(length)
            if opcode == mcap.SCHEMA:
                self.index.schemas.update([mcap.Schema.parse(body)])
            elif opcode == mcap.CHANNEL:
                self.index.channels.update([mcap.ChannelRecord.parse(body)])
            elif opcode == mcap.STATISTICS:
                statistics = mcap.Statistics.parse(body)
            elif opcode == mcap.CHUNK_INDEX:
                self.index.runs.append(self._run(body))
            at += length
        return statistics

    def _run(self, body: bytes) -> Run:
        """The chunk that a record of the chunk index describes, if it is really there."""
        first, last, offset, length, channels = mcap.parse_chunk_index(body)
        head = self._at(offset, mcap.RECORD.size) if offset + length <= self._size else b''
        if length < 9 or head != mcap.RECORD.pack(mcap.CHUNK, length - mcap.RECORD.size):
            raise BagError('its index points to places where no messages are')
        begin = offset + mcap.RECORD.size
        if (first, last) != _EMPTY and not first <= last < FOREVER:
            raise BagError('its index contradicts itself')
        known = channels if self._trusted and channels else None
        return Run(begin, offset + length, first, last, channels=known)


class _Scan:
    """Walks from record to record, reading everything once."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self.index = Index()
        self._stream = stream
        self._size = size
        self._expansion = Expansion()
        self._window = _LEAST_WINDOW
        at = len(mcap.MAGIC)
        while (following := self._step(at)) > at:
            at = following
        if following < at:
            self.index.cut = self._ends_within(at)
            self.index.reached = size if self.index.cut else at

    def _ends_within(self, at: int) -> bool:
        """Whether the file ends inside or before a record at the offset `at`."""
        self._stream.seek(at)
        head = self._stream.read(mcap.RECORD.size)
        if len(head) < mcap.RECORD.size:
            return not any(head[1:]) or 0 < head[0] <= mcap.DATA_END
        opcode, length = mcap.RECORD.unpack(head)
        possible = 0 < opcode <= mcap.DATA_END and length <= mcap.LARGEST
        return bool(possible and at + mcap.RECORD.size + length > self._size)

    def _step(self, at: int) -> int:
        """Take what lies at the offset `at`.

        Returns:
            Where to go on; `at` itself at the regular end, −1 where nothing makes sense.
        """
        self._stream.seek(at)
        head = self._stream.read(mcap.RECORD.size)
        if len(head) < mcap.RECORD.size:
            return -1
        opcode, length = mcap.RECORD.unpack(head)
        begin, end = at + mcap.RECORD.size, at + mcap.RECORD.size + int(length)
        whole = end <= self._size
        if opcode in (mcap.DATA_END, mcap.FOOTER) and whole:
            self.index.damages += _wrong_checksum(self._stream, at)
            return at
        if opcode == mcap.CHUNK:
            self._take(Run(begin, min(end, self._size), 0, 0, cut=not whole))
            return end if whole else -1
        if opcode not in _OF_MESSAGES and length > _WINDOW:  # a large attachment
            return end if whole else -1
        if not whole or length > mcap.LARGEST:
            return -1
        return self._loose(at, max(end, min(at + self._window, self._size)))

    def _loose(self, begin: int, end: int) -> int:
        """Take the complete records between two offsets, up to the next chunk."""
        self._stream.seek(begin)
        stop = (0, mcap.CHUNK, mcap.DATA_END, mcap.FOOTER)
        try:
            contents = mcap.read_records(self._stream.read(end - begin), None, stop)
        except BagError:
            return -1
        few = 2 * contents.size < self._window
        self._window = _LEAST_WINDOW if few else min(2 * self._window, _WINDOW)
        self._note(Run(begin, begin + contents.size, 0, 0, chunk=False), contents)
        return begin + contents.size if contents.size else -1

    def _take(self, run: Run) -> None:
        """Read a chunk; what is damaged is left out, and said unless the file ends there."""
        try:
            self._note(run, read_run(self._stream, run, None, self._expansion))
        except BagError as error:
            if not run.cut:
                what = f'{error} at byte {run.begin}; the messages of this chunk are left out'
                self.index.damages.append(what)

    def _note(self, run: Run, contents: mcap.Contents) -> None:
        self.index.schemas.update(contents.schemas)
        self.index.channels.update(contents.channels)
        span = contents.span()
        if span:
            channels = frozenset(contents.messages)
            self.index.runs.append(Run(run.begin, run.end, *span, run.chunk, run.cut, channels))
            first, last = span
            self.index.start = min(first, first if self.index.start is None else self.index.start)
            self.index.end = max(last, last if self.index.end is None else self.index.end)
            for channel, (stamps, _) in contents.messages.items():
                self.index.counts[channel] += len(stamps)


def _wrong_checksum(stream: BinaryIO, end: int) -> list[str]:
    """Check the checksum over all data, which lie before `end`; few recorders write one."""
    stream.seek(end)
    record = stream.read(_DATA_END)
    expected = int.from_bytes(record[mcap.RECORD.size :], 'little')
    if not record.startswith(mcap.RECORD.pack(mcap.DATA_END, 4)) or not expected:
        return []
    checksum, remaining = 0, end
    stream.seek(0)
    while remaining and (data := stream.read(min(_WINDOW, remaining))):
        checksum = zlib.crc32(data, checksum)
        remaining -= len(data)
    return [] if checksum == expected else ['the checksum over all data is wrong']
