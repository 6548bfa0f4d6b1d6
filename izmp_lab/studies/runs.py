"""Runs of a study: functions of parameters, each done once, after those that it needs.

They are done in this process or in several. Finished runs are kept, so a study that
was interrupted goes on where it stopped.
"""

import dataclasses
import functools
import hashlib
import json
import zipfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.engine.processes import HERE, Processes, connected, is_here, outcomes
from izmp_dynamics.files.place import write_whole
from izmp_dynamics.fleet.robots import robot_digest
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.pages.rendering import StoreError


@dataclass(frozen=True)
class RobotKey:
    """Which robot a run is about, such that other content makes another key.

    Attributes:
        file: path of the robot file.
        digest: of the robot file and its URDF.
    """

    file: str
    digest: str

    @classmethod
    def of(cls, path: Path) -> 'RobotKey':
        """Read a robot file and its URDF.

        Raises:
            IzmpError: if they cannot be used.
        """
        return cls(str(Path(path).resolve()), robot_digest(Path(path)))

    def load(self) -> RobotFile:
        """Read the robot file."""
        return load_robot_file(Path(self.file))


Arrays = dict[str, np.ndarray]

Progress = Callable[[float], None]
"""Called with the fraction that is done."""

_save: Any = np.savez


@dataclass(frozen=True)
class Run:
    """One computation: a function of a module, and what it is given.

    Attributes:
        function: returns arrays by name, or a record: a dataclass of numbers, texts and arrays.
        given: name → what JSON can hold, a dataclass of such values, or another run, in place of
            which the function gets its result.
        record: class of the record; None for arrays.
        data: digest of the files that it reads, if `given` does not have it.
        effort: how long it takes, relative to others; for the progress bar.
    """

    function: Callable[..., Any]
    given: Mapping[str, Any]
    record: type | None = None
    data: str = ''
    effort: float = dataclasses.field(default=1.0, compare=False)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.function.__name__

    @property
    def needs(self) -> list['Run']:
        """The runs whose results it is given."""
        return [value for value in self.given.values() if isinstance(value, Run)]

    def key(self) -> str:
        """Everything that decides the result, all code included, as JSON."""
        key = {
            'function': f'{self.function.__module__}:{self.name}',
            'code': code_digest(),
            'data': self.data,
            'given': dict(self.given),
        }
        return json.dumps(key, sort_keys=True, allow_nan=False, default=_plain)

    def __hash__(self) -> int:
        return hash(self.key())


def _plain(value: Any) -> Any:
    return value.key() if isinstance(value, Run) else dataclasses.asdict(value)


class Store:
    """A folder of finished runs, each written whole or not at all.

    Args:
        folder: made when the first run is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, run: Run) -> Path:
        """Return where a run is kept."""
        digest = hashlib.sha256(run.key().encode()).hexdigest()
        return self.folder / f'{run.name}-{digest[:20]}.npz'

    def load(self, run: Run) -> Any:
        """Return the result of a finished run; None if there is none that can be read."""
        try:
            with np.load(self.path(run), allow_pickle=False) as file:
                arrays: Arrays = {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None
        if run.record is None:
            return arrays
        return run.record(**{
            name: value if value.ndim else value.item() for name, value in arrays.items()
        })  # fmt: skip

    def keep(self, run: Run, result: Any) -> None:
        """Keep the result of a finished run.

        Raises:
            StoreError: if it cannot be written.
        """
        arrays = result
        if run.record is not None:
            arrays = {each.name: getattr(result, each.name) for each in dataclasses.fields(result)}
        try:
            write_whole(self.path(run), lambda file: _save(file, **arrays))
        except OSError as error:
            raise StoreError(
                f"Results cannot be written to '{self.folder}': {error.strerror or error}.",
                kind='not_written',
                folder=self.folder,
            ) from error


def perform(run: Run, store: Store) -> Any:
    """Return the result of a run: the one that is kept, or a new one, which is then kept."""
    kept = store.load(run)
    if kept is not None:
        return kept
    result = run.function(**{
        name: perform(value, store) if isinstance(value, Run) else value
        for name, value in run.given.items()
    })  # fmt: skip
    store.keep(run, result)
    return result


def perform_all(
    runs: Iterable[Run],
    store: Store,
    processes: Processes = HERE,
    progress: Progress = lambda fraction: None,
) -> None:
    """Do all runs, and first those that they need.

    Args:
        runs: what is wanted.
        store: keeps the results; what it has is not done again.
        processes: the processes that do them.
        progress: called with the fraction that is done.

    Raises:
        IzmpError: if a run cannot be done; the finished ones are kept.
        KeyboardInterrupt: likewise.
    """
    ordered = _in_order(runs)
    waiting = [run for run in ordered if not store.path(run).is_file()]
    effort = sum(run.effort for run in ordered) or 1.0
    done = effort - sum(run.effort for run in waiting)
    progress(done / effort)
    here = is_here(processes, len(waiting))
    ended = _here(waiting, store) if here else _in_processes(waiting, store, processes)
    with closing(ended):
        for run in ended:
            done += run.effort
            progress(done / effort)


def _in_order(runs: Iterable[Run]) -> list[Run]:
    ordered: dict[Run, None] = {}

    def visit(run: Run) -> None:
        for need in run.needs:
            visit(need)
        ordered.setdefault(run)

    for run in runs:
        visit(run)
    return list(ordered)


def _here(runs: Sequence[Run], store: Store) -> Generator[Run, None, None]:
    for run in runs:
        perform(run, store)
        yield run


def _in_processes(
    runs: Sequence[Run], store: Store, processes: Processes
) -> Generator[Run, None, None]:
    missing = set(runs)
    keep = functools.partial(_keep, store=Store(store.folder.absolute()))
    with connected(processes, len(runs)) as client:
        for run, outcome in outcomes(
            client, keep, runs, needs=lambda run: [need for need in run.needs if need in missing]
        ):
            if isinstance(outcome, Exception):
                raise outcome
            yield run


def _keep(run: Run, store: Store) -> None:
    perform(run, store)
