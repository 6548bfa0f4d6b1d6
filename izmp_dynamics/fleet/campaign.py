"""A campaign: bags and robot files in; table, page and numbers out.

It can be interrupted at any time: what is finished is in the results, and the same command goes
on with the rest.
"""

import json
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.base.errors import FleetError, ProcessError
from izmp_dynamics.engine.processes import PURPOSE, Processes, connected, held_back, outcomes
from izmp_dynamics.files.libraries import library
from izmp_dynamics.files.place import write_together, write_whole
from izmp_dynamics.fleet.page import fleet_page, fleet_statistics, libraries
from izmp_dynamics.fleet.robots import RobotFiles
from izmp_dynamics.fleet.row import Row, badness, blank, of_error, parquet
from izmp_dynamics.fleet.sources import BagSource, find_bags
from izmp_dynamics.fleet.task import Done, Task, evaluate

FILE = 'rows.sqlite'

REPORTS = 'reports'


class Record:
    """The rows of a folder of results, in the SQLite table `rows`; use it as a context manager.

    A row is added as soon as its bag is evaluated, by one process alone. So whatever ends that
    process, all finished bags are kept, and nothing is written twice.

    Args:
        folder: made if it does not exist; otherwise it is empty or has earlier results.

    Raises:
        FleetError: it has something else, cannot be written, or another run writes to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._rows: dict[tuple[str, str], Row] = {}
        self._added: set[Task] = set()
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / FILE).exists() and any(folder.iterdir()):
                raise FleetError(
                    f"'{folder}' is not an earlier result (it has no {FILE}) and not empty; "
                    'choose another place.',
                    kind='not_a_result', path=folder,
                )  # fmt: skip
            self._table = sqlite3.connect(folder / FILE, isolation_level=None, timeout=0.0)
            self._table.execute('PRAGMA locking_mode = EXCLUSIVE')  # until it is closed
            self._table.execute('BEGIN EXCLUSIVE')
            self._table.execute('CREATE TABLE IF NOT EXISTS rows (code TEXT, row TEXT)')
            self._table.execute('COMMIT')
            found = self._table.execute('SELECT row FROM rows WHERE code = ?', (code_digest(),))
            for (text,) in found.fetchall():
                self._note(json.loads(text))

    def __enter__(self) -> 'Record':
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()

    def result(self, task: Task) -> Row | None:
        """Return the row of a task: this run's, or an earlier one that is still right.

        It is right if the files of the bag, the robot and the code are the same, if the report is
        there that is wanted, and if no reason outside of the bag kept it from being evaluated.
        """
        row = self._rows.get((task.bag.path, task.robot))
        if row is None or task in self._added:
            return row
        has_report = row['report'] is not None and (self.folder / row['report']).is_file()
        is_right = (
            row['stamp'] == task.bag.stamp
            and not row['transient']
            and row['robot_sha256'] == task.robot_sha256 != ''
            and (not task.report or row['state'] == 'error' or has_report)
        )
        return row if is_right else None

    def add(self, task: Task, done: Done) -> Row:
        """Keep what came out of a task, and return its row.

        Raises:
            FleetError: it cannot be written.
        """
        row = done.row
        with self._writing():
            if done.files:
                row = row | {'report': self._write(task, done)}
            text = json.dumps(row, ensure_ascii=True, allow_nan=False)
            self._table.execute('INSERT INTO rows VALUES (?, ?)', (row['code'], text))
        self._note(row)
        self._added.add(task)
        return row

    def write(self, contents: Mapping[str, bytes]) -> None:
        """Write the results beside the rows, name → content: all of them or none.

        Raises:
            FleetError: they cannot be written.
        """
        with self._writing():
            write_together({self.folder / name: content for name, content in contents.items()})

    def _write(self, task: Task, done: Done) -> str:
        """Write a full report; return its page, relative to the folder."""
        name = re.sub(r'[^\w.-]+', '_', task.bag.name).lstrip('.')[:50]
        inputs = f'{task.bag.path} {done.row["sha256"]} {task.robot_sha256}'
        place = f'{REPORTS}/{name}-{sha256(os.fsencode(inputs)).hexdigest()[:16]}'
        for file, content in done.files.items():
            write_whole(self.folder / place / file, content)
        return f'{place}/report.html'

    def _note(self, row: Row) -> None:
        self._rows[row['bag'], row['robot_file']] = row

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.OperationalError) as error:
            if 'locked' in str(error):
                raise FleetError(
                    f"Another run is writing to '{self.folder}'; wait for it, or choose another "
                    'place.',
                    kind='in_use', path=self.folder,
                ) from error  # fmt: skip
            reason = getattr(error, 'strerror', None) or error
            raise FleetError(
                f"The results cannot be written to '{self.folder}': {reason}.",
                kind='cannot_write', path=self.folder, errno=getattr(error, 'errno', None),
            ) from error  # fmt: skip
        except (sqlite3.DatabaseError, ValueError) as error:
            raise FleetError(
                f"'{self.folder / FILE}' is damaged ({error}); remove it, and all bags are "
                'evaluated again.',
                kind='damaged', path=self.folder / FILE,
            ) from error  # fmt: skip


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
    processes: Processes,
    *,
    reports: bool = False,
    progress: Progress = lambda *_: None,
) -> Fleet:
    """Evaluate many bags.

    Args:
        places: where they are; see `find_bags`.
        robots: rules for their robot files; see `RobotFiles`.
        folder: of the results; those of an earlier run in it are kept and added to.
        processes: the processes that do the work.
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
    with Record(folder.absolute()) as record:
        tasks, refused = _tasks(bags, rules, reports)
        left = [task for task in tasks if record.result(task) is None]
        left.sort(key=lambda task: -task.bag.size)  # the longest first: none is waited for at last
        try:
            if left:
                _evaluate_all(left, record, processes, progress)
        finally:
            rows = [row for task in tasks if (row := record.result(task)) is not None]
            rows = sorted([*rows, *refused], key=badness)
            _write(record, rows, len(bags))
            if len(rows) < len(bags):
                _log.warning(
                    "%d of %d bags are in the results in '%s'; the same command goes on.",
                    len(rows), len(bags), record.folder,
                )  # fmt: skip
    return Fleet(record.folder, tuple(rows), len(bags), len(tasks) - len(left))


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
    tasks: Sequence[Task], record: Record, processes: Processes, progress: Progress
) -> None:
    size, done, bytes_done = sum(task.bag.size for task in tasks), 0, 0
    progress(0, len(tasks), 0, size)
    with connected(processes, len(tasks)) as client:
        for task, outcome in outcomes(client, evaluate, tasks, RETRIES):
            with held_back():
                record.add(task, _done(task, outcome))
            done, bytes_done = done + 1, bytes_done + task.bag.size
            progress(done, len(tasks), bytes_done, size)


def _done(task: Task, outcome: Done | Exception) -> Done:
    """What came out; a row with the error for a task that failed for a reason outside the bag."""
    if isinstance(outcome, Done):
        return outcome
    if isinstance(outcome, ProcessError):
        kind, said = outcome.kind, str(outcome)
    else:
        kind = type(outcome).__name__
        said = f'{kind}: {outcome}'
    return Done(blank(task.bag, task.robot) | of_error(said, kind, transient=True))


def _write(record: Record, rows: Sequence[Row], bags: int) -> None:
    numbers = fleet_statistics(rows, bags)
    text = json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False) + '\n'
    record.write({
        TABLE: parquet(rows),
        PAGE: fleet_page(rows, numbers).encode(errors='backslashreplace'),
        NUMBERS: text.encode(errors='backslashreplace'),
    })  # fmt: skip
