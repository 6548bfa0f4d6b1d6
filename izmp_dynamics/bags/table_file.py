"""A table, CSV or Parquet, as a container with one topic: a message a row, a field a column.

Usage::

    joints: {topic: table, type: table/msg/Row, names: [hip, knee], positions: 'q_hip, q_knee'}

A column's name becomes that of a field: `__time` is time, `hip.q [rad]` is hip_q_rad. Columns
without any number are texts; elsewhere what is no number is NaN. Where cells are separated by
semicolons or tabs, a comma is a decimal point. The column with the time
dates the rows, as `header.stamp` and as the time of recording; of several, that called `time`,
`stamp`, `timestamp` or `t`, else one that ascends, else the shortest name.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, Storage
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.base.finding import list_names
from izmp_dynamics.files.libraries import library

TOPIC, ROW = '/table', 'table/msg/Row'
TABLES = ('.csv', '.tsv')
PARQUET = b'PAR1'
"""How such a file begins."""

TIME = re.compile(r'(?:t|(.*_)?(?:time|stamp|timestamp))(?:_(s|sec|ms|us|ns))?', re.IGNORECASE)
_UNITS = {'s': 10**9, 'ms': 10**6, 'us': 10**3, 'ns': 1}
_SHORTEST, _LONGEST = 10**5, 10**8
"""A unit without a name is that in which the median time between rows is in this range [ns]."""

_LATEST = 2**31 * 10**9
"""Later than every stamp that a header can have [ns]."""

_HEADER = f"""std_msgs/Header header
{{}}
{'=' * 80}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{'=' * 80}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""


