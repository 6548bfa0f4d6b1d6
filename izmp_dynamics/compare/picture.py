"""The picture of a quantity: all results above, the differences to the first one below."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.compare.alignment import Aligned, Alignment
from izmp_dynamics.compare.difference import (
    WINDOW,
    Difference,
    mean_known,
    of_strides,
    over_time,
)
from izmp_dynamics.compare.result import Result
from izmp_dynamics.pages.look import Entry, Look, legible, line, panels
from izmp_dynamics.pages.picture import Picture, Table

COLOURS = ('mr-ad', 'ir-md', 'cop', 'other', 'outside', 'sole')
"""Of the results, in their order; further ones are dashed."""


def picture_of(results: Sequence[Result], alignment: Alignment, aligned: Aligned) -> Picture:
    """Draw a quantity."""
    quantity, names = aligned.quantity, [result.name for result in results]
    drawn = [legible(name) for name in names]
    differences = [_difference(alignment, aligned, k) for k in range(1, len(results))]
    means = [mean_known(rows, 0) for rows in aligned.rows]
    label = f'{quantity.label} [{quantity.unit}]'
    x_label = 'time [s]' if alignment.by == 'time' else 'gait cycle [%]'

    def draw(look: Look, width: float) -> Any:
        styles = [_style(look, k) for k in range(len(names))]
        legend = [
            Entry(name, line(look, COLOURS[k % len(COLOURS)], linestyle=styles[k]['linestyle']))
            for k, name in enumerate(drawn)
        ]
        canvas, axes = panels(width, 2, legend, height=2.6)
        for rows, mean, style in zip(aligned.rows, means, styles, strict=True):
            axes[0].plot(aligned.x, mean, **style)
            if len(rows) > 1:
                with np.errstate(invalid='ignore'):
                    spread = np.sqrt(mean_known((rows - mean) ** 2, 0))
                axes[0].fill_between(
                    aligned.x, mean - spread, mean + spread, color=style['color'], alpha=0.18,
                    linewidth=0,
                )  # fmt: skip
        for found, style in zip(differences, styles[1:], strict=True):
            axes[1].plot(aligned.x, found.mean, **style)
            axes[1].fill_between(
                aligned.x, found.mean - found.half, found.mean + found.half,
                color=style['color'], alpha=0.18, linewidth=0,
            )  # fmt: skip
        axes[1].axhline(0.0, color=look['ink'], linewidth=0.8)
        axes[0].set(xlabel=x_label, ylabel=label)
        axes[1].set(xlabel=x_label, ylabel=f'minus {drawn[0]:.24} [{quantity.unit}]')
        return canvas

    return Picture(
        name=quantity.name,
        title=quantity.label,
        source=f'over {"time" if alignment.by == "time" else "the gait cycle"}',
        draw=draw,
        facts=(),
        seen=_seen(alignment),
        paper='',
        ours='',
        why='',
        data=_data(aligned, x_label, names, means, differences),
    )


def _difference(alignment: Alignment, aligned: Aligned, k: int) -> Difference:
    first, other = aligned.rows[0], aligned.rows[k]
    if alignment.by == 'steps':
        return of_strides(first, other)
    return over_time(aligned.x, other[0] - first[0])


def _style(look: Look, k: int) -> dict[str, Any]:
    dashed = k // len(COLOURS) % 2 == 1
    return {
        'color': look[COLOURS[k % len(COLOURS)]],
        'linewidth': 1.3,
        'linestyle': '--' if dashed else '-',
    }


def _seen(alignment: Alignment) -> str:
    if alignment.by == 'steps':
        return (
            f'Left: mean over the strides of {alignment.foot}, from touchdown to touchdown, ± one '
            'standard deviation. Right: difference of the means to the first result, with its '
            '95 % confidence interval at each phase (Welch).'
        )
    return (
        'Left: over time from the first instant of each recording. Right: difference to the first '
        f'result, averaged over {WINDOW:g} s, with the 95 % confidence interval of that mean.'
    )


def _data(
    aligned: Aligned,
    x_label: str,
    names: Sequence[str],
    means: Sequence[Array],
    differences: Sequence[Difference],
) -> Table:
    headings, columns = [x_label], [aligned.x]
    for name, mean in zip(names, means, strict=True):
        headings.append(f'{name} [{aligned.quantity.unit}]')
        columns.append(mean)
    for name, found in zip(names[1:], differences, strict=True):
        headings += [f'{name} minus {names[0]}', f'95 % ± of {name} minus {names[0]}']
        columns += [found.mean, found.half]
    return Table(tuple(headings), np.column_stack(columns).tolist())
