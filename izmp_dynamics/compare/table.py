"""The numbers of a comparison as a table: for the page, as CSV, and as LaTeX."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.alignment import Aligned, Alignment
from izmp_dynamics.compare.difference import mean_known, of_all, of_strides
from izmp_dynamics.compare.result import Result
from izmp_dynamics.pages.picture import Table, number

HEADINGS = (
    'quantity', 'unit', 'result', 'n', 'mean', 'standard deviation', 'smallest', 'largest',
    'difference to the first', '95 % from', '95 % to',
)  # fmt: skip

_KNOWN = 0.9  # share of a stride that its mean needs
_LARGE = 10.0  # from here on one decimal is shown, else three

_LATEX = {
    '\\': r'\textbackslash{}', '&': r'\&', '%': r'\%', '$': r'\$', '#': r'\#', '_': r'\_',
    '{': r'\{', '}': r'\}', '~': r'\textasciitilde{}', '^': r'\textasciicircum{}', '−': '$-$',
    '|': r'\textbar{}',
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A quantity of a result.

    Attributes:
        label: of the quantity.
        unit: of all numbers but `count`.
        result: name of the result.
        count: strides, or instants.
        mean: over all of them.
        deviation: of the values from it.
        smallest: value.
        largest: value.
        difference: of the mean to that of the first result; NaN of the first.
        half: half the width of its 95 % interval.
    """

    label: str
    unit: str
    result: str
    count: int
    mean: float
    deviation: float
    smallest: float
    largest: float
    difference: float
    half: float


def rows_of(results: Sequence[Result], alignment: Alignment) -> list[Row]:
    """Describe each quantity of each result."""
    return [row for aligned in alignment.quantities for row in _rows(results, alignment, aligned)]


def _rows(results: Sequence[Result], alignment: Alignment, aligned: Aligned) -> Iterator[Row]:
    steps = alignment.by == 'steps'
    reference = aligned.rows[0]
    for k, (result, values) in enumerate(zip(results, aligned.rows, strict=True)):
        difference, half = math.nan, math.nan
        if k and steps:
            found = of_strides(_means(reference), _means(values))
            difference, half = float(found.mean), float(found.half)
        elif k:
            found = of_all(values[0] - reference[0])
            difference, half = float(found.mean), float(found.half)
        known = values[np.isfinite(values)]
        if not len(known):
            known = np.array([math.nan])
        yield Row(
            aligned.quantity.label, aligned.quantity.unit, result.name,
            len(values) if steps else int(np.isfinite(values).sum()),
            float(known.mean()), float(known.std()), float(known.min()), float(known.max()),
            difference, half,
        )  # fmt: skip


def _means(rows: Array) -> Array:
    """Mean of each stride (S,); NaN of one with a value at less than 90 % of its phases."""
    enough = np.isfinite(rows).mean(axis=1) >= _KNOWN
    return np.where(enough, mean_known(rows, 1), np.nan)


def as_table(rows: Sequence[Row]) -> Table:
    """All numbers with six digits, for CSV."""
    return Table(
        HEADINGS,
        [
            [row.label, row.unit, row.result, str(row.count), row.mean, row.deviation,
             row.smallest, row.largest, row.difference, row.difference - row.half,
             row.difference + row.half]
            for row in rows
        ],
    )  # fmt: skip


def shown(rows: Sequence[Row]) -> Table:
    """The same rounded, for the page."""
    headings = ('quantity', 'result', 'n', 'mean ± σ', 'smallest', 'largest',
                'difference to the first (95 %)')  # fmt: skip
    return Table(headings, [list(_cells(row)) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    digits = 1 if max(abs(row.smallest), abs(row.largest)) >= _LARGE else 3
    mean, deviation, smallest, largest, difference, half = (
        number(value, digits)
        for value in (row.mean, row.deviation, row.smallest, row.largest, row.difference, row.half)
    )
    compared = '–' if math.isnan(row.difference) else f'{difference} ± {half}'
    spread = f'{mean} ± {deviation}'
    label = f'{row.label} [{row.unit}]'
    return label, row.result, str(row.count), spread, smallest, largest, compared


def to_latex(rows: Sequence[Row], caption: str) -> str:
    """Write a table for a paper; it needs the package booktabs."""
    lines = [
        r'\begin{table}',
        r'  \centering',
        f'  \\caption{{{escaped(caption)}}}',
        r'  \begin{tabular}{llrrrrr}',
        r'    \toprule',
        '    quantity & result & $n$ & mean $\\pm\\,\\sigma$ & smallest & largest & '
        'difference (95\\,\\%) \\\\',
        r'    \midrule',
    ]
    for row in rows:
        cells = (escaped(cell).replace('±', r'$\pm$').replace('–', '--') for cell in _cells(row))
        lines.append(f'    {" & ".join(cells)} \\\\')
    lines += [r'    \bottomrule', r'  \end{tabular}', r'\end{table}', '']
    return '\n'.join(lines)


def escaped(text: str) -> str:
    """Write a text so that LaTeX shows it."""
    return ''.join(_LATEX.get(letter, letter) for letter in text)
