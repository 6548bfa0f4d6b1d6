"""Arrays that grow at their end and, of a long recording, are kept in files instead of memory."""

import functools
import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base import selection
from izmp_dynamics.base.conventions import Array, Indices
from izmp_dynamics.base.errors import ReplayError

_MAPPED = 1 << 23
"""Bytes of files that may stay in memory: reading them anew takes time."""

_TAKEN = 1 << 3
"""Rows far apart that are read at a time: with each, the system may map 2 MB around it."""

Rows = npt.NDArray[Any]


class Store:
    """Keeps arrays of one length: in memory, or in nameless files of a folder.

    Args:
        folder: where the files are; None: the arrays are kept in memory.
        block: rows that are worked on at a time, where the arrays are in files.
        small: bytes up to which an array is kept in memory all the same: a file takes longer.
    """

    def __init__(
        self, folder: Path | None = None, block: int = 1 << 15, small: int = 1 << 20
    ) -> None:
        self.folder = folder
        self.block = block
        self.small = small
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._libraries = _files_in_memory()

    def column(self) -> 'Column':
        """Begin an array."""
        if self.folder is None:
            return Column()
        return FileColumn(self.folder, self.small, self._maps)

    def blocks(self, count: int) -> Iterator[slice]:
        """Rows of each block of arrays of some length; after each, `release`."""
        for first in range(0, max(count, 1), self.block):
            yield slice(first, min(first + self.block, count))
            if count > self.block:
                self.release()

    def by_rows(self, count: int, function: Callable[[slice], Any]) -> Any:
        """Compute an array, or a tuple of arrays, whose rows don't depend on each other.

        In files, block by block; what is no longer than a block is kept in memory.

        Args:
            count: length K of the arrays from which it is computed.
            function: gives what follows from some of their rows, as many or fewer.
        """
        if self.folder is None or count <= self.block:
            return function(slice(0, count))
        columns: list[Column] = []
        for rows in self.blocks(count):
            found = function(rows)
            parts = found if isinstance(found, tuple) else (found,)
            columns = columns or [self.column() for _ in parts]
            for column, part in zip(columns, parts, strict=True):
                column.extend(part)
        joined = tuple(column.rows for column in columns)
        return joined if isinstance(found, tuple) else joined[0]

    def running_sum(self, count: int, function: Callable[[slice], Rows]) -> Rows:
        """Sums (K + 1, …) of all rows before each one, and of all.

        Args:
            count: number K of the rows.
            function: gives some of them.
        """
        total = function(slice(0, 0)).sum(axis=0, keepdims=True)

        def before(rows: slice) -> Rows:
            nonlocal total
            sums = np.cumsum(np.concatenate([total, function(rows)]), axis=0)
            total = sums[-1:]
            return sums[:-1] if rows.stop < count else sums

        sums: Rows = self.by_rows(count, before)
        return sums

    def reduce(self, ufunc: np.ufunc, count: int, function: Callable[[slice], Any]) -> Any:
        """Reduce an array of some length to a number or a row.

        Block by block in memory as well, so that sums are the same as in files, bit for bit.

        Args:
            ufunc: joins what two blocks give.
            count: length of the array.
            function: reduces some of its rows.
        """
        return ufunc.reduce([function(rows) for rows in self.blocks(count)], axis=0)

    def has_numbers(self, array: Rows) -> bool:
        """Whether any entry of an array is finite."""
        return any(np.isfinite(array[rows]).any() for rows in self.blocks(len(array)))

    def extremes(self, values: Array) -> tuple[float, float]:
        """Smallest and largest of the finite values (K,); NaN without any."""
        known = self.finite(values)
        if not len(known):
            return math.nan, math.nan
        smallest = self.reduce(np.minimum, len(known), lambda rows: known[rows].min())
        return float(smallest), float(
            self.reduce(np.maximum, len(known), lambda rows: known[rows].max())
        )

    def lowest(self, values: Array) -> int | None:
        """Row of the smallest of values (K,), the first one of equal ones; None without any."""
        lowest, found = math.inf, None
        for rows in self.blocks(len(values)):
            part = values[rows]
            if np.fmin.reduce(part, initial=math.inf) < lowest:
                row = int(np.nanargmin(part))
                lowest, found = float(part[row]), rows.start + row
        return found

    def mean(self, values: Rows) -> float:
        """Mean of the finite values (K,); NaN without any."""
        known = self.finite(values)
        total = self.reduce(np.add, len(known), lambda rows: known[rows].sum())
        return float(total / len(known)) if len(known) else math.nan

    def median(self, values: Array) -> float:
        """Median of the finite values (K,); NaN without any."""
        known = self.finite(values)
        if len(known) <= selection.FEW:
            return float(np.median(known)) if len(known) else math.nan
        middle = self._neighbours(known, (len(known) - 1) // 2)
        return middle[0] if len(known) % 2 else float(np.mean(middle))

    def percentile(self, values: Array, q: float) -> float:
        """Percentile of the finite values (K,), linear as by NumPy; NaN without any."""
        known = self.finite(values)
        if len(known) <= selection.FEW:
            return float(np.percentile(known, q)) if len(known) else math.nan
        place = (len(known) - 1) * (q / 100)
        rank = math.floor(place)
        return float(np.quantile(self._neighbours(known, rank), place - rank))

    def finite(self, values: Rows) -> Rows:
        """The finite ones of values (K,): the array itself if all of them are."""
        if values.flags.c_contiguous and all(
            np.isfinite(values[rows]).all() for rows in self.blocks(len(values))
        ):
            return values
        found: Rows = self.by_rows(
            len(values), lambda rows: values[rows][np.isfinite(values[rows])]
        )
        return found

    def true(self, mask: Rows) -> Indices:
        """Rows at which a mask (K,) is true."""
        found: Indices = self.by_rows(
            len(mask), lambda rows: np.flatnonzero(mask[rows]) + rows.start
        )
        return found

    def changes(self, values: Rows) -> Indices:
        """Rows at which values (K,) differ from those of the row before."""
        found: Indices = self.by_rows(
            max(len(values) - 1, 0),
            lambda rows: (
                np.flatnonzero(values[rows.start + 1 : rows.stop + 1] != values[rows])
                + rows.start
                + 1
            ),
        )
        return np.array(found)

    def take(self, array: Rows, rows: Indices) -> Rows:
        """Read some rows of an array, which lie far apart."""
        return self._few_at_a_time(array, rows, lambda some: array[some])

    def search(self, ascending: Rows, values: Rows) -> Indices:
        """np.searchsorted for values that lie far apart."""
        return self._few_at_a_time(
            ascending, values, lambda some: np.searchsorted(ascending, some)
        )

    def _few_at_a_time(self, array: Rows, values: Rows, function: Callable[[Rows], Rows]) -> Rows:
        if self.folder is None:
            return function(values)
        few = _TAKEN if array.nbytes > _MAPPED else max(len(values), 1)
        parts = []
        for first in range(0, max(len(values), 1), few):
            parts.append(function(values[first : first + few]))
            self.release()
        return np.concatenate(parts)

    def _neighbours(self, values: Array, rank: int) -> tuple[float, float]:
        return selection.neighbours(
            lambda: (values[rows] for rows in self.blocks(len(values))), rank
        )

    def release(self) -> None:
        """Give back the memory into which arrays were read from their files, if it is much.

        They stay valid.
        """
        if not self._maps or _files_in_memory() - self._libraries < _MAPPED:
            return
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)
        self._libraries = _files_in_memory()


