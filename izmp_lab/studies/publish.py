"""From figures to files: runs them, draws them, writes pictures, numbers and page.

OUT/index.html is the page; beside it each picture as NAME.png, NAME.svg and NAME.csv; numbers.csv
holds every number of every caption; runs/ keeps the finished runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from izmp_dynamics.base.errors import UnknownNameError
from izmp_dynamics.engine.cluster import HERE, Cluster
from izmp_dynamics.pages.files import files_of, to_csv, write_files
from izmp_dynamics.pages.page import Figures, Page
from izmp_dynamics.pages.picture import Fact, Picture, Table
from izmp_lab.studies.campaign import perform_all
from izmp_lab.studies.runs import Load, Run, Store, perform


@dataclass(frozen=True)
class Figure:
    """A figure of a page.

    Attributes:
        runs: study → what the figure needs.
        picture: study and what loads those runs → the drawn figure.
    """

    runs: Callable[[Any], tuple[Run, ...]]
    picture: Callable[[Any, Load], Picture]


def figure(runs: Callable[[Any], tuple[Run, ...]]) -> Callable[[Callable[..., Picture]], Figure]:
    """Make a figure of the function that draws it: it is called with the study and `Load`."""
    return lambda picture: Figure(runs, picture)


@dataclass(frozen=True)
class Results:
    """What came out.

    Attributes:
        page: the HTML page.
        pictures: in the order of the page.
    """

    page: Path
    pictures: tuple[Picture, ...]

    @property
    def claims(self) -> tuple[tuple[Picture, Fact], ...]:
        """The facts that must hold, with their pictures."""
        return tuple((p, f) for p in self.pictures for f in p.facts if f.holds is not None)


def publish(
    page: Page,
    subject: Any,
    folder: Path,
    *,
    only: Sequence[str] = (),
    cluster: Cluster = HERE,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Results:
    """Make figures, tables and page.

    Args:
        page: what is shown.
        subject: what the figures' functions are called with: it knows the runs.
        folder: where everything goes; finished runs in it are used again.
        only: names of figures; all of them if empty.
        cluster: where the runs are done.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong; finished runs are kept.
    """
    from izmp_dynamics.pages.rendering import render

    modules = selected(page.figures, only)
    store = Store(folder / 'runs')
    runs = [run for module in modules for run in module.runs(subject)]
    perform_all(runs, store, cluster, lambda fraction: progress(0.9 * fraction))
    pictures = []
    for index, module in enumerate(modules):
        picture = module.picture(subject, lambda run: perform(run, store))
        write_files(files_of(picture), folder)
        pictures.append(picture)
        progress(0.9 + 0.1 * (index + 1) / len(modules))
    numbers = numbers_table(pictures)
    text = render(page, pictures)
    write_files({'numbers.csv': to_csv(numbers), 'index.html': text.encode()}, folder)
    return Results(folder / 'index.html', tuple(pictures))


def selected(figures: Figures, only: Sequence[str]) -> list[Figure]:
    """Return the modules that are wanted, in the order of the page; all if `only` is empty.

    Raises:
        UnknownNameError: if one does not exist.
    """
    for name in only:
        if name not in figures:
            raise UnknownNameError('figure', name, figures)
    return [module for name, (module, _) in figures.items() if not only or name in only]


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
