"""All pictures of `izmp experiments paper`, and where their files go.

OUT/index.html is the page; beside it each picture as NAME.png, NAME.svg and NAME.csv; numbers.csv
holds every number of every caption; runs/ keeps the finished runs.
"""

import csv
import io
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from izmp_dynamics.errors import UnknownNameError
from izmp_dynamics.experiments import (
    fig06,
    fig07,
    fig08,
    fig09,
    fig10,
    fig11,
    prediction,
    push,
    sensitivity,
    zero_crossing,
)
from izmp_dynamics.experiments.campaign import Campaign
from izmp_dynamics.experiments.experiment import Experiment
from izmp_dynamics.experiments.picture import Fact, Picture, Table
from izmp_dynamics.experiments.runs import perform, perform_all
from izmp_dynamics.experiments.store import Store, StoreError

FIGURES: dict[str, tuple[ModuleType, str]] = {
    'fig6': (fig06, 'MR-AD and IR-MD with ideal sensors over one full step'),
    'fig7': (fig07, 'convergence of both methods with the time step'),
    'fig8': (fig08, 'noisy sensors at 125 Hz, with the predicted band'),
    'fig9': (fig09, 'relative errors of the setups A to D, and the table of all setups'),
    'fig10': (fig10, 'angular acceleration from accelerometers or gyroscope (B, E, D)'),
    'fig11': (fig11, 'walking onto a slope of 10°, with the IMUs in the feet'),
    'zero_crossing': (zero_crossing, 'the trap in the paper’s relative error'),
    'prediction': (prediction, 'predicted and observed standard deviation of the IZMP'),
    'sensitivity': (sensitivity, 'error over accelerometer distance, noise density and rate'),
    'push': (push, 'the gap between CoP and IZMP under a push'),
}
"""Name → module with `runs` and `picture`, and what it shows."""


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


def make_paper(
    experiment: Experiment,
    folder: Path,
    *,
    only: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Results:
    """Make figures and tables.

    Args:
        experiment: what is wanted.
        folder: where everything goes; finished runs in it are used again.
        only: names of `FIGURES`; all of them if empty.
        jobs: number of processes.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: a sentence that says what is wrong; finished runs are kept.
    """
    from izmp_dynamics.experiments.page import render

    names = chosen(only)
    campaign, store = Campaign.of(experiment), Store(folder / 'runs')
    modules = [FIGURES[name][0] for name in names]
    runs = [run for module in modules for run in module.runs(campaign)]
    perform_all(runs, store, jobs, lambda fraction: progress(0.9 * fraction))
    pictures = []
    for index, module in enumerate(modules):
        picture = module.picture(campaign, lambda run: perform(run, store))
        write_files(files_of(picture), folder)
        pictures.append(picture)
        progress(0.9 + 0.1 * (index + 1) / len(modules))
    numbers = numbers_table(pictures)
    page = {'numbers.csv': to_csv(numbers), 'index.html': render(experiment, pictures).encode()}
    write_files(page, folder)
    return Results(folder / 'index.html', tuple(pictures))


def chosen(only: Sequence[str]) -> list[str]:
    """Return the names that are wanted, in the order of the page.

    Raises:
        UnknownNameError: if one does not exist.
    """
    for name in only:
        if name not in FIGURES:
            raise UnknownNameError('figure', name, FIGURES)
    return [name for name in FIGURES if not only or name in only]


def files_of(picture: Picture) -> dict[str, bytes]:
    """Draw a picture for its own files: name → content."""
    from izmp_dynamics.experiments.page import standalone_svg, to_png

    return {
        f'{picture.name}.png': to_png(picture),
        f'{picture.name}.svg': standalone_svg(picture).encode(),
        f'{picture.name}.csv': to_csv(picture.data),
    }


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


def to_csv(table: Table) -> bytes:
    """Write a table as CSV (UTF-8, comma)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator='\n')
    writer.writerow(table.headings)
    writer.writerows(table.texts())
    return text.getvalue().encode()


def write_files(files: dict[str, bytes], folder: Path) -> None:
    """Write files into a folder, each as a whole or not at all.

    Raises:
        StoreError: if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f'.{name}.')
            try:
                with open(handle, 'wb') as file:
                    file.write(content)
                os.chmod(temporary, 0o644)
                os.replace(temporary, folder / name)
            finally:
                Path(temporary).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"Results cannot be written to '{folder}': {error.strerror or error}."
        ) from error
