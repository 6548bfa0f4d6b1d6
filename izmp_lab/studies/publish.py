"""From figures to files: runs them, draws them, writes pictures, numbers and page.

OUT/index.html is the page; beside it each picture as NAME.png, NAME.svg and NAME.csv; numbers.csv
holds every number of every caption; runs/ keeps the finished runs.

What the pictures of several studies share is here too: curves, maps of shaded cells, named rows.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.engine.processes import HERE, Processes
from izmp_dynamics.pages.look import Entry, line
from izmp_dynamics.pages.picture import Fact, Figures, Missing, Page, Picture, Table
from izmp_dynamics.pages.rendering import files_of, to_csv, write_files
from izmp_dynamics.pages.styles import LIGHT
from izmp_lab.studies.runs import Run, Store, perform, perform_all

HATCH = '#b3196b'
"""Colour of the hatching of cells that fail."""

_SHADES = ('#fee838', '#d5c164', '#a59c74', '#777776', '#414d6b', '#00224e')
"""Of values below each class, and above all: cividis, light is good."""


@dataclass(frozen=True)
class Curve:
    """How one method looks in all figures of a study.

    Attributes:
        label: in legends and tables.
        colour: its name in `LIGHT`.
        dashes: matplotlib's line style.
        width: of the line.
        marker: matplotlib's.
    """

    label: str
    colour: str
    dashes: Any
    width: float
    marker: str

    def style(self, size: float | None = None, **others: Any) -> dict[str, Any]:
        """Arguments of matplotlib's `plot`; with markers of a size if one is given."""
        own = {'color': LIGHT[self.colour], 'linestyle': self.dashes, 'linewidth': self.width}
        marked = {'marker': self.marker, 'markersize': size} if size else {}
        return own | marked | others

    def entry(self, size: float | None = None, text: str = '', **others: Any) -> Entry:
        """Legend entry; with a marker of a size if one is given."""
        keywords = self.style(size, **others)
        del keywords['color']
        return Entry(text or self.label, line(self.colour, **keywords))


def heading(ax: Any, text: str) -> None:
    """Write a title above the left end of axes."""
    ax.set_title(text, fontsize=9.5, loc='left')


def named_rows(ax: Any, names: Sequence[str], width: float, left: float) -> None:
    """Name rows 0, 1, … from top to bottom, with so much room left of the axes [inch]."""
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis='y', length=0)
    place = ax.get_position()
    ax.set_position([left / width, place.y0, place.x1 - left / width, place.height])


def shade(value: float, classes: Sequence[float]) -> str:
    """Colour of a value that lies below, between or above the five limits of classes."""
    return _SHADES[np.searchsorted(classes, value)]


def shades(classes: Sequence[float], **style: Any) -> list[Entry]:
    """Legend entries of the classes of `shade` [mm]."""
    from matplotlib.patches import Patch

    names = (
        f'< {classes[0]:g} mm',
        *(f'{low:g}–{high:g}' for low, high in itertools.pairwise(classes)),
        f'> {classes[-1]:g}',
    )
    return [
        Entry(name, Patch(facecolor=colour, **style))
        for name, colour in zip(names, _SHADES, strict=True)
    ]


def cell_text(ax: Any, column: int, row: int, text: str) -> None:
    """Write into a cell of a map, legible on every shade."""
    from matplotlib.patheffects import withStroke

    ax.text(column, row, text, ha='center', va='center', fontsize=8, color='#111111',
            linespacing=1.1,
            path_effects=[withStroke(linewidth=2.2, foreground='#ffffff')])  # fmt: skip


