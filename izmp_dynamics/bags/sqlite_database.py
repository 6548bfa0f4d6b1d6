"""A connection to a database of unknown origin: read only, and within limits of time and memory.

A damaged or contrived database may have rows larger than itself, trees that contain themselves,
or views and virtual tables that compute without end. What a query may take is bounded by the size
of the file.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

_STEPS = 10_000
"""Instructions of sqlite's virtual machine between two looks at the limit."""

_STEPS_PER_BYTE = 8
"""A row takes tens of instructions and at least ten bytes."""

_LEAST_STEPS = 1_000_000

_LIMIT_LENGTH = 0  # sqlite3.SQLITE_LIMIT_LENGTH, the longest text, blob or row [bytes]


class Database:
    """An open database."""

    def __init__(self, path: Path, size: int, own: bool) -> None:
        """Open a file.

        Args:
            path: the file.
            size: its size with its log [bytes].
            own: it is a copy that may be changed; else nothing is written, nor locked.

        Raises:
            sqlite3.Error: it cannot be opened.
        """
        mode = 'mode=rw' if own else 'mode=ro&immutable=1'
        uri = f'file:{quote(str(path))}?{mode}'
        self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        if hasattr(self._connection, 'setlimit'):  # from Python 3.11 on
            self._connection.setlimit(_LIMIT_LENGTH, max(size, 2**20))
        self._most_steps = _LEAST_STEPS + _STEPS_PER_BYTE * size
        self._steps = 0
        self._connection.set_progress_handler(self._count, _STEPS)

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def query(self, text: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Begin a query.

        Raises:
            sqlite3.Error: the database is damaged, or the query takes too long.
        """
        self._steps = 0
        return self._connection.execute(text, values)

    def allow_damaged_schema(self) -> None:
        """Read also a file that is shorter than its header says."""
        self.query('PRAGMA writable_schema=ON')

    def columns(self, table: str) -> set[str]:
        """Names of the columns of an ordinary table; empty if there is none.

        Raises:
            sqlite3.DatabaseError: the name is that of a view or of a computed table.
        """
        master = 'SELECT type, rootpage FROM sqlite_master WHERE name = ?'
        for kind, page in self.query(master, (table,)):
            if kind != 'table' or not page:
                raise sqlite3.DatabaseError(f'its {table} are not a table but computed')
        columns = self.query(f'PRAGMA table_xinfo({table})').fetchall()
        if any(column[6] for column in columns):
            raise sqlite3.DatabaseError(f'a column of its table {table} is computed')
        return {str(column[1]) for column in columns}

    def reason(self, error: Exception) -> str:
        """What an error of a query means."""
        if self._steps > self._most_steps:
            return 'it takes longer to read than its size explains'
        return str(error)

    def _count(self) -> bool:
        self._steps += _STEPS
        return self._steps > self._most_steps
