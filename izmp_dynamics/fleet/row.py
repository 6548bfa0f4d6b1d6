"""A bag as a row of the table: what its report says, in columns.

Lengths in m, times in s, forces in N, shares from 0 to 1; None where there is no value.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from izmp_dynamics.base.faults import Fault, left_out
from izmp_dynamics.files.libraries import library
from izmp_dynamics.fleet.sources import BagSource

Row = dict[str, Any]
"""Column → value, as JSON can hold it."""

STATES = ('fell', 'unstable', 'disturbed', 'marginal', 'error', 'unclear', 'stable')
"""Verdicts, the worst first; 'error' is a bag that could not be evaluated."""

DAMAGED = 'damaged_bag'
"""Key of the finding that not all of the bag could be read."""

UNIT_KEYS = ('robot_id', 'robot_name', 'robot_serial', 'serial_number', 'serial', 'robot')
SOFTWARE_KEYS = ('software_version', 'software', 'git_commit', 'commit', 'version')
"""Keys of a bag's own metadata (`ros2 bag record --custom-data KEY=VALUE`) that name the single
robot and what ran on it; the first that is there counts."""

COLUMNS: Mapping[str, str] = {
    # what it is
    'bag': 'text', 'name': 'text', 'robot': 'text', 'robot_file': 'text',
    'unit': 'text', 'software': 'text', 'distro': 'text', 'storage': 'text',
    'metadata': 'map', 'size': 'int', 'start': 'stamp', 'duration': 'float',
    'loaded_time': 'float', 'flight_time': 'float', 'unknown_time': 'float', 'instants': 'int',
    # verdict
    'state': 'text', 'reason': 'text', 'verdict': 'text', 'advice': 'text', 'judged_by': 'text',
    # margins of the judged point
    'margin': 'float', 'margin_time': 'float', 'uncertainty': 'float', 'room': 'float',
    'smallest_margin': 'float', 'first_percentile_margin': 'float', 'inside_share': 'float',
    'outside_time': 'float', 'excursions': 'int', 'excursion_time': 'float',
    'possible_throw': 'float', 'scatter': 'float',
    'gap_mean': 'float', 'gap_rms': 'float', 'force_over_weight': 'float',
    # events
    'pushes': 'int', 'falls': 'int', 'fall_alarms': 'int', 'events': 'events',
    # health of the signals
    'damage': 'text', 'findings': 'texts', 'sentences': 'texts', 'missing': 'texts',
    'notes': 'texts', 'gated': 'int', 'longest_gap': 'float', 'signals': 'signals',
    # where it comes from
    'report': 'text', 'sha256': 'text', 'robot_sha256': 'text', 'stamp': 'text',
    'version': 'text', 'code': 'text', 'seconds': 'float', 'host': 'text',
    'error': 'text', 'error_kind': 'text', 'transient': 'bool',
}  # fmt: skip
"""Column → kind; 'stamp' is nanoseconds since the epoch."""

EVENT = {'kind': 'text', 'begin': 'float', 'end': 'float', 'sentence': 'text', 'subject': 'text',
         'size': 'float', 'unit': 'text', 'significance': 'float'}  # fmt: skip
SIGNAL = {'topic': 'text', 'used_as': 'text', 'count': 'int', 'rate': 'float',
          'longest_gap': 'float', 'gated': 'int'}  # fmt: skip
"""Fields of an entry of the columns `events` and `signals`, and their kinds."""

RUN = ('seconds', 'host')
"""Columns that differ from run to run; all others are the same for the same bag and code."""


def blank(bag: BagSource, robot_file: str) -> Row:
    """Return the row of a bag of which nothing is known but its place."""
    place = {'bag': bag.path, 'name': bag.name, 'size': bag.size, 'stamp': bag.stamp}
    return dict.fromkeys(COLUMNS) | place | {'robot_file': robot_file, 'transient': False}


_OF_REPORT = (
    'robot', 'duration', 'loaded_time', 'flight_time', 'unknown_time', 'instants', 'missing',
    'notes',
)  # fmt: skip
_OF_VERDICT = (
    'state', 'reason', 'advice', 'judged_by', 'uncertainty', 'margin', 'margin_time', 'room',
)  # fmt: skip
_OF_TRACK = (
    'smallest_margin', 'first_percentile_margin', 'inside_share', 'outside_time',
    'excursion_time', 'possible_throw', 'force_over_weight',
)  # fmt: skip


def of_report(report: Mapping[str, Any]) -> Row:
    """Return the columns that a report fills."""
    verdict = report['verdict']
    track = report['tracks'].get(verdict['judged_by']) or {}
    gap: Mapping[str, Any] = next(
        (pair for pair in report['pairs'] if pair['count'] and pair['second'] == 'cop'
         and pair['first'] in (verdict['judged_by'], 'mr_ad')), {},
    )  # fmt: skip
    signals = [of_health(entry) for entry in report['health']]
    return {
        **{key: report[key] for key in _OF_REPORT},
        **{key: verdict[key] for key in _OF_VERDICT},
        **{key: track.get(key) for key in _OF_TRACK},
        'start': report['start_stamp'],
        'verdict': verdict['text'],
        'excursions': track.get('excursion_count'),
        'scatter': (track.get('error') or {}).get('scatter'),
        'gap_mean': gap.get('mean'),
        'gap_rms': gap.get('rms'),
        'pushes': len(report['external_forces']['pushes']),
        'falls': sum(event['kind'] == 'fall' for event in report['events']),
        'fall_alarms': (report['fall_alarm'] or {}).get('count'),
        'events': [{key: event.get(key) for key in EVENT} for event in report['events']],
        'damage': next((f['sentence'] for f in report['findings'] if f['key'] == DAMAGED), None),
        'findings': [finding['key'] for finding in report['findings']],
        'sentences': report['remarks'],
        'gated': sum(signal['gated'] for signal in signals),
        'longest_gap': max((signal['longest_gap'] or 0.0 for signal in signals), default=None),
        'signals': signals,
    }


def of_health(health: Mapping[str, Any]) -> Row:
    """Return the entry of the column `signals` that an entry of the health of a report fills."""
    gated = {Fault.parse(key): number for key, number in health['gated'].items()}
    return {key: health.get(key) for key in SIGNAL} | {'gated': left_out(gated)}


def of_metadata(custom: Mapping[str, str], distro: str, storage: str) -> Row:
    """Return the columns that the bag's own metadata fill."""
    return {
        'metadata': dict(sorted(custom.items())),
        'unit': _first(custom, UNIT_KEYS),
        'software': _first(custom, SOFTWARE_KEYS),
        'distro': distro or None,
        'storage': storage,
    }


def of_error(error: str, kind: str, *, transient: bool) -> Row:
    """Return the columns of a bag that could not be evaluated.

    Args:
        error: a sentence.
        kind: what is wrong, as a key.
        transient: whether it may go well another time: the next run tries again.
    """
    said = {'state': 'error', 'verdict': f'Cannot be evaluated: {error}', 'error': error}
    return said | {'error_kind': kind, 'transient': transient}


def badness(row: Mapping[str, Any]) -> tuple[int, float, str]:
    """Key that sorts the worst bag first: by verdict, then by margin, then by name."""
    margin = row['margin']
    return STATES.index(row['state']), float('inf') if margin is None else margin, row['bag']


def parquet(rows: Sequence[Row]) -> bytes:
    """Write rows as a Parquet file, in the order in which they are given.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    arrow = library('pyarrow', 'Writing the table')
    writer = library('pyarrow.parquet', 'Writing the table', 'pyarrow')
    table = arrow.Table.from_pylist(_unicode(list(rows)), schema=_schema(arrow))
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


def _schema(arrow: Any) -> Any:
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


def _first(custom: Mapping[str, str], keys: tuple[str, ...]) -> str | None:
    return next((custom[key] for key in keys if custom.get(key)), None)