def map_axes(ax: Any, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Name columns and rows of a map, whose cells are of size one about whole numbers."""
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-0.5, len(rows) - 0.5))
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)


@dataclass(frozen=True)
class Figure:
    """A figure of a page.

    Attributes:
        runs: study → the runs that the figure needs, by keys of its own.
        picture: study and the results of these runs, by the same keys → the drawn figure, or why
            there is none.
    """

    runs: Callable[[Any], Mapping[Any, Run]]
    picture: Callable[[Any, Any], Picture | Missing]


def figure(runs: Callable[[Any], Mapping[Any, Run]]) -> Callable[[Callable[..., Picture]], Figure]:
    """Make a figure of the function that draws it."""
    return lambda picture: Figure(runs, picture)


def at_most(
    key: str, label: str, value: float, limit: float, unit: str = '', digits: int = 2,
    *, paper: str = '', sound: bool = True,
) -> Fact:  # fmt: skip
    """State a number that must not exceed a limit; it does not hold either if not `sound`."""
    return Fact(key, label, value, unit, digits, paper=paper,
                wanted=_wanted(f'≤ {limit:g}', unit), holds=sound and value <= limit)  # fmt: skip


def at_least(
    key: str, label: str, value: float, limit: float, unit: str = '', digits: int = 2,
    *, paper: str = '', sound: bool = True,
) -> Fact:  # fmt: skip
    """State a number that must reach a limit; it does not hold either if not `sound`."""
    return Fact(key, label, value, unit, digits, paper=paper,
                wanted=_wanted(f'≥ {limit:g}', unit), holds=sound and value >= limit)  # fmt: skip


def within(
    key: str, label: str, value: float, limits: tuple[float, float], unit: str = '',
    digits: int = 2, *, paper: str = '',
) -> Fact:  # fmt: skip
    """State a number that must lie between two limits."""
    low, high = limits
    wanted = _wanted(f'{low:g} to {high:g}', unit)
    holds = low <= value <= high
    return Fact(key, label, value, unit, digits, paper=paper, wanted=wanted, holds=holds)


def _wanted(limit: str, unit: str) -> str:
    return f'{limit}{unit}' if unit in ('', '°') else f'{limit} {unit}'


@dataclass(frozen=True)
class Results:
    """What came out.

    Attributes:
        page: the HTML page.
        pictures: in the order of the page.
        missing: figures that could not be made, with the reason.
    """

    page: Path
    pictures: tuple[Picture, ...]
    missing: tuple[Missing, ...] = ()

    @property
    def claims(self) -> tuple[tuple[Picture, Fact], ...]:
        """The facts that must hold, with their pictures."""
        return tuple((p, f) for p in self.pictures for f in p.facts if f.holds is not None)


def publish(
    page: Page,
    study: Any,
    folder: Path,
    *,
    only: Sequence[str] = (),
    processes: Processes = HERE,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Results:
    """Make figures, tables and page.

    Args:
        page: what is shown.
        study: what the figures' functions are called with: it knows the runs.
        folder: where everything goes; finished runs in it are used again.
        only: names of figures; all of them if empty.
        processes: where the runs are done.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong; finished runs are kept.
    """
    from izmp_dynamics.pages.rendering import render

    figures = selected(page.figures, only)
    store = Store(folder / 'runs')
    runs = [run for each in figures for run in each.runs(study).values()]
    perform_all(runs, store, processes, lambda fraction: progress(0.9 * fraction))
    pictures, missing = [], []
    for index, each in enumerate(figures):
        found = {key: perform(run, store) for key, run in each.runs(study).items()}
        picture = each.picture(study, found)
        if isinstance(picture, Missing):
            missing.append(picture)
        else:
            write_files(files_of(picture), folder)
            pictures.append(picture)
        progress(0.9 + 0.1 * (index + 1) / len(figures))
    numbers = numbers_table(pictures)
    text = render(replace(page, missing=(*page.missing, *missing)), pictures)
    write_files({'numbers.csv': to_csv(numbers), 'index.html': text.encode()}, folder)
    return Results(folder / 'index.html', tuple(pictures), tuple(missing))


def selected(figures: Figures, only: Sequence[str]) -> list[Figure]:
    """Return the figures that are wanted, in the order of the page; all if `only` is empty.

    Raises:
        UnknownNameError: if one does not exist.
    """
    for name in only:
        if name not in figures:
            raise UnknownNameError('figure', name, figures)
    return [each for name, (each, _) in figures.items() if not only or name in only]


def numbers_table(pictures: Sequence[Picture]) -> Table:
    """Every number of every caption, as it is written there."""
    headings = (
        'figure', 'number', 'value', '95 % ±', 'unit', 'the paper', 'wanted', 'holds', 'key',
    )  # fmt: skip
    rows = [
        [picture.name, fact.label, fact.number, fact.spread, fact.unit, fact.paper, fact.wanted,
         '' if fact.holds is None else 'yes' if fact.holds else 'no', fact.key]
        for picture in pictures
        for fact in picture.facts
    ]  # fmt: skip
    return Table(headings, rows)
