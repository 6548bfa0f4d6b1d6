"""Results side by side: over time from the start, or over the gait cycle from touchdowns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.compare.result import QUANTITIES, Quantity, Result, Series
from izmp_dynamics.signals.buffer import reach_of

LEAST_STRIDES = 3
"""Strides of each result that an alignment by steps needs."""

PHASES = 101
"""Points of the gait cycle, 0 to 100 %."""

UNUSUAL = 1.5
"""A stride that is so many times as long as the median, or as short, is none of the walk."""

BRIDGED = 0.05
"""Values that are farther apart are not interpolated between [s], unless they come so slowly."""

MOST_INSTANTS = 20_000
"""Of an alignment over time; a longer one has a coarser step."""


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
    feet = [[entry['name'] for entry in result.report['feet']] for result in results]
    each = {
        name: [len(_strides(result, name)) for result in results]
        for name in feet[0]
        if all(name in others for others in feet)
    }
    counts = {name: min(strides) for name, strides in each.items()}
    if foot and foot not in counts:
        raise ReplayError(
            f"No result has steps of a foot '{foot}'; valid: {', '.join(counts) or 'none'}.",
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
    aligned = tuple(
        Aligned(q, np.linspace(0.0, 100.0, PHASES), tuple(_cut(r, chosen, q) for r in results))
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
    count = int(np.clip(duration / max(step, 1e-6), 1, MOST_INSTANTS)) + 1
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
