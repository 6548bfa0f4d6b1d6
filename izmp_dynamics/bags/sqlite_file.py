"""A sqlite3 container of rosbag2 (schema versions 1 to 4) as a stream of blocks.

A whole file is read in the order of its time index. A file that is shorter than its header says
is read page by page (`sqlite_salvage`). The file is opened as immutable: nothing is ever written
beside it. If a killed recorder left a write-ahead log, a copy of both in the temporary folder is
read instead.
"""

import sqlite3
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.scratch import Scratch
from izmp_dynamics.bags.sqlite_database import Database
from izmp_dynamics.bags.sqlite_salvage import Salvage, header_size
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, read_up_to
from izmp_dynamics.bags.typestores import normalised
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import BagError

_BLOCK = 4096
"""Messages per block."""

_BLOCK_SIZE = 2**25
"""Bytes after which a block ends."""

_LEAST_ROW = 8
"""Bytes that a row of the messages needs at least, beside its data."""

_FEW = 16
"""Rows that are fetched at a time."""

_PIECE = 2**20

Row = tuple[int, int, bytes]
"""Channel id, stamp [ns] and serialized message."""

_FAILURES = (sqlite3.Error, ValueError, TypeError, OverflowError)
"""What reading a damaged database raises: names that are no text, numbers that are none …"""


