"""A sqlite3 container of rosbag2 (schema versions 1 to 4) as a stream of blocks.

A file is read in the order of its time index. It is opened as immutable: nothing is ever written
beside it. If a killed recorder left a write-ahead log, a copy of both in the temporary folder is
read instead. A damaged or contrived database may have rows larger than itself, trees that contain
themselves, or views and virtual tables that compute without end: what a query may take is bounded
by the size of the file.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, Scratch, Storage
from izmp_dynamics.bags.typestores import normalised
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

_STEPS = 10_000
"""Instructions of sqlite's virtual machine between two looks at the limit."""

_STEPS_PER_BYTE = 8
"""A row takes tens of instructions and at least ten bytes."""

_LEAST_STEPS = 1_000_000

_LIMIT_LENGTH = 0  # sqlite3.SQLITE_LIMIT_LENGTH, the longest text, blob or row [bytes]

_MESSAGES = {'id', 'topic_id', 'timestamp', 'data'}

Row = tuple[int, int, bytes]
"""Channel id, stamp [ns] and serialized message."""

_FAILURES = (sqlite3.Error, ValueError, TypeError, OverflowError)
"""What reading a damaged database raises: names that are no text, numbers that are none …"""


class SqliteFile(Storage):
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
        super().__init__(path)
        self._size = path.stat().st_size
        self._connect(scratch)
        try:
            (page,) = self._query('PRAGMA page_size').fetchone()
            logged = _has_bytes(path.with_name(path.name + '-wal'))  # then the page is in the log
            if path.stat().st_size % page and not logged:  # sqlite would read zeros behind the end
                raise sqlite3.DatabaseError('it is malformed: its last page is cut off')
            self.channels = self._read_channels()
            if not self._columns('messages') >= _MESSAGES:
                raise sqlite3.DatabaseError('it has no table of messages')
            self.start = self._stamp('MIN')
            self.end = self._stamp('MAX')
        except _FAILURES as error:
            self.close()
            hints = [*self.notes]
            if isinstance(error, sqlite3.DatabaseError) and 'malformed' in str(error):
                hints.append('If it is cut off, `sqlite3 FILE .recover` may save what is there.')
            what = f"'{path}' is not a readable rosbag2 database ({self._reason(error)})."
            raise BagError(' '.join([what, *hints]), kind='not_rosbag2', path=path) from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def count(self) -> dict[int, int]:
        """Number of messages by channel id; reads the whole file the first time."""
        if self.counts is None:
            query = 'SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id'
            try:
                self.counts = dict(self._query(query).fetchall())
            except _FAILURES:  # reading shows how far it is damaged
                self.counts = {}
        return self.counts

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """Blocks of some thousand messages, in the order of their stamps."""
        marks = ','.join('?' * len(wanted))
        query = (
            f'SELECT topic_id, timestamp, data FROM messages WHERE topic_id IN ({marks}) '
            'ORDER BY timestamp, id'
        )
        last: int | None = None
        try:
            for rows in _blocks(self._query(query, wanted), self._size):
                last = rows[-1][1] if type(rows[-1][1]) is int else last
                yield _block(rows, self.start or 0 if last is None else last)
        except _FAILURES as error:
            self.damage(f'is damaged ({self._reason(error)}); {self.read_up_to(last)}')

    # -- database ---------------------------------------------------------------------------------

    def _connect(self, scratch: Scratch) -> None:
        """Open the file, or a copy that is merged with its write-ahead log."""
        path, mode = self.path, 'mode=ro&immutable=1'
        log, journal = (path.with_name(path.name + suffix) for suffix in ('-wal', '-journal'))
        if _has_bytes(journal):
            self.notes.append(
                f"'{journal.name}' belongs to a recorder that was killed while it wrote. Keep a "
                f"copy of both files: any program that opens '{path.name}' with sqlite "
                'removes what was recorded since the last commit.'
            )
        if _has_bytes(log):
            self._size += log.stat().st_size
            path, mode = scratch.write(f'merged_{path.name}', _pieces(path)), 'mode=rw'
            scratch.write(f'{path.name}-wal', _pieces(log))
            self.notes.append(
                f"'{log.name}' holds the last messages of a recorder that was killed; they are "
                'read.'
            )
        uri = f'file:{quote(str(path))}?{mode}'
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        if hasattr(self._connection, 'setlimit'):  # from Python 3.11 on
            self._connection.setlimit(_LIMIT_LENGTH, max(self._size, 2**20))
        self._most_steps = _LEAST_STEPS + _STEPS_PER_BYTE * self._size
        self._connection.set_progress_handler(self._count_steps, _STEPS)

    def _query(self, text: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        self._steps = 0
        return self._connection.execute(text, tuple(values))

    def _count_steps(self) -> bool:
        self._steps += _STEPS
        return self._steps > self._most_steps

    def _reason(self, error: Exception) -> str:
        if self._steps > self._most_steps:
            return 'it takes longer to read than its size explains'
        return str(error)

    def _columns(self, table: str) -> set[str]:
        """Names of the columns of an ordinary table; empty if there is none.

        Raises:
            sqlite3.DatabaseError: the name is that of a view or of a computed table.
        """
        master = 'SELECT type, rootpage FROM sqlite_master WHERE name = ?'
        for kind, page in self._query(master, (table,)):
            if kind != 'table' or not page:
                raise sqlite3.DatabaseError(f'its {table} are not a table but computed')
        columns = self._query(f'PRAGMA table_xinfo({table})').fetchall()
        if any(column[6] for column in columns):
            raise sqlite3.DatabaseError(f'a column of its table {table} is computed')
        return {str(column[1]) for column in columns}

    def _stamp(self, which: str) -> int | None:
        value: int | None
        (value,) = self._query(f'SELECT {which}(timestamp) FROM messages').fetchone()
        if value is not None and (not isinstance(value, int) or abs(value) >= FOREVER):
            raise sqlite3.DatabaseError('its stamps are not times')
        return value

    def _read_channels(self) -> dict[int, Channel]:
        columns = self._columns('topics')
        if not columns:
            raise sqlite3.DatabaseError('it has no table of topics')
        type_hash = 'type_description_hash' if 'type_description_hash' in columns else "''"
        rows = self._query(
            f'SELECT id, name, type, serialization_format, {type_hash} FROM topics'
        ).fetchall()
        known: dict[str, tuple[str, str]] = {}
        if self._columns('message_definitions'):
            fields = 'topic_type, encoded_message_definition, encoding'
            for name, text, language in self._query(f'SELECT {fields} FROM message_definitions'):
                known[str(name)] = str(text), str(language)
        channels = {}
        for number, topic, msgtype, encoding, digest in rows:
            name, definition = str(msgtype), known.get(str(msgtype), ('', 'ros2msg'))
            channels[int(number)] = Channel(
                str(topic), normalised(name), str(encoding), *definition, str(digest or '')
            )
        return channels


def _has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open('rb') as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _blocks(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
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


def _block(rows: list[Row], horizon: int) -> Block:
    """Sort rows by channel; what a damaged database gives instead of numbers is left out."""
    messages: dict[int, tuple[list[int], list[bytes]]] = {}
    for channel, stamp, raw in rows:
        if type(raw) is bytes and type(stamp) is int and abs(stamp) < FOREVER:
            stamps, raws = messages.setdefault(channel, ([], []))
            stamps.append(stamp)
            raws.append(raw)
    parts = {c: (np.array(stamps, np.int64), Raws.of(x)) for c, (stamps, x) in messages.items()}
    return Block(parts, horizon)
