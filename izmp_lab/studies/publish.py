"""From figures to files: runs them, draws them, writes pictures, numbers and page.

OUT/index.html is the page; beside it each picture as NAME.png, NAME.svg and NAME.csv; numbers.csv
holds every number of every caption; runs/ keeps the finished runs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.engine.cluster import HERE, Cluster
from izmp_dynamics.pages.files import files_of, to_csv, write_files
from izmp_dynamics.pages.page import Figures, Missing, Page
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.runs import Run, Store, perform, perform_all


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
    cluster: Cluster = HERE,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Results:
    """Make figures, tables and page.

    Args:
        page: what is shown.
        study: what the figures' functions are called with: it knows the runs.
        folder: where everything goes; finished runs in it are used again.
        only: names of figures; all of them if empty.
        cluster: where the runs are done.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong; finished runs are kept.
    """
    from izmp_dynamics.pages.rendering import render

    figures = selected(page.figures, only)
    store = Store(folder / 'runs')
    runs = [run for each in figures for run in each.runs(study).values()]
    perform_all(runs, store, cluster, lambda fraction: progress(0.9 * fraction))
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
