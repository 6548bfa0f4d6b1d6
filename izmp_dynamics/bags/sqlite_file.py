"""A sqlite3 container of rosbag2 (schema versions 1 to 4) as a stream of blocks.

A whole file is read in the order of its time index. A file that is shorter than its header says
is read page by page (`sqlite_salvage`). The file is opened as immutable: nothing is ever written
beside it, and a write-ahead log of a killed recorder is reported, not merged.
"""

import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np

from izmp_dynamics.bags.sqlite_salvage import Salvage, header_size
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, read_up_to
from izmp_dynamics.bags.typestores import normalised
from izmp_dynamics.conventions import NANOSECONDS
from izmp_dynamics.errors import BagError

_BLOCK = 4096
"""Messages per block."""

_FAILURES = (sqlite3.Error, ValueError, TypeError, OverflowError)
"""What reading a damaged database raises: names that are no text, numbers that are none …"""


class SqliteFile:
    """An open sqlite3 container; see `storage.Storage` for the attributes."""

    kind = 'sqlite3'

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damages: list[str] = []
        self.notes = _companions(path)
        self.counts: dict[int, int] | None = None
        self.start: int | None = None
        self.end: int | None = None
        self._salvage: Salvage | None = None
        uri = f'file:{quote(str(path))}?mode=ro&immutable=1'
        self._database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            self._open()
        except _FAILURES as error:
            self.close()
            hint = ' '.join(self.notes)
            raise BagError(
                f"'{path}' is no readable rosbag2 database ({error}). {hint}".rstrip(),
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

    def _open(self) -> None:
        size = header_size(self.path)
        if size > self.path.stat().st_size:
            self._database.execute('PRAGMA writable_schema=ON')  # else a cut file is refused
        self.channels = self._read_channels()
        if size > self.path.stat().st_size:
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
        (value,) = self._database.execute(query).fetchone()
        if value is not None and (not isinstance(value, int) or abs(value) >= FOREVER):
            raise sqlite3.DatabaseError('its stamps are no times')
        return value

    def count(self) -> dict[int, int]:
        """Number of messages by channel; reads the whole file the first time."""
        if self.counts is None:
            query = 'SELECT topic_id, COUNT(*) FROM messages GROUP BY topic_id'
            try:
                self.counts = dict(self._database.execute(query).fetchall())
            except _FAILURES:  # reading shows how far it is damaged
                self.counts = {}
        return self.counts

    def _read_channels(self) -> dict[int, Channel]:
        columns = {row[1] for row in self._database.execute('PRAGMA table_info(topics)')}
        if not columns:
            raise sqlite3.DatabaseError('it has no table of topics')
        type_hash = 'type_description_hash' if 'type_description_hash' in columns else "''"
        rows = self._database.execute(
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
        if not self._database.execute('PRAGMA table_info(message_definitions)').fetchall():
            return {}
        rows = self._database.execute(
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
            cursor = self._database.execute(query, tuple(wanted))
            while rows := cursor.fetchmany(_BLOCK):
                last = rows[-1][1] if type(rows[-1][1]) is int else last
                yield _block(rows, self.start or 0 if last is None else last)
        except _FAILURES as error:
            self._damaged(error, last)

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

    def _damaged(self, error: Exception, last: int | None) -> None:
        sentence = f"'{self.path.name}' is damaged ({error}); {read_up_to(self.start, last)}"
        if sentence not in self.damages:
            self.damages.append(sentence)


def _block(rows: list[tuple[int, int, bytes]], horizon: int) -> Block:
    """Sort rows by channel; what a damaged database gives instead of numbers is left out."""
    messages: dict[int, tuple[list[int], list[bytes]]] = {}
    for channel, stamp, raw in rows:
        if type(raw) is bytes and type(stamp) is int and abs(stamp) < FOREVER:
            if channel not in messages:
                messages[channel] = ([], [])
            messages[channel][0].append(stamp)
            messages[channel][1].append(raw)
    arrays = {c: (np.array(stamps, np.int64), raws) for c, (stamps, raws) in messages.items()}
    return Block(arrays, horizon)


def _companions(path: Path) -> list[str]:
    """What a killed recorder left beside the database."""
    notes = []
    for suffix in ('-wal', '-journal'):
        companion = path.with_name(path.name + suffix)
        if companion.is_file() and companion.stat().st_size:
            notes.append(
                f"'{companion.name}' holds changes that are not read; merge them first with: "
                f"sqlite3 '{path}' 'PRAGMA wal_checkpoint'"
            )
    return notes
