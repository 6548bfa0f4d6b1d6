"""The table as Parquet, for DuckDB, pandas, Polars and all others that read it."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from izmp_dynamics.files.libraries import library
from izmp_dynamics.fleet.row import COLUMNS, EVENT, SIGNAL, Row


def parquet(rows: Sequence[Row]) -> bytes:
    """Write rows as a Parquet file, in the order in which they are given.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = library('pyarrow', 'Writing the table')
    writer = library('pyarrow.parquet', 'Writing the table', 'pyarrow')
    table = arrow.Table.from_pylist(_unicode(list(rows)), schema=schema(arrow))
    file = io.BytesIO()
    writer.write_table(table, file, compression='zstd')
    return file.getvalue()


def _unicode(value: Any) -> Any:
    r"""The same with texts that are Unicode: the name of a file need not be, e.g. '\xff'."""
    if isinstance(value, str):
        return value.encode('utf-8', 'backslashreplace').decode('utf-8')
    if isinstance(value, dict):
        return {_unicode(key): _unicode(entry) for key, entry in value.items()}
    return [_unicode(entry) for entry in value] if isinstance(value, list) else value


def schema(arrow: Any) -> Any:
    """Return the columns and their types."""
    plain = {
        'text': arrow.string(),
        'float': arrow.float64(),
        'int': arrow.int64(),
        'bool': arrow.bool_(),
        'stamp': arrow.timestamp('ns', tz='UTC'),
        'texts': arrow.list_(arrow.string()),
        'map': arrow.map_(arrow.string(), arrow.string()),
    }

    def entries(fields: Mapping[str, str]) -> Any:
        return arrow.list_(arrow.struct([(name, plain[kind]) for name, kind in fields.items()]))

    types = plain | {'events': entries(EVENT), 'signals': entries(SIGNAL)}
    return arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
