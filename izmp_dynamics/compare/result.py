"""Results of `izmp replay`, read back and side by side.

A result is its report, and its series as the bag holds them. Several are compared over time from
the start, or over the gait cycle from touchdowns.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.files.place import read_regular_file
from izmp_dynamics.results.topics import TOPICS
from izmp_dynamics.signals.buffer import reach_of

REPORT, BAG = 'report.json', 'bag'

_LARGEST = 2**30  # bytes of a report


@dataclass(frozen=True)
class Series:
    """A quantity over time.

    Attributes:
        time: (K,) after the first instant of the recording [s], ascending.
        values: (K,).
    """

    time: Array
    values: Array


@dataclass(frozen=True)
class Quantity:
    """What is compared.

    Attributes:
        name: short name.
        label: for a person.
        unit: of the values.
        topic: of the bag.
        of: the quantity (K,) from the values (K, …) of the topic.
    """

    name: str
    label: str
    unit: str
    topic: str
    of: Callable[[Array], Array]


def _axis(axis: int) -> Callable[[Array], Array]:
    return lambda points: 1e3 * points[:, axis]


QUANTITIES = (
    Quantity('margin', 'margin of the IZMP', 'mm', '/margin', lambda margins: 1e3 * margins),
    Quantity('izmp_x', 'IZMP x (root)', 'mm', '/mr_ad/izmp', _axis(0)),
    Quantity('izmp_y', 'IZMP y (root)', 'mm', '/mr_ad/izmp', _axis(1)),
    Quantity('cop_x', 'CoP x (root)', 'mm', '/cop', _axis(0)),
    Quantity('cop_y', 'CoP y (root)', 'mm', '/cop', _axis(1)),
    Quantity('gap', '|IZMP − CoP|', 'mm', '/gap', lambda gaps: 1e3 * np.linalg.norm(gaps, axis=1)),
    Quantity('force', 'contact force z (root)', 'N', '/mr_ad/contact_wrench', lambda w: w[:, 2]),
)
"""In the order of the page; the IZMP is that of MR-AD."""

_MARKS = ('sole', 'wrench.topic')


@dataclass(frozen=True)
class Result:
    """A folder of results.

    Attributes:
        name: unique among those that are compared.
        folder: where it is.
        report: what report.json holds.
        series: name of the quantity → series, as far as there are any.
    """

    name: str
    folder: Path
    report: Mapping[str, Any]
    series: Mapping[str, Series]

    def touchdowns(self, foot: str) -> Array:
        """Times at which a foot touches down [s]."""
        times = [
            event['begin']
            for event in self.report['events']
            if event['kind'] == 'touchdown' and event['subject'] == foot
        ]
        return np.array(times, dtype=np.float64)

    @property
    def marks_of_feet(self) -> dict[str, set[str]]:
        """Foot → its name, sole and force sensor, by which robot files have the same one."""
        stated = self.report.get('parameters', {})
        return {
            name: {name, *(str(stated.get(f'feet[{name}].{key}', name)) for key in _MARKS)}
            - {'not given'}
            for name in (entry['name'] for entry in self.report['feet'])
        }

    @property
    def duration(self) -> float:
        """Of the recording [s]."""
        return float(self.report['duration'])


def load_results(folders: Sequence[Path], names: Sequence[str] = ()) -> tuple[Result, ...]:
    """Read results.

    Args:
        folders: as `izmp replay -o` wrote them.
        names: of the results; the names of the folders if none are given.

    Raises:
        ReplayError: a folder is no result, or one of an older version; or the names do not fit.
        BagError: its bag cannot be read.
    """
    if len(folders) < 2:
        raise ReplayError(
            f'A comparison needs two results or more, not {len(folders)}.', kind='too_few_results'
        )
    if names and (len(names) != len(folders) or len(set(names)) != len(names)):
        raise ReplayError(
            f'There are {len(folders)} results, so --names must be as many different names with '
            f'commas between them, not {", ".join(names)}.',
            kind='names', names=tuple(names),
        )  # fmt: skip
    found = [folder.resolve().name for folder in folders]
    unique = [
        name if found.count(name) == 1 else f'{name} ({found[: k + 1].count(name)})'
        for k, name in enumerate(found)
    ]
    return tuple(_load(*each) for each in zip(folders, names or unique, strict=True))


def _load(folder: Path, name: str) -> Result:
    report = _report_of(folder)
    series = dict(_series(folder, int(report['start_stamp'] or 0)))
    if not margin_known(report):
        series.pop('margin', None)
    return Result(name, folder, report, series)


def _report_of(folder: Path) -> Mapping[str, Any]:
    try:
        report = json.loads(read_regular_file(folder / REPORT, _LARGEST))
        if not isinstance(report, dict) or 'start_stamp' not in report:
            raise ValueError('it is not a report of izmp replay')
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ReplayError(
            f"'{folder}' is not a result of izmp replay: {REPORT}: {reason}.",
            kind='not_a_result', folder=folder,
        ) from error  # fmt: skip
    if 'events' not in report:
        raise ReplayError(
            f"'{folder}' was written by an older version, without events; run izmp replay again.",
            kind='older_result', folder=folder,
        )  # fmt: skip
    if not _is_whole(report):
        raise ReplayError(
            f"'{folder / REPORT}' is damaged; run izmp replay again.",
            kind='damaged_report', folder=folder,
        )  # fmt: skip
    return report


def _is_whole(report: Mapping[str, Any]) -> bool:
    """Whether there is what is read of a report."""
    size, number = float | int, float | int | None
    return (
        _has(report, verdict=dict, tracks=dict, events=list, feet=list, parameters=dict,
             root=str, robot=str, duration=size, weight=size, start_stamp=int | None)
        and _has(report['verdict'], reason=str, headline=str, state=str, sentence=str,
                 judged_by=str | None, margin=number, margin_of=str | None, uncertainty=number)
        and all(_has(foot, name=str) for foot in report['feet'])
        and all(
            _has(event, kind=str, begin=size, end=object, subject=object)
            for event in report['events']
        )
    )  # fmt: skip


def _has(value: Any, **types: Any) -> bool:
    return isinstance(value, dict) and all(
        key in value and isinstance(value[key], kind) for key, kind in types.items()
    )


def margin_known(report: Mapping[str, Any]) -> bool:
    """Whether the joints say where all feet are that the robot stands on."""
    return bool(report['verdict']['reason'] != 'leg_joints_absent')


def _series(folder: Path, start: int) -> Iterator[tuple[str, Series]]:
    """What there is of `QUANTITIES`, in seconds after a stamp [ns]."""
    with BagReader(folder / BAG) as reader:
        there = {quantity.topic for quantity in QUANTITIES} & set(reader.topics)
        for batch in reader.batches(sorted(there), 1e9) if there else ():
            for quantity in QUANTITIES:
                messages = batch.topics.get(quantity.topic)
                if messages is not None and len(messages):
                    stamps, values = TOPICS[quantity.topic[1:]].read(messages)
                    time = (stamps - start) / NANOSECONDS
                    yield quantity.name, Series(time, quantity.of(values))


LEAST_STRIDES = 3
"""Strides of each result that an alignment by steps needs."""

PHASES = 101
"""Points of the gait cycle, 0 to 100 %."""

UNUSUAL = 1.5
"""A stride that is so many times as long as the median, or as short, is none of the walk."""

BRIDGED = 0.05
"""Values that are farther apart are not interpolated between [s], unless they come so slowly."""

_MOST_INSTANTS = 20_000  # of an alignment over time; a longer one has a coarser step


@dataclass(frozen=True)
class Aligned:
    """A quantity of all results.

    Attributes:
        quantity: which.
        x: (N,) time after the start [s], or phase of the gait cycle [%].
        rows: for each result (S, N): its strides, or the one row of its values over time; NaN
            where there is no value.
    """

    quantity: Quantity
    x: Array
    rows: tuple[Array, ...]


@dataclass(frozen=True)
class Alignment:
    """All quantities that every result has.

    Attributes:
        by: 'time' or 'steps'.
        foot: whose touchdowns begin the strides; '' over time.
        quantities: aligned.
        strides: result → its strides of that foot, or of the one that has the most in all.
    """

    by: str
    foot: str
    quantities: tuple[Aligned, ...]
    strides: dict[str, int]


def align(results: Sequence[Result], by: str = '', foot: str = '') -> Alignment:
    """Align results.

    Args:
        results: two or more.
        by: 'time', 'steps', or '' for steps where every result has enough of them.
        foot: whose touchdowns begin the strides; '' for the one with the most in all results.

    Raises:
        ReplayError: they have no quantity in common, or not enough steps.
    """
    common = [q for q in QUANTITIES if all(q.name in result.series for result in results)]
    if not common:
        raise ReplayError('The results have no quantity in common.', kind='nothing_in_common')
    marks = [result.marks_of_feet for result in results]
    feet = {
        name: [next((other for other in found if own & found[other]), '') for found in marks]
        for name, own in marks[0].items()
    }
    feet = {name: others for name, others in feet.items() if all(others)}
    each = {
        name: [len(_strides(*pair)) for pair in zip(results, others, strict=True)]
        for name, others in feet.items()
    }
    counts = {name: min(strides) for name, strides in each.items()}
    if foot and foot not in counts:
        raise ReplayError(
            f"'{foot}' is not a foot of all results; they have "
            f'{" | ".join(map(", ".join, marks))}.',
            kind='unknown_foot', foot=foot,
        )  # fmt: skip
    chosen = foot or max(counts, key=lambda name: counts[name], default='')
    strides = dict(zip([r.name for r in results], each.get(chosen, []), strict=False))
    enough = counts.get(chosen, 0) >= LEAST_STRIDES
    if by == 'steps' and not enough:
        raise ReplayError(
            f'An alignment by steps needs {LEAST_STRIDES} strides of one foot in each result; '
            f'there are {in_words(strides, chosen)}. Use --align time.',
            kind='too_few_strides',
        )
    if by == 'time' or not enough:
        return Alignment('time', '', _over_time(results, common), strides)
    phases, chosen_feet = np.linspace(0.0, 100.0, PHASES), feet[chosen]
    aligned = tuple(
        Aligned(q, phases, tuple(_cut(r, f, q) for r, f in zip(results, chosen_feet, strict=True)))
        for q in common
    )
    return Alignment('steps', chosen, aligned, strides)


def in_words(strides: dict[str, int], foot: str = '') -> str:
    """How many strides each result has."""
    listed = ', '.join(f'{count} in {name}' for name, count in strides.items()) or 'none'
    return f'{listed} (of {foot})' if foot else listed


def _strides(result: Result, foot: str) -> Array:
    """(S, 2) begin and end of the strides of a foot [s], without those of unusual length."""
    begins = result.touchdowns(foot)
    lengths = np.diff(begins)
    if not len(lengths):
        return np.empty((0, 2))
    ratio = lengths / np.median(lengths)
    usual = (ratio < UNUSUAL) & (ratio > 1.0 / UNUSUAL)
    return np.column_stack([begins[:-1], begins[1:]])[usual]


def _cut(result: Result, foot: str, quantity: Quantity) -> Array:
    """(S, PHASES) a quantity over each stride; NaN where it has no value."""
    share = np.linspace(0.0, 1.0, PHASES)
    rows = [
        sampled(result.series[quantity.name], begin + share * (end - begin))
        for begin, end in _strides(result, foot)
    ]
    return np.array(rows).reshape(-1, PHASES)


def _over_time(results: Sequence[Result], common: Sequence[Quantity]) -> tuple[Aligned, ...]:
    """Over the time that all results have, at the step of the first."""
    duration = min(result.duration for result in results)
    series = results[0].series[common[0].name]
    steps = np.diff(series.time)
    step = float(np.median(steps)) if len(steps) else duration
    count = int(np.clip(duration / max(step, 1e-6), 1, _MOST_INSTANTS)) + 1
    grid = np.linspace(0.0, duration, count)
    return tuple(
        Aligned(q, grid, tuple(sampled(result.series[q.name], grid)[None] for result in results))
        for q in common
    )


def sampled(series: Series, times: Array) -> Array:
    """Interpolate a series at times (N,); NaN outside, and across a time without values."""
    if not len(series.time):
        return np.full(len(times), np.nan)
    values: Array = np.interp(times, series.time, series.values, left=np.nan, right=np.nan)
    after = np.clip(np.searchsorted(series.time, times), 1, max(len(series.time) - 1, 1))
    if len(series.time) > 1:
        steps = np.diff(series.time)
        longest = reach_of(BRIDGED, float(np.median(steps)))
        on_one = np.isin(times, series.time)
        values[(steps[after - 1] > longest) & ~on_one] = np.nan
    return values
