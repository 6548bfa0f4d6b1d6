"""Write report.html and report.json, whole or not at all."""

import json
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError, MissingDependencyError
from izmp_dynamics.files.place import write_together
from izmp_dynamics.report.plots import plots_of
from izmp_dynamics.results.evaluation import Evaluation
from izmp_dynamics.verdict.scene import Scene
from izmp_dynamics.verdict.summary import Summary, summarise

FORMAT = 'izmp_dynamics report 2'


class ReportError(IzmpError):
    """The report cannot be written."""


@dataclass(frozen=True)
class ReportPaths:
    """Where the report is, and what it says.

    Attributes:
        html: the page.
        json: the same numbers for programs.
        summary: what both were made from.
    """

    html: Path
    json: Path
    summary: Summary


def write_report(evaluation: Evaluation, folder: Path, *, bag: str = '') -> ReportPaths:
    """Write report.html and report.json into `folder`; existing ones are replaced.

    The page is self-contained: it needs no network and no other file. It plays the recording, if
    the libraries for that are installed; otherwise it says what to install. The same evaluation
    gives the same bytes.

    Args:
        evaluation: what to report.
        folder: made if it does not exist.
        bag: name of the recording, for the page.

    Returns:
        the paths of the two files (`html`, `json`) and the numbers that both state (`summary`).

    Raises:
        MissingDependencyError: jinja2 is not installed.
        ReportError: the files cannot be written.
    """
    scene = Scene(evaluation)
    return write_summary(scene, summarise(scene), folder, bag=bag)


def write_summary(
    scene: Scene,
    summary: Summary,
    folder: Path,
    *,
    bag: str = '',
    command: str = '',
) -> ReportPaths:
    """Write a report whose numbers are known already; see `write_report`.

    The page names the `command` that it comes from.
    """
    from izmp_dynamics.report.page import render  # here, because jinja2 is needed here alone
    from izmp_dynamics.report.player.assemble import player_html

    plots = plots_of(scene, summary)
    out_of_view = {plot.name: plot.out_of_view for plot in plots}
    report = {'format': FORMAT, **summary.as_dict(), 'out_of_view': out_of_view}
    text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + '\n'
    html, data = Path(folder) / 'report.html', Path(folder) / 'report.json'
    player, absent = '', ''
    try:
        player = player_html(scene, summary, plots)
    except MissingDependencyError as error:
        absent = str(error)
    page = render(report, player, absent, bag=bag, command=command)
    texts = {html: page, data: text}
    try:  # 'backslashreplace': a name of a file need not be UTF-8; in JSON it is the same text
        write_together(
            {path: text.encode(errors='backslashreplace') for path, text in texts.items()}
        )
    except OSError as error:
        raise ReportError(
            f"The report cannot be written to '{html.parent}': {error.strerror or error}.",
            kind='cannot_write', path=html.parent, errno=error.errno,
        ) from error  # fmt: skip
    return ReportPaths(html, data, summary)
