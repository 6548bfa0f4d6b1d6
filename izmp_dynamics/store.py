"""Arrays that grow at their end and, of a long recording, are kept in files instead of memory."""

import math
import mmap
import tempfile
import weakref
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.conventions import Indices
from izmp_dynamics.errors import ReplayError

_TAKEN = 1 << 8
"""Rows that are read at a time: with each, the system may map the 64 kB around it."""

Rows = npt.NDArray[Any]


class Store:
    """Keeps arrays of one length: in memory, or in nameless files of a folder.

    Args:
        folder: where the files are; None: the arrays are kept in memory.
        block: rows that are worked on at a time, where the arrays are in files.
    """

    def __init__(self, folder: Path | None = None, block: int = 1 << 15) -> None:
        self.folder = folder
        self.block = block
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()

    def column(self) -> 'Column':
        """Begin an array."""
        return Column() if self.folder is None else FileColumn(self.folder, self._maps)

    def by_rows(self, count: int, function: Callable[[slice], Any]) -> Any:
        """Compute an array whose rows don't depend on each other; in files, block by block.

        Args:
            count: its length K.
            function: gives some of its rows.
        """
        if self.folder is None:
            return function(slice(0, count))
        column = self.column()
        blocks = -(-count // self.block) or 1
        edges = np.linspace(0, count, blocks + 1).astype(np.intp).tolist()
        for first, stop in pairwise(edges):
            column.extend(function(slice(first, stop)))
            self.release()
        return column.rows

    def has_numbers(self, array: Rows) -> bool:
        """Whether any entry of an array is finite."""
        blocks = range(0, len(array), self.block)
        found = any(np.isfinite(array[k : k + self.block]).any() for k in blocks)
        self.release()
        return found

    def take(self, array: Rows, rows: Indices) -> Rows:
        """Read some rows of an array, which lie far apart."""
        if self.folder is None:
            return array[rows]
        parts = []
        for first in range(0, max(len(rows), 1), _TAKEN):
            parts.append(array[rows[first : first + _TAKEN]])
            self.release()
        return np.concatenate(parts)

    def release(self) -> None:
        """Give back the memory into which arrays were read from their files; they stay valid."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)


class Column:
    """Rows in the order in which they came, in memory.

    The array is replaced by one of twice the length when it is full. What is not filled yet takes
    no memory: the operating system gives it when it is written to.
    """

    def __init__(self) -> None:
        self._array: Rows | None = None
        self._count = 0

    def extend(self, rows: Rows) -> None:
        """Append rows (K, …); all must have one type and, but for K, one shape."""
        end = self._count + len(rows)
        if self._array is None or end > len(self._array):
            longer = np.empty((max(end, 2 * self._count), *rows.shape[1:]), rows.dtype)
            if self._array is not None:
                longer[: self._count] = self._array[: self._count]
            self._array = longer
        self._array[self._count : end] = rows
        self._count = end

    @property
    def rows(self) -> Rows:
        """All rows; a view that stays as it is when more are appended. (0,) before any came."""
        return np.empty(0) if self._array is None else self._array[: self._count]


class FileColumn(Column):
    """Rows in a file that is gone when nothing refers to it any more.

    Args:
        folder: where it is.
        maps: takes the maps of the file into memory, and does not keep them alive.
    """

    def __init__(self, folder: Path, maps: 'weakref.WeakSet[mmap.mmap]') -> None:
        super().__init__()
        self._folder, self._maps = folder, maps
        self._file: IO[bytes] | None = None
        self._like = np.empty(0)

    def extend(self, rows: Rows) -> None:
        """Append rows (K, …).

        Raises:
            ReplayError: the disk is full.
        """
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                self._like = np.empty((0, *rows.shape[1:]), rows.dtype)
            self._file.write(np.ascontiguousarray(rows, self._like.dtype).data)
            self._file.flush()
        except OSError as error:
            raise self._not_kept(error) from error
        self._count += len(rows)

    @property
    def rows(self) -> Rows:
        """All rows, read-only.

        Raises:
            ReplayError: the file cannot be mapped into memory.
        """
        like = self._like
        shape = self._count, *like.shape[1:]
        if self._file is None or not math.prod(shape):
            return like.reshape(shape)
        try:
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._not_kept(error) from error
        self._maps.add(mapped)
        return np.frombuffer(mapped, like.dtype).reshape(shape)

    def _not_kept(self, error: OSError) -> ReplayError:
        return ReplayError(
            f"What the report needs cannot be kept in '{self._folder}': {error.strerror}.",
            kind='cannot_write', path=self._folder, errno=error.errno,
        )  # fmt: skip
