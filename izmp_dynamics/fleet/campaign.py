"""A campaign: bags and robot files in; table, page and numbers out.

It can be interrupted at any time: what is finished is in the results, and the same command goes
on with the rest.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.base.errors import ClusterError, FleetError
from izmp_dynamics.engine.cluster import PURPOSE, Cluster, connected
from izmp_dynamics.engine.tasks import outcomes
from izmp_dynamics.engine.worker import held_back
from izmp_dynamics.files.libraries import library
from izmp_dynamics.fleet.ledger import Ledger
from izmp_dynamics.fleet.page import fleet_page, fleet_statistics, libraries
from izmp_dynamics.fleet.robots import RobotFiles
from izmp_dynamics.fleet.row import Row, badness, blank, of_error, parquet
from izmp_dynamics.fleet.sources import BagSource, find_bags, reason
from izmp_dynamics.fleet.task import Done, Task, evaluate

RETRIES = 2
"""How often a bag is tried again whose evaluation raised what no bag should cause."""

TABLE, PAGE, NUMBERS = 'fleet.parquet', 'fleet.html', 'fleet.json'

_log = logging.getLogger(__name__)

Progress = Callable[[int, int, int, int], None]
"""Called with bags done, bags in all, bytes done, bytes in all, of those that this run does; while
bags are found, with their number and no bytes."""


@dataclass(frozen=True)
class Fleet:
    """Where the results are, and what they say.

    Attributes:
        folder: of all results.
        rows: one per finished bag, the worst first.
        bags: how many were asked for.
        kept: how many of the rows an earlier run had made.
    """

    folder: Path
    rows: tuple[Row, ...]
    bags: int
    kept: int


def run_fleet(
    places: Sequence[str],
    robots: Sequence[str],
    folder: Path,
    cluster: Cluster,
    *,
    reports: bool = False,
    progress: Progress = lambda *_: None,
) -> Fleet:
    """Evaluate many bags.

    Args:
        places: where they are; see `find_bags`.
        robots: rules for their robot files; see `RobotFiles`.
        folder: of the results; those of an earlier run in it are kept and added to.
        cluster: where the work is done.
        reports: write the full report of every bag as well.
        progress: called with what is done.

    Raises:
        IzmpError: nothing can be evaluated; a sentence says why. (A single bag that cannot is a
            row of the table.)
        KeyboardInterrupt: after the results of the finished bags are written.
    """
    library('distributed', PURPOSE)  # before the work, and not after it
    library('pyarrow', 'Writing the table')
    libraries()
    rules = RobotFiles(robots)
    bags = find_bags(places, lambda found: progress(0, found, 0, 0))
    with Ledger(folder.absolute()) as ledger:
        tasks, refused = _tasks(bags, rules, reports)
        left = [task for task in tasks if ledger.result(task) is None]
        left.sort(key=lambda task: -task.bag.size)  # the longest first: none is waited for at last
        try:
            if left:
                _evaluate_all(left, ledger, cluster, progress)
        finally:
            rows = [row for task in tasks if (row := ledger.result(task)) is not None]
            rows = sorted([*rows, *refused], key=badness)
            _write(ledger, rows, len(bags))
            if len(rows) < len(bags):
                _log.warning(
                    "%d of %d bags are in the results in '%s'; the same command goes on.",
                    len(rows), len(bags), ledger.folder,
                )  # fmt: skip
    return Fleet(ledger.folder, tuple(rows), len(bags), len(tasks) - len(left))


def _tasks(
    bags: Sequence[BagSource], rules: RobotFiles, reports: bool
) -> tuple[list[Task], list[Row]]:
    """The tasks, and the rows of what could not be looked at and of bags without a robot file."""
    tasks, refused = [], []
    for bag in bags:
        if bag.problem:
            refused.append(blank(bag, '') | of_error(bag.problem, 'unreadable', transient=True))
            continue
        try:
            robot = rules.file_for(bag)
        except FleetError as error:
            refused.append(blank(bag, '') | of_error(str(error), error.kind, transient=False))
        else:
            tasks.append(Task(bag, str(robot), rules.digest(robot), reports))
    return tasks, refused


def _evaluate_all(
    tasks: Sequence[Task], ledger: Ledger, cluster: Cluster, progress: Progress
) -> None:
    size, done, bytes_done = sum(task.bag.size for task in tasks), 0, 0
    progress(0, len(tasks), 0, size)
    with connected(cluster, len(tasks)) as client:
        for task, outcome in outcomes(client, evaluate, tasks, RETRIES):
            with held_back():
                ledger.add(task, _done(task, outcome))
            done, bytes_done = done + 1, bytes_done + task.bag.size
            progress(done, len(tasks), bytes_done, size)


def _done(task: Task, outcome: Done | Exception) -> Done:
    """What came out; a row with the error for a task that failed for a reason outside the bag."""
    if isinstance(outcome, Done):
        if outcome.row['code'] != code_digest():
            raise FleetError(
                f"The worker on '{outcome.row['host']}' runs another version of izmp_dynamics, "
                'numpy, scipy or numba than this command; install the same ones on all computers '
                'of the cluster.',
                kind='other_version', host=outcome.row['host'],
            )  # fmt: skip
        return outcome
    if isinstance(outcome, ClusterError):
        kind, said = outcome.kind, str(outcome)
    else:
        kind = type(outcome).__name__
        said = f'{kind}: {reason(outcome)}'
    return Done(blank(task.bag, task.robot) | of_error(said, kind, transient=True))


def _write(ledger: Ledger, rows: Sequence[Row], bags: int) -> None:
    numbers = fleet_statistics(rows, bags)
    text = json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False) + '\n'
    ledger.write({
        TABLE: parquet(rows),
        PAGE: fleet_page(rows, numbers).encode(errors='backslashreplace'),
        NUMBERS: text.encode(errors='backslashreplace'),
    })  # fmt: skip
