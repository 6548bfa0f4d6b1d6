"""From folders of results to a page, with index.html, numbers.csv and pictures."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.compare.result import (
    LEAST_STRIDES,
    Aligned,
    Alignment,
    Result,
    align,
    in_words,
    load_results,
    margin_known,
)
from izmp_dynamics.compare.table import (
    WINDOW,
    Difference,
    mean_known,
    numbers,
    of_strides,
    over_time,
    shown,
)
from izmp_dynamics.files.place import TAKEN
from izmp_dynamics.pages.look import Entry, legible, line, panels
from izmp_dynamics.pages.picture import Page, Picture, Table, Toned
from izmp_dynamics.pages.rendering import files_of, render, to_csv, write_files
from izmp_dynamics.pages.styles import LIGHT
from izmp_dynamics.verdict.events.event import KINDS
from izmp_dynamics.verdict.formatting import margin_mm, mm, seconds

_PAGE = 'index.html'
_METHOD = (
    'Series are those of OUT/bag of izmp replay: IZMP of MR-AD and CoP in the root frame, instant '
    'by instant. Over the gait cycle, strides are taken as independent samples (Welch). Over '
    'time, neighbouring instants resemble each other: the interval of a mean follows from the '
    'autocovariance of the difference, and there is none where the recording is shorter than five '
    'times what that needs. An interval of 95 % that does not contain zero at a single '
    'phase or instant means little: of a hundred, five do so by chance.'
)


@dataclass(frozen=True)
class Comparison:
    """What came out.

    Attributes:
        page: the HTML page.
        verdicts: one line for each result.
        aligned: how, and what the numbers after ± are.
        shown: the numbers as the page has them.
        caveats: what has to be known before them.
    """

    page: Path
    verdicts: tuple[str, ...]
    aligned: str
    shown: Table
    caveats: tuple[str, ...]


def compare_runs(
    folders: Sequence[Path], out: Path, *, names: Sequence[str] = (), by: str = '', foot: str = '',
    overwrite: bool = False,
) -> Comparison:  # fmt: skip
    """Compare results of `izmp replay`, all of them with the first.

    Args:
        folders: the results.
        out: where the page goes.
        names: of the results.
        by: 'time', 'steps', or '' for steps where every result has enough of them.
        foot: whose touchdowns begin the strides.
        overwrite: replace the files of an earlier page in `out`.

    Raises:
        IzmpError: a sentence that says what is wrong with a result or with `out`.
    """
    if out.suffix in ('.html', '.htm') and not out.is_dir():
        raise ReplayError(
            f"'{out}' is the name of a page, but the output is a folder: of index.html, tables "
            f"and pictures. Give its name, for example '{out.with_suffix('')}'.",
            kind='not_a_folder', folder=out,
        )  # fmt: skip
    if (out / _PAGE).exists() and not overwrite:
        raise ReplayError(
            f"'{out / _PAGE}' {TAKEN}.", kind='place_taken', folder=out,
        )  # fmt: skip
    results = load_results(folders, names)
    alignment = align(results, by, foot)
    remarks = tuple(caveats(results, alignment))
    table = numbers(results, alignment)
    rounded = shown(table)
    pictures = [picture_of(results, alignment, aligned) for aligned in alignment.quantities]
    listed = ', '.join(result.name for result in results)
    page = Page(
        figures={},
        title='Comparison of runs',
        lead=f'{listed}, {_aligned(results, alignment)}. Differences are to the first.',
        caveats=remarks,
        method=_METHOD,
        settings={result.name: str(result.folder) for result in results},
        tables={'Verdicts and events': _verdicts(results)},
        appendix={'Numbers': rounded},
    )
    files = {
        'numbers.csv': to_csv(table),
        _PAGE: render(page, pictures).encode(),
    }
    for picture in pictures:
        files |= files_of(picture)
    write_files(files, out)
    verdicts = tuple(f'{each.name}: {each.report["verdict"]["headline"]}' for each in results)
    aligned = (
        f'Mean ± standard deviation {_aligned(results, alignment)}; difference to '
        f'{results[0].name} ± half its 95 % confidence interval:'
    )
    return Comparison(out / _PAGE, verdicts, aligned, rounded, remarks)


def _aligned(results: Sequence[Result], alignment: Alignment) -> str:
    if alignment.by == 'steps':
        return (
            f'over the gait cycle from touchdown to touchdown of {alignment.foot} '
            f'(strides: {in_words(alignment.strides)})'
        )
    aligned = 'over time from the first instant'
    if len({round(result.duration, 2) for result in results}) > 1:
        shortest = min(results, key=lambda result: result.duration)
        aligned += f', as long as the shortest ({shortest.name}, {seconds(shortest.duration)})'
    if max(alignment.strides.values(), default=0):
        aligned += f'; strides, {LEAST_STRIDES} needed by steps: {in_words(alignment.strides)}'
    return aligned


def _verdicts(results: Sequence[Result]) -> Table:
    """Verdict and number of events of each result; kinds that none has are left out."""
    counts = [Counter(event['kind'] for event in result.report['events']) for result in results]
    kinds = [k for k in KINDS if k != 'lowest margin' and any(count[k] for count in counts)]
    rows = []
    for result, count in zip(results, counts, strict=True):
        report = result.report
        margin: str | Toned = _margin(report)
        if report['verdict']['margin'] is not None:
            margin = Toned(margin, 'bad' if report['verdict']['margin'] < 0.0 else 'good')
        rows.append([
            result.name, report['robot'], seconds(result.duration),
            Toned(report['verdict']['headline'], report['verdict']['state']), margin,
            *(str(count[kind]) for kind in kinds),
        ])  # fmt: skip
    return Table(('result', 'robot', 'duration', 'verdict', 'smallest margin', *kinds), rows)


def _margin(report: Mapping[str, Any]) -> str:
    """The margin that decides, with its uncertainty where that is known."""
    verdict = report['verdict']
    margin = margin_mm(verdict['margin'])
    if verdict['margin_of'] == 'capture point':
        return f'{margin} (capture point)'
    if verdict['margin'] is None or verdict['judged_by'] == 'cop':
        return margin
    return f'{margin} ± {mm(verdict["uncertainty"])}'


_DATA = {'.mcap', '.db3', '.db3-wal'}


def caveats(results: Sequence[Result], alignment: Alignment) -> Iterator[str]:
    """Name results without a verdict, margins that are not known, and different recordings."""
    for result in results:
        verdict = result.report['verdict']
        if verdict['state'] != 'unclear':
            continue
        if margin_known(result.report):
            means = 'From its margins it does not follow that the robot was stable.'
        else:
            means = (
                'Margins are not compared, and its IZMP and CoP follow from that position as well.'
            )
        yield f'{result.name} has no verdict: {verdict["sentence"]} {means}'
    robots = {result.report['robot'] for result in results}
    if len(robots) > 1:
        yield f'These are different robots: {", ".join(sorted(robots))}.'
    if alignment.by == 'time':
        first = results[0]
        others = [other.name for other in results[1:] if _data(other) != _data(first)]
        if others:
            yield (
                f'{", ".join(others)} and {first.name} are different recordings: differences over '
                'time mean something only where the robot did the same at the same time after '
                'the first instant.'
            )


def _data(result: Result) -> frozenset[str]:
    """SHA-256 of the files of the recording."""
    hashes = result.report.get('hashes', {})
    return frozenset(
        digest for name, digest in hashes.items() if _DATA & set(PurePath(name).suffixes)
    )


COLOURS = ('mr-ad', 'ir-md', 'cop', 'other', 'outside', 'sole')
"""Of the results, in their order; further ones are dashed."""


def picture_of(results: Sequence[Result], alignment: Alignment, aligned: Aligned) -> Picture:
    """Draw a quantity."""
    quantity, names = aligned.quantity, [result.name for result in results]
    drawn = [legible(name) for name in names]
    first, *others = aligned.rows
    differences = [
        of_strides(first, other) if alignment.by == 'steps' else
        over_time(aligned.x, other[0] - first[0]) for other in others
    ]  # fmt: skip
    means = [mean_known(rows, 0) for rows in aligned.rows]
    label = f'{quantity.label} [{quantity.unit}]'
    x_label = 'time [s]' if alignment.by == 'time' else 'gait cycle [%]'

    def draw(width: float) -> Any:
        legend, styles = [], []
        for k, name in enumerate(drawn):
            colour, dashes = COLOURS[k % len(COLOURS)], '--' if k // len(COLOURS) % 2 else '-'
            legend.append(Entry(name, line(colour, linestyle=dashes)))
            # the first, which the others are compared with, is wide and behind them
            wide = {'linewidth': 3.5, 'alpha': 0.45} if k == 0 else {'linewidth': 1.3}
            styles.append({'color': LIGHT[colour], 'linestyle': dashes, **wide})
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
        axes[1].axhline(0.0, color=LIGHT['ink'], linewidth=0.8)
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
        data=_drawn(aligned, x_label, names, means, differences),
    )


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


def _drawn(
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
