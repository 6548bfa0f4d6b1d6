"""Columns as long as a recording, in memory or mapped from files, and records of such arrays."""

import mmap
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Indices
from izmp_dynamics.base.errors import ReplayError

Rows = npt.NDArray[Any]


class Columns:
    """Makes columns, which are in nameless files of a folder where they are large.

    Args:
        folder: of the files; None: all columns are in memory.
        block: rows that are worked on at a time where columns are in files.
        small: bytes up to which a column stays in memory.
    """

    def __init__(
        self, folder: Path | None = None, block: int = 1 << 15, small: int = 1 << 20
    ) -> None:
        self.folder, self.block, self.small = folder, block, small
        self.maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def by_blocks(self, count: int, function: Callable[[slice], Any]) -> Any:
        """Compute an array, or several by number or name, of which rows depend on few others.

        Args:
            count: number K of the rows.
            function: gives what follows for some of the K rows; with files, block by block.
        """
        if self.folder is None or count <= self.block:
            return function(slice(0, count))
        columns: list[Column] = []
        for first in range(0, count, self.block):
            found = function(slice(first, min(first + self.block, count)))
            parts = found if isinstance(found, tuple) else (found,)
            parts = tuple(found.values()) if isinstance(found, dict) else parts
            columns = columns or [Column(self) for _ in parts]
            for column, part in zip(columns, parts, strict=True):
                column.extend(part)
            self.release()
        joined = tuple(column.rows for column in columns)
        if isinstance(found, dict):
            return dict(zip(found, joined, strict=True))
        return joined if isinstance(found, tuple) else joined[0]

    def take(self, array: Rows, rows: Indices) -> Rows:
        """Read some rows of an array that lie far apart, with which much else is mapped."""
        taken: Rows = array[rows]
        self.release()
        return taken

    def release(self) -> None:
        """Give back the memory into which files are mapped; the arrays stay valid."""
        for mapped in self.maps:
            mapped.madvise(mmap.MADV_DONTNEED)


class Column:
    """Rows in the order in which they came.

    Args:
        columns: says whether they may be in a file.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._array: Rows | None = None
        self._file: IO[bytes] | None = None
        self._count = 0

    def extend(self, rows: Rows) -> None:
        """Append rows (K, …); all must have one type and, but for K, one shape.

        Raises:
            ReplayError: the disk is full.
        """
        array, end = self._array, self._count + len(rows)
        if array is None or (self._file is None and end > len(array)):
            like = rows if array is None else array
            longer = np.empty((max(end, 2 * self._count), *like.shape[1:]), like.dtype)
            longer[: self._count] = like[: self._count]
            array = self._array = longer
        if self._columns.folder is not None and end * array[:1].nbytes > self._columns.small:
            self._write(self._columns.folder, array, rows)
        else:
            array[self._count : end] = rows
        self._count = end

    def _write(self, folder: Path, array: Rows, rows: Rows) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
                self._file.write(array[: self._count].data)
                self._array = array[:1].copy()  # of which only type and shape count
            self._file.write(np.ascontiguousarray(rows, array.dtype).data)
            self._file.flush()
        except OSError as error:
            raise _not_kept(folder, error) from error

    @property
    def rows(self) -> Rows:
        """All rows; a view that stays as it is when more are appended. (0,) before any came.

        Raises:
            ReplayError: the file cannot be mapped into memory.
        """
        if self._array is None:
            return np.empty(0)
        if self._file is None:
            return self._array[: self._count]
        try:
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise _not_kept(self._columns.folder, error) from error
        self._columns.maps.add(mapped)
        flat = np.frombuffer(mapped, self._array.dtype)
        return flat.reshape(self._count, *self._array.shape[1:])


def _not_kept(folder: Path | None, error: OSError) -> ReplayError:
    return ReplayError(
        f"What the report needs cannot be kept in '{folder}': {error.strerror}.",
        kind='cannot_write', path=folder, errno=error.errno,
    )  # fmt: skip


Kind = TypeVar('Kind', bound='Record')


class Record:
    """Base of dataclasses whose fields are arrays of K rows each, one row per instant.

    Fields may also be such records, and tuples or dictionaries of both; others hold for all
    instants.
    """

    __match_args__: ClassVar[tuple[str, ...]]  # the names of the fields; a dataclass sets it

    def __len__(self) -> int:
        return len(getattr(self, self.__match_args__[0]))

    def select(self: Kind, rows: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | slice) -> Kind:
        """Return the instants that `rows` selects: a mask (K,), indices (k,) or a slice."""
        return type(self)(*(_selected(getattr(self, n), rows) for n in self.__match_args__))

    @classmethod
    def joined(cls: type[Kind], parts: Sequence[Kind]) -> Kind:
        """Return the instants of all parts, one after the other; there is at least one part."""
        some = [part for part in parts if len(part)] or [parts[0]]
        joined: Kind = some[0] if len(some) == 1 else _joined(some)
        return joined


def _selected(part: Any, rows: Any) -> Any:
    if isinstance(part, Record):
        return part.select(rows)
    if isinstance(part, dict):
        return {name: _selected(values, rows) for name, values in part.items()}
    if type(part) is tuple and part and isinstance(part[0], Record | np.ndarray):
        return tuple(_selected(values, rows) for values in part)
    return part[rows] if isinstance(part, np.ndarray) else part


def _joined(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if isinstance(first, Record):
        names = first.__match_args__
        return type(first)(*(_joined([getattr(part, name) for part in parts]) for name in names))
    if isinstance(first, dict):  # what all parts have
        shared = [name for name in first if all(name in part for part in parts)]
        return {name: np.concatenate([part[name] for part in parts]) for name in shared}
    return np.concatenate(parts) if isinstance(first, np.ndarray) else first