class SqliteFile:
    """An open sqlite3 container; see `storage.Storage` for the attributes."""

    kind = 'sqlite3'

    def __init__(self, path: Path, scratch: Scratch) -> None:
        """Open a file.

        Args:
            path: the file.
            scratch: where it is copied to if a write-ahead log lies beside it.

        Raises:
            BagError: it is no rosbag2 database, or the temporary folder is full.
        """
        self.path = path
        self.damages: list[str] = []
        self.notes: list[str] = []
        self.counts: dict[int, int] | None = None
        self.start: int | None = None
        self.end: int | None = None
        self._salvage: Salvage | None = None
        self._size = path.stat().st_size
        self._database = self._connect(scratch)
        try:
            self._open()
        except _FAILURES as error:
            self.close()
            hint = ' '.join(self.notes)
            reason = self._database.reason(error)
            raise BagError(
                f"'{path}' is no readable rosbag2 database ({reason}). {hint}".rstrip(),
                kind='not_rosbag2', path=path,
            ) from error  # fmt: skip
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """Blocks of some thousand messages, in the order of their stamps."""
        if self._salvage:
            yield from self._salvaged(self._salvage, wanted)
        else:
            yield from self._queried(wanted)

    def _connect(self, scratch: Scratch) -> Database:
        """Open the file, or a copy that is merged with its write-ahead log."""
        log, journal = (
            self.path.with_name(self.path.name + suffix) for suffix in ('-wal', '-journal')
        )
        if journal.is_file() and journal.stat().st_size:
            self.notes.append(
                f"'{journal.name}' belongs to a recorder that was killed while it wrote. Keep a "
                f"copy of both files: any program that opens '{self.path.name}' with sqlite "
                'removes what was recorded since the last commit.'
            )
        if not (log.is_file() and log.stat().st_size):
            return Database(self.path, self._size, own=False)
        self._size += log.stat().st_size
        copy = scratch.write(f'merged_{self.path.name}', _pieces(self.path))
        scratch.write(f'{copy.name}-wal', _pieces(log))
        self.notes.append(
            f"'{log.name}' holds the last messages of a recorder that was killed; they are read."
        )
        return Database(copy, self._size, own=True)

    def _open(self) -> None:
        size = header_size(self.path)
        if size > self._size:
            self._database.allow_damaged_schema()
        self.channels = self._read_channels()
        if not self._database.columns('messages') >= {'id', 'topic_id', 'timestamp', 'data'}:
            raise sqlite3.DatabaseError('it has no table of messages')
        if size > self._size:
            self._open_cut(size)
        else:
            self.start = self._stamp('SELECT MIN(timestamp) FROM messages')
            self.end = self._stamp('SELECT MAX(timestamp) FROM messages')

    def _open_cut(self, size: int) -> None:
        """Find out what a file that is too short still holds."""
        self._salvage = Salvage(self.path, self.channels)
        counts: dict[int, int] = dict.fromkeys(self.channels, 0)
        for channel, stamp, _ in self._salvage.messages():
            counts[channel] += 1
            self.start = stamp if self.start is None else min(stamp, self.start)
            self.end = stamp if self.end is None else max(stamp, self.end)
        self.counts = counts
        actual, read = self.path.stat().st_size, read_up_to(self.start, self.end)
        self.damages.append(f"'{self.path.name}' is cut off at byte {actual} of {size}; {read}")

    def _stamp(self, query: str) -> int | None:
        value: int | None
        (value,) = self._database.query(query).fetchone()
        if value is not None and (not isinstance(value, int) or abs(value) >= FOREVER):
            raise sqlite3.DatabaseError('its stamps are no times')
        return value

    def count(self) -> dict[int, int]:
        """Number of messages by channel; reads the whole file the first time."""
        if self.counts is None:
            query = 'SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id'
            try:
                self.counts = dict(self._database.query(query).fetchall())
            except _FAILURES:  # reading shows how far it is damaged
                self.counts = {}
        return self.counts

    def _read_channels(self) -> dict[int, Channel]:
        columns = self._database.columns('topics')
        if not columns:
            raise sqlite3.DatabaseError('it has no table of topics')
        type_hash = 'type_description_hash' if 'type_description_hash' in columns else "''"
        rows = self._database.query(
            f'SELECT id, name, type, serialization_format, {type_hash} FROM topics'
        ).fetchall()
        definitions = self._read_definitions()
        return {
            int(number): Channel(
                str(name),
                normalised(str(msgtype)),
                str(encoding),
                *definitions.get(str(msgtype), ('', 'ros2msg')),
                str(digest or ''),
            )
            for number, name, msgtype, encoding, digest in rows
        }

    def _read_definitions(self) -> dict[str, tuple[str, str]]:
        """Message type → its definition and the encoding of that."""
        if not self._database.columns('message_definitions'):
            return {}
        rows = self._database.query(
            'SELECT topic_type, encoded_message_definition, encoding FROM message_definitions'
        )
        return {str(name): (str(text), str(encoding)) for name, text, encoding in rows}

    def _queried(self, wanted: Collection[int]) -> Iterator[Block]:
        marks = ','.join('?' * len(wanted))
        query = (
            f'SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({marks}) '
            'ORDER BY timestamp, id'
        )
        last: int | None = None
        try:
            for rows in _blocks(self._database.query(query, tuple(wanted)), self._size):
                last = rows[-1][1] if type(rows[-1][1]) is int else last
                yield _block(rows, self.start or 0 if last is None else last)
        except _FAILURES as error:
            self._damaged(self._database.reason(error), last)

    def _salvaged(self, salvage: Salvage, wanted: Collection[int]) -> Iterator[Block]:
        """Messages in the order in which they were written, which is nearly that of time."""
        rows: list[tuple[int, int, bytes]] = []
        for message in salvage.messages():
            if message[0] in wanted:
                rows.append(message)
            if len(rows) == _BLOCK:
                yield _block(rows, rows[-1][1] - NANOSECONDS)
                rows = []
        yield _block(rows, FOREVER)

    def _damaged(self, reason: str, last: int | None) -> None:
        sentence = f"'{self.path.name}' is damaged ({reason}); {read_up_to(self.start, last)}"
        if sentence not in self.damages:
            self.damages.append(sentence)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open('rb') as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _blocks(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    """Group rows to blocks.

    Raises:
        sqlite3.DatabaseError: they need more space than the file has.
    """
    block: list[Row] = []
    total, limit = 0, _BLOCK_SIZE
    while few := list(islice(rows, _FEW)):
        total += sum(len(row[2]) for row in few if isinstance(row[2], (bytes, str)))
        total += _LEAST_ROW * len(few)
        if total > size:
            raise sqlite3.DatabaseError('its rows need more space than the file has')
        block += few
        if len(block) >= _BLOCK or total > limit:
            yield block
            block, limit = [], total + _BLOCK_SIZE
    if block:
        yield block


def _block(rows: list[tuple[int, int, bytes]], horizon: int) -> Block:
    """Sort rows by channel; what a damaged database gives instead of numbers is left out."""
    messages: dict[int, tuple[list[int], list[bytes]]] = {}
    for channel, stamp, raw in rows:
        if type(raw) is bytes and type(stamp) is int and abs(stamp) < FOREVER:
            if channel not in messages:
                messages[channel] = ([], [])
            messages[channel][0].append(stamp)
            messages[channel][1].append(raw)
    arrays = {
        c: (np.array(stamps, np.int64), Raws.of(raws)) for c, (stamps, raws) in messages.items()
    }
    return Block(arrays, horizon)
