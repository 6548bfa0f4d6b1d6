"""Tables of OpenSim: motions (.mot), storage files (.sto), and as MATLAB has them (.mat)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from izmp_dynamics.base.conventions import NANOSECONDS, Array, Stamps
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.files.libraries import library
from izmp_dynamics.files.place import read_regular_file

FIRST_STAMP = NANOSECONDS
"""Stamp of time 0 of a file, as it has no date [ns]."""

_LARGEST, _LONGEST = 2**30, 50.0
_YES, _NO = ('yes', 'true', '1'), ('no', 'false', '0')


@dataclass(frozen=True)
class Table:
    """Columns over time.

    Attributes:
        path: of the file.
        stamps: (T,) strictly increasing [ns]; time 0 is `FIRST_STAMP`.
        names: of C columns, without time.
        values: (T, C) as in the file.
        in_degrees: whether angles are in degrees; None if the file does not say.
    """

    path: Path
    stamps: Stamps
    names: tuple[str, ...]
    values: Array
    in_degrees: bool | None

    def columns(self, names: Sequence[str]) -> Array:
        """(T, n) columns by name.

        Raises:
            UnknownNameError: there is no such column.
        """
        for name in names:
            if name not in self.names:
                raise UnknownNameError('column', name, self.names, f"in '{self.path}'")
        return self.values[:, [self.names.index(name) for name in names]]

    def lengths(self, names: Sequence[str]) -> Array:
        """(T, n) columns with lengths [m]; as `columns`, and BagError if it cannot be metres."""
        values = self.columns(names)
        if (largest := np.abs(values).max()) > _LONGEST:
            what = f'has {largest:g} m in {", ".join(names)}: lengths must be in metres, not in mm'
            raise _bad(self.path, what, 'wrong_unit')
        return values


def read_table(path: Path) -> Table:
    """Read a .mot, .sto or .mat file.

    Raises:
        BagError: it is no such file, or damaged; the message names the line.
        MissingDependencyError: mat-io is not installed, for a .mat file.
    """
    if path.suffix.lower() == '.mat':
        return _read_mat(path)
    try:
        text = read_regular_file(path, _LARGEST).decode('utf-8', errors='replace')
    except OSError as error:
        raise not_readable(path, error.strerror or str(error)) from error
    lines = text.splitlines()
    end = next((k for k, line in enumerate(lines) if line.strip().lower() == 'endheader'), None)
    rows = [(k, line.split()) for k, line in enumerate(lines) if line.strip()]
    rows = [(k, row) for k, row in rows if end is not None and k > end]
    if end is None or not rows:
        raise _bad(path, "has no line 'endheader' followed by names of columns", 'no_header')
    names = rows[0][1]
    values = np.empty((len(rows) - 1, len(names)))
    for t, (k, row) in enumerate(rows[1:]):
        try:
            values[t] = np.array(row, dtype=np.float64)
        except ValueError:
            where = f'line {k + 1} has {len(row)} values for {len(names)} columns'
            if len(row) == len(names):
                where = f'line {k + 1} holds something that is not a number'
            raise _bad(path, f'is damaged: {where}', 'bad_row') from None
    lines_of_rows = [f'line {k + 1}' for k, _ in rows[1:]]
    return _checked(path, names, values, lines_of_rows, _in_degrees(path, lines[:end]))


def _read_mat(path: Path) -> Table:
    """The first table of a .mat file; its time is the first column."""
    matio = library('matio', "Reading MATLAB's tables", 'mat-io')
    try:
        read_regular_file(path, _LARGEST)  # the library waits for pipes
        found = matio.load_from_mat(str(path))
    except OSError as error:
        raise not_readable(path, error.strerror or str(error)) from error
    except Exception as error:  # of the library, without a common base
        raise not_readable(path, f'it is not a MATLAB file ({error})') from error
    table = next((value for value in found.values() if hasattr(value, 'columns')), None)
    if table is None:
        raise _bad(path, 'holds no table of MATLAB', 'no_header')
    names = [str(name) for name in table.columns]
    try:
        values = table.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise _bad(path, 'holds something that is not a number', 'bad_row') from None
    rows = [f'row {k + 1}' for k in range(len(values))]
    return _checked(path, ['time', *names[1:]] if names[0] == 'Header' else names, values, rows)


def _checked(
    path: Path,
    names: Sequence[str],
    values: Array,
    rows: Sequence[str],
    in_degrees: bool | None = None,
) -> Table:
    """The table, if it is one of numbers over time; rows: where each is in the file."""
    if names[0].lower() != 'time':
        raise _bad(path, f"begins with the column '{names[0]}', not with time", 'no_time')
    if len(values) < 3:
        raise _bad(path, f'has {len(values)} rows; at least 3 are needed', 'too_short')
    if not np.isfinite(values).all():
        t, c = np.argwhere(~np.isfinite(values))[0]
        what = f"has no finite number in column '{names[c]}', {rows[t]}"
        raise _bad(path, what, 'not_finite')
    stamps = np.round(values[:, 0] * NANOSECONDS).astype(np.int64) + FIRST_STAMP
    if (np.diff(stamps) <= 0).any():
        row = rows[int(np.argmax(np.diff(stamps) <= 0)) + 1]
        raise _bad(path, f'has a time that does not increase, {row}', 'bad_time')
    if stamps[0] < 0:
        raise _bad(path, f'begins at {values[0, 0]:g} s; times begin at -1 s or later', 'bad_time')
    return Table(path, stamps, tuple(names[1:]), values[:, 1:], in_degrees)


def _in_degrees(path: Path, header: Sequence[str]) -> bool | None:
    for line in header:
        key, _, value = (part.strip().lower() for part in line.partition('='))
        if key == 'indegrees':
            if value not in _YES + _NO:
                raise _bad(path, f'states inDegrees={value}; valid: yes, no', 'bad_header')
            return value in _YES
    return None


def not_readable(path: Path, why: str) -> BagError:
    """The error of a file that cannot be read."""
    return BagError(f"'{path}' cannot be read: {why}.", kind='not_readable', path=path)


def _bad(path: Path, what: str, kind: str) -> BagError:
    return BagError(f"'{path}' {what}.", kind=kind, path=path)
