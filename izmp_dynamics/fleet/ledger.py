"""The rows of a folder of results: one line per evaluated bag, in the file rows.jsonl.

A line is appended as soon as its bag is evaluated, by one process alone. So whatever ends that
process, all finished bags are kept, and nothing is written twice.
"""

import fcntl
import json
import logging
import os
import re
from collections import defaultdict
from pathlib import Path

from izmp_dynamics.base.errors import FleetError
from izmp_dynamics.files.place import write_whole
from izmp_dynamics.fleet.code import code
from izmp_dynamics.fleet.row import Row, parsed
from izmp_dynamics.fleet.task import Done, Task

FILE = 'rows.jsonl'

REPORTS = 'reports'

_log = logging.getLogger(__name__)


class Ledger:
    """The rows in a folder; use it as a context manager.

    Args:
        folder: made if it does not exist; otherwise it is empty or has earlier results.

    Raises:
        FleetError: it has something else, cannot be written, or another run writes to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / FILE).exists() and any(folder.iterdir()):
                raise FleetError(
                    f"'{folder}' is not an earlier result (it has no {FILE}) and not empty; "
                    'choose another place.',
                    kind='not_a_result', path=folder,
                )  # fmt: skip
            self._file = (folder / FILE).open('r+b' if (folder / FILE).exists() else 'w+b')
        except OSError as error:
            raise FleetError(
                f"The results cannot be written to '{folder}': {error.strerror or error}.",
                kind='cannot_write', path=folder, errno=error.errno,
            ) from error  # fmt: skip
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise FleetError(
                f"Another run is writing to '{folder}'; wait for it, or choose another place.",
                kind='in_use', path=folder,
            ) from error  # fmt: skip
        self._rows: dict[tuple[str, str], Row] = {}
        self._by_size: defaultdict[int, list[Row]] = defaultdict(list)
        self._added: set[Task] = set()
        self._read()

    def __enter__(self) -> 'Ledger':
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def result(self, task: Task) -> Row | None:
        """Return the row of a task: this run's, or an earlier one that is still right.

        It is right if the files of the bag, the robot and the code are the same, if the report is
        there that is wanted, and if no reason outside of the bag kept it from being evaluated.
        """
        row = self._rows.get((task.bag.url, task.robot))
        if row is None or task in self._added:
            return row
        is_right = row['stamp'] == task.bag.stamp and self._is_valid(row, task)
        return row if is_right else None

    def hashes_like(self, task: Task) -> tuple[str, ...]:
        """Return the hashes of evaluated bags of the same size and robot: one may be the same."""
        alike = (row for row in self._by_size[task.bag.size] if self._is_valid(row, task))
        return tuple(sorted({row['sha256'] for row in alike if row['sha256']}))

    def add(self, task: Task, done: Done) -> Row:
        """Keep what came out of a task, and return its row."""
        if done.row is None:
            same = next(
                row
                for row in self._by_size[task.bag.size]
                if row['sha256'] == done.sha256 and self._is_valid(row, task)
            )
            place = {'bag': task.bag.url, 'name': task.bag.name, 'stamp': task.bag.stamp}
            row = same | place | {'robot_file': task.robot}
        else:
            row = done.row | ({'report': self._write(task, done)} if done.files else {})
        self._note(row)
        self._added.add(task)
        self._file.write(json.dumps(row, ensure_ascii=True, allow_nan=False).encode() + b'\n')
        self._file.flush()
        os.fsync(self._file.fileno())
        return row

    def _is_valid(self, row: Row, task: Task) -> bool:
        has_report = row['report'] is not None and (self.folder / row['report']).is_file()
        return (
            not row['transient']
            and row['code'] == code()
            and row['robot_sha256'] == task.robot_sha256 != ''
            and (not task.report or row['state'] == 'error' or has_report)
        )

    def _write(self, task: Task, done: Done) -> str:
        """Write a full report; return its page, relative to the folder."""
        name = re.sub(r'[^A-Za-z0-9._-]+', '_', task.bag.name).lstrip('.')[:80]
        place = f'{REPORTS}/{name}-{done.sha256[:12]}-{task.robot_sha256[:6]}'
        for file, content in done.files.items():
            write_whole(self.folder / place / file, content)
        return f'{place}/report.html'

    def _read(self) -> None:
        """Read all lines; one that a killed process left half-written is cut off.

        A damaged one is named and blanked out, so that its bag is evaluated again.
        """
        lines = self._file.read().split(b'\n')
        self._file.truncate(sum(len(line) + 1 for line in lines[:-1]))
        begin = 0
        for number, line in enumerate(lines[:-1], 1):
            try:
                row = parsed(line) if line.strip() else None
            except ValueError as error:
                _log.warning(
                    "Line %d of '%s' is damaged (%s); its bag is evaluated again.",
                    number, self.folder / FILE, error,
                )  # fmt: skip
                self._file.seek(begin)
                self._file.write(b' ' * len(line))
            else:
                if row is not None:
                    self._note(row)
            begin += len(line) + 1
        self._file.seek(0, os.SEEK_END)

    def _note(self, row: Row) -> None:
        self._rows[row['bag'], row['robot_file']] = row
        self._by_size[row['size']].append(row)
