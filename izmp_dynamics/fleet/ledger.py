"""The rows of a folder of results: one per evaluated bag, in the SQLite table `rows`.

A row is added as soon as its bag is evaluated, by one process alone. So whatever ends that
process, all finished bags are kept, and nothing is written twice.
"""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.base.errors import FleetError
from izmp_dynamics.files.place import write_together, write_whole
from izmp_dynamics.fleet.row import Row
from izmp_dynamics.fleet.task import Done, Task

FILE = 'rows.sqlite'

REPORTS = 'reports'


class Ledger:
    """The rows in a folder; use it as a context manager.

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

    def __enter__(self) -> 'Ledger':
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()

    def result(self, task: Task) -> Row | None:
        """Return the row of a task: this run's, or an earlier one that is still right.

        It is right if the files of the bag, the robot and the code are the same, if the report is
        there that is wanted, and if no reason outside of the bag kept it from being evaluated.
        """
        row = self._rows.get((task.bag.url, task.robot))
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
        place = f'{REPORTS}/{name}-{done.sha256[:12]}-{task.robot_sha256[:6]}'
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