def _files_in_memory() -> float:
    """Bytes of files that are in this process's memory; infinite where the system does not say."""
    try:
        return int(os.pread(_statm(os.getpid()), 200, 0).split()[2]) * mmap.PAGESIZE
    except (OSError, IndexError, ValueError):  # the last two: another file took the descriptor
        _statm.cache_clear()
        return math.inf


@functools.cache
def _statm(process: int) -> int:
    """Descriptor of the file in which this process reads its sizes: opening it takes longest."""
    return os.open('/proc/self/statm', os.O_RDONLY | os.O_CLOEXEC)


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
    """Rows in a file, unless they are few, that is gone when nothing refers to it any more.

    Args:
        folder: where it is.
        small: bytes up to which the rows are in memory.
        maps: takes the maps of the file into memory, and does not keep them alive.
    """

    def __init__(self, folder: Path, small: int, maps: 'weakref.WeakSet[mmap.mmap]') -> None:
        super().__init__()
        self._folder, self._small, self._maps = folder, small, maps
        self._file: IO[bytes] | None = None
        self._like = np.empty(0)

    def extend(self, rows: Rows) -> None:
        """Append rows (K, …).

        Raises:
            ReplayError: the disk is full.
        """
        if self._file is None and super().rows.nbytes + rows.nbytes <= self._small:
            super().extend(rows)
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                kept = super().rows
                self._file.write(kept.data)
                self._like = (kept if self._count else rows)[:0].copy()
                self._array = None
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
        if self._file is None:
            rows = super().rows
            rows.setflags(write=False)
            return rows
        shape = self._count, *self._like.shape[1:]
        try:
            mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._not_kept(error) from error
        self._maps.add(mapped)
        return np.frombuffer(mapped, self._like.dtype).reshape(shape)

    def _not_kept(self, error: OSError) -> ReplayError:
        return ReplayError(
            f"What the report needs cannot be kept in '{self._folder}': {error.strerror}.",
            kind='cannot_write', path=self._folder, errno=error.errno,
        )  # fmt: skip
