"""fleet.json, the fleet in numbers, and fleet.html: table, distributions, trends, offline."""

import base64
import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import izmp_dynamics
from izmp_dynamics.fleet.row import STATES, Row
from izmp_dynamics.pages.templates import template, text_file
from izmp_dynamics.report.player.packing import UPLOT, UPLOT_STYLE, Library, compressed
from izmp_dynamics.verdict.reasons import HEADLINES
from izmp_dynamics.verdict.rules import SHORTEST_TIME

_PAGE = ('The page of a fleet', 'pip install itables uplot-python')

DATA_TABLES = Library('itables', 'itables', 'html/dt_bundle.js', *_PAGE)
DATA_TABLES_STYLE = Library('itables', 'itables', 'html/dt_bundle.css', *_PAGE)
"""DataTables, as ITables brings it."""

SHOWN = (
    'state', 'name', 'verdict', 'robot', 'unit', 'software', 'start', 'duration', 'margin',
    'uncertainty', 'outside_time', 'excursions', 'pushes', 'gap_mean', 'gated', 'sentences', 'bag',
)  # fmt: skip
"""Columns of the table on the page."""

_STATES = {state: HEADLINES.get(state, 'Error') for state in STATES}
_TEMPLATE, _STYLE = 'fleet.html.j2', 'fleet.css'
_SCRIPTS = (('izmp_dynamics.report.player', 'load.js'), (__package__, 'charts.js'),
            (__package__, 'fleet.js'))  # fmt: skip


FORMAT = 'izmp_dynamics fleet 1'

WORST = 20
"""Bags that are listed."""

_LISTED = ('bag', 'robot', 'unit', 'software', 'state', 'verdict', 'margin', 'report')


def libraries() -> dict[Library, str]:
    """Return the JavaScript and styles of others that the page contains.

    Raises:
        MissingDependencyError: one is not installed.
    """
    needed = (DATA_TABLES, DATA_TABLES_STYLE, UPLOT, UPLOT_STYLE)
    return {library: library.read() for library in needed}


def fleet_page(rows: Sequence[Row], numbers: Mapping[str, Any]) -> str:
    """Build the page.

    Args:
        rows: the worst first.
        numbers: what fleet.json holds.

    Returns:
        HTML; every text of the rows is escaped or data.

    Raises:
        MissingDependencyError: a library is not installed that works in the page.
    """
    found = libraries()
    scripts = '\n'.join(text_file(package, name) for package, name in _SCRIPTS)
    return template(__package__, _TEMPLATE).render(
        numbers=numbers,
        states=_STATES,
        recorded=_duration(numbers['duration']),
        size=_size(numbers['size']),
        shortest=SHORTEST_TIME,
        data=compressed(json.dumps(_data(rows), allow_nan=False).encode()),
        tables=DATA_TABLES.packed(),
        uplot=UPLOT.packed(),
        styles=found[DATA_TABLES_STYLE] + found[UPLOT_STYLE] + text_file(__package__, _STYLE),
        scripts=scripts,
        allowed=' '.join(map(_allowed, (scripts, found[UPLOT]))),
    )


def _data(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        'columns': SHOWN,
        'states': _STATES,
        'rows': [[row[name] for name in SHOWN] for row in rows],
        'reports': [quote(row['report']) if row['report'] else None for row in rows],
    }


def _duration(seconds: float) -> str:
    if seconds < 100.0:
        return f'{seconds:.0f} s'
    return f'{seconds / 60.0:.0f} min' if seconds < 6000.0 else f'{seconds / 3600.0:.1f} h'


def _size(count: int) -> str:
    return f'{count / 1e6:.1f} MB' if count < 1e9 else f'{count / 1e9:.1f} GB'


def _allowed(script: str) -> str:
    """A script as a security policy names it: no other text of the page can run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest())
    return f"'sha256-{digest.decode()}'"


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
        'states': {state: states[state] for state in STATES if states[state]},
        'duration': sum(row['duration'] or 0.0 for row in rows),
        'size': sum(row['size'] for row in rows),
        'smallest_margin': min(margins, default=None),
        'median_margin': statistics.median(margins) if margins else None,
        'pushes': sum(row['pushes'] or 0 for row in rows),
        'events': dict(sorted(kinds.items())),
        'findings': dict(sorted(findings.items())),
    }  # fmt: skip