class TableFile(Storage):
    """A table; see `storage.Storage` for the attributes.

    Raises:
        BagError: it has no rows, no numbers or no time, or two columns of one name, or cannot be
            read.
        MissingDependencyError: pyarrow is missing, which reads Parquet.
    """

    def __init__(self, path: Path, is_parquet: bool) -> None:
        super().__init__(path)
        self.kind = 'parquet' if is_parquet else 'csv'
        found = _parquet(path) if is_parquet else self._csv()
        named = dict(zip(_fields(found), found.values(), strict=True))
        columns = {name: values for name, values in named.items() if values is not None}
        texts = [name for name in named if name not in columns]
        stamps = self._stamps(columns)
        known = np.flatnonzero(stamps > 0)
        if len(known) < len(stamps):
            self.notes.append(f"'{path.name}': rows without a time: {len(stamps) - len(known)}.")
        rows = known[np.argsort(stamps[known], kind='stable')]
        if not np.array_equal(rows, known):
            self.notes.append(f"'{path.name}': its rows are not in the order of their time.")
        self._block = {0: (stamps[rows], _messages(stamps[rows], columns, rows, len(texts)))}
        self.start, self.end = int(stamps[rows[0]]), int(stamps[rows[-1]])
        self.counts = {0: len(rows)}
        fields = [f'float64 {name}' for name in columns] + [f'string {name}' for name in texts]
        definition = _HEADER.format('\n'.join(fields))
        self.channels = {0: Channel(TOPIC, ROW, definition=definition)}

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """All rows at once."""
        if 0 in wanted:
            yield Block(self._block, FOREVER)

    def close(self) -> None:
        """Nothing is open."""

    def _csv(self) -> dict[str, npt.NDArray[Any] | None]:
        """Columns: whole numbers where all are, for times in ns; else NaN for texts, or None."""
        try:
            with self.path.open(newline='', encoding='utf-8-sig') as stream:
                head = stream.readline()
                separator = max(',;\t', key=head.count)
                names = next(csv.reader([head], delimiter=separator), [])
                lines = [line for line in csv.reader(stream, delimiter=separator) if line]
        except (UnicodeDecodeError, csv.Error) as error:
            raise BagError(
                f"'{self.path}' is not a CSV file: {error}.", kind='not_a_table', path=self.path
            ) from error
        if not lines:
            sentence = f"'{self.path}' has no rows; the first line names the columns."
            raise BagError(sentence, kind='no_rows', path=self.path)
        whole = [line for line in lines if len(line) == len(names)]
        if len(whole) < len(lines):
            self.damage(f'has rows without {len(names)} columns: {len(lines) - len(whole)}.')
        columns: dict[str, npt.NDArray[Any] | None] = {}
        for name, texts in zip(names, zip(*whole, strict=True), strict=False):
            numbers, wrong = _numbers(texts, ',' if separator != ',' else '.')
            if np.isnan(numbers).all():
                columns.setdefault(name, None)
            else:
                if name and columns.get(name) is not None:
                    raise _twice(self.path, name)
                columns[name] = numbers
                if wrong:
                    self.notes.append(
                        f"'{self.path.name}': column '{name}' has '{wrong[0]:.40}' in place of a "
                        f'number (rows like that: {len(wrong)}).'
                    )
        return columns

    def _stamps(self, columns: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
        """(T,) stamps [ns]; 0 of rows without a time."""
        names = {name: found for name in columns if (found := TIME.fullmatch(name))}
        if not names:
            raise BagError(
                f"'{self.path}' has no column with the time; call one time, or time_ms. It has "
                f'numbers in: {list_names(list(columns)) if columns else "no column"}.',
                kind='no_time', path=self.path,
            )  # fmt: skip
        name = min(
            names, key=lambda each: (bool(names[each][1]), not _ascends(columns[each]), len(each))
        )
        times = columns[name]
        known = np.isfinite(times)
        step = float(np.median(np.abs(np.diff(times[known])))) if known.sum() > 1 else 0.0
        stated = (names[name][2] or '').lower().removesuffix('ec')
        unit = stated or next(
            (u for u, ns in _UNITS.items() if _SHORTEST <= step * ns < _LONGEST), ''
        )
        if not unit:
            why = f'its rows are {step:.3g} apart' if step else 'there is one row'
            raise BagError(
                f"'{self.path}': the unit of column '{name}' is not clear, as {why}; put it into "
                f'its name, as in {name}_ms (s, ms, us, ns).',
                kind='no_unit', path=self.path, column=name,
            )  # fmt: skip
        if not stated or len(names) > 1:
            others = list_names([each for each in names if each != name])
            dates = f' and dates the rows, not {others}' if len(names) > 1 else ''
            self.notes.append(
                f"'{self.path.name}': column '{name}' is read as a time in {unit}{dates}."
            )
        known = known & (np.abs(times.astype(np.float64)) * _UNITS[unit] < _LATEST)
        if not known.any():
            sentence = f"'{self.path}': column '{name}' has no time before 2038."
            raise BagError(sentence, kind='no_time', path=self.path)
        stamps = np.zeros(len(times), np.int64)
        scaled = times[known] * _UNITS[unit]
        stamps[known] = scaled if times.dtype.kind == 'i' else np.rint(scaled)
        first = int(stamps[known].min())
        if first <= 0:  # of a stamp, this means that there is none
            stamps[known] += 1 - first
        return stamps


def _twice(path: Path, name: str) -> BagError:
    sentence = f"'{path}' has several columns called '{name}'; give each a name of its own."
    return BagError(sentence, kind='column_twice', path=path, column=name)


def _ascends(times: npt.NDArray[Any]) -> bool:
    """Whether numbers, apart from those that are absent, strictly ascend."""
    known = times[np.isfinite(times)]
    return len(known) > 1 and bool((known[1:] > known[:-1]).all())


def _numbers(texts: Sequence[str], point: str) -> tuple[npt.NDArray[Any], list[str]]:
    """Texts as numbers, NaN where they are none; those that are none, but not empty."""
    texts = [text.replace(point, '.') for text in texts] if point != '.' else texts
    for dtype in (np.int64, np.float64):
        try:
            return np.array(texts).astype(dtype), []
        except (ValueError, OverflowError):
            pass
    values = np.full(len(texts), np.nan)
    wrong = []
    for row, text in enumerate(texts):
        try:
            values[row] = float(text)
        except ValueError:
            wrong += [text] if text.strip() else []
    return values, wrong


def _parquet(path: Path) -> dict[str, npt.NDArray[Any] | None]:
    """Columns with numbers or times; None of others."""
    arrow = library('pyarrow', 'Reading a Parquet file')
    try:
        table = library('pyarrow.parquet', 'Reading a Parquet file').read_table(path)
    except arrow.ArrowException as error:
        reason = str(error).splitlines()[0].rstrip('.')
        sentence = f"'{path}' is not a readable Parquet file: {reason}."
        raise BagError(sentence, kind='not_a_table', path=path) from error
    columns: dict[str, npt.NDArray[Any] | None] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_timestamp(column.type):
            name, values = (
                f'{name}_ns',
                column.to_numpy().astype('datetime64[ns]').astype(np.int64),
            )
        elif arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type):
            values = column.to_numpy()
        else:
            values = None
        if name in columns:
            raise _twice(path, name)
        columns[name] = values
    return columns


def _fields(columns: Collection[str]) -> list[str]:
    """Names of fields for columns, each once."""
    names: list[str] = []
    for number, column in enumerate(columns):
        name = re.sub(r'[^0-9A-Za-z]+', '_', column).strip('_')
        name = name if name[:1].isalpha() else f'column_{name or number}'
        taken = name in names or name == 'header'
        names.append(f'{name}_{number}' if taken else name)
    return names


def _messages(
    stamps: npt.NDArray[np.int64],
    columns: Mapping[str, npt.NDArray[Any]],
    rows: npt.NDArray[np.intp],
    texts: int,
) -> Raws:
    """The rows as messages in CDR, with so many empty texts at the end."""
    begin = [('encapsulation', '>u4'), ('sec', '<i4'), ('nanosec', '<u4'), ('length', '<u4')]
    ends = ('texts', 'u1', max(8 * texts - 3, 0))  # each its length, a zero, and three of padding
    row = np.dtype([*begin, ('frame_id', 'V4'), ('values', '<f8', len(columns)), ends])
    messages = np.zeros(len(rows), row)
    messages['encapsulation'], messages['length'] = 0x10000, 1
    messages['texts'][:, ::8] = 1
    messages['sec'], messages['nanosec'] = np.divmod(stamps, 10**9)
    for k, values in enumerate(columns.values()):
        messages['values'][:, k] = values[rows]
    return Raws(messages.view(np.uint8), np.full(len(rows), row.itemsize))
