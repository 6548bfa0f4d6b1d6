"""The fleet in numbers: what fleet.json holds and the terminal prints."""

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

import izmp_dynamics
from izmp_dynamics.fleet.row import STATES, Row

FORMAT = 'izmp_dynamics fleet 1'

WORST = 20
"""Bags that are listed."""

_LISTED = ('bag', 'robot', 'unit', 'software', 'state', 'verdict', 'margin', 'report')


def fleet_statistics(rows: Sequence[Row], asked: int) -> dict[str, Any]:
    """Summarise the rows.

    Args:
        rows: the worst first.
        asked: number of bags that were asked for.
    """
    return {
        'format': FORMAT,
        'version': izmp_dynamics.__version__,
        'bags': asked,
        'done': len(rows),
        'complete': len(rows) == asked,
        **_group(rows),
        'by_robot': _groups(rows, 'robot'),
        'by_unit': _groups(rows, 'unit'),
        'by_software': _groups(rows, 'software'),
        'by_code': _groups(rows, 'code'),
        'worst': [
            {name: row[name] for name in _LISTED}
            for row in rows[:WORST]
            if row['state'] != 'stable'
        ],
        'damaged': [
            {name: row[name] for name in ('bag', 'damage')} for row in rows if row['damage']
        ],
        'errors': [
            {name: row[name] for name in ('bag', 'error_kind', 'error', 'transient')}
            for row in rows
            if row['state'] == 'error'
        ],
    }


def _groups(rows: Sequence[Row], column: str) -> dict[str, Any]:
    """The rows by the value of a column; those without one are left out."""
    values = sorted({row[column] for row in rows if row[column] is not None})
    return {value: _group([row for row in rows if row[column] == value]) for value in values}


def _group(rows: Sequence[Row]) -> dict[str, Any]:
    states = Counter(row['state'] for row in rows)
    margins = [row['margin'] for row in rows if row['margin'] is not None]
    findings = Counter(key for row in rows for key in row['findings'] or ())
    kinds = Counter(event['kind'] for row in rows for event in row['events'] or ())
    return {
        'states': {state: states[state] for state in (*STATES, *sorted(set(states) - set(STATES)))
                   if states[state]},
        'duration': sum(row['duration'] or 0.0 for row in rows),
        'size': sum(row['size'] for row in rows),
        'smallest_margin': min(margins, default=None),
        'median_margin': statistics.median(margins) if margins else None,
        'pushes': sum(row['pushes'] or 0 for row in rows),
        'events': dict(sorted(kinds.items())),
        'findings': dict(sorted(findings.items())),
    }  # fmt: skip
