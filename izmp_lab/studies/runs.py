"""Runs: parameters → result, kept when finished.

A run names the function that computes it and parameters that JSON can hold; its result is arrays.
A run that needs others loads what they kept.
"""

import hashlib
import importlib
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from izmp_dynamics.base.cache import code_digest
from izmp_dynamics.files.place import write_whole
from izmp_dynamics.pages.files import StoreError

Arrays = dict[str, np.ndarray]

_save: Any = np.savez


class Store:
    """A folder of finished runs.

    A run is written beside its place and then moved there, so that what is there is whole.

    Args:
        folder: made when the first run is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, kind: str, key: Mapping[str, Any]) -> Path:
        """Return where the run with this key is kept: everything that decides its result."""
        text = json.dumps(key, sort_keys=True, allow_nan=False)
        return self.folder / f'{kind}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz'

    def load(self, kind: str, key: Mapping[str, Any]) -> Arrays | None:
        """Return the arrays of a finished run; None if there is none that can be read."""
        path = self.path(kind, key)
        try:
            with np.load(path, allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None

    def keep(self, kind: str, key: Mapping[str, Any], arrays: Arrays) -> None:
        """Keep a finished run.

        Raises:
            StoreError: if it cannot be written.
        """
        try:
            write_whole(self.path(kind, key), lambda file: _save(file, **arrays))
        except OSError as error:
            raise StoreError(
                f"Results cannot be written to '{self.folder}': {error.strerror or error}.",
                kind='not_written',
                folder=self.folder,
            ) from error


Load = Callable[['Run'], Arrays]
"""Gives the result of a run that has been done."""


@dataclass(frozen=True)
class Run:
    """One computation.

    Attributes:
        function: 'module:name' of a function (load, **parameters) → arrays.
        parameters: what decides the result, as JSON can hold it.
        needs: runs whose results it loads.
        data: digest of the files that it reads, if the parameters do not have it.
        effort: how long it takes, relative to others; for the progress bar.
    """

    function: str
    parameters: Mapping[str, Any]
    needs: tuple['Run', ...] = ()
    data: str = field(default='', kw_only=True)
    effort: float = field(default=1.0, compare=False)

    @property
    def module(self) -> str:
        """Module of the function."""
        return self.function.partition(':')[0]

    @property
    def kind(self) -> str:
        """Name of the function."""
        return self.function.partition(':')[2]

    def key(self) -> dict[str, Any]:
        """Everything that decides the result, all code included."""
        return {
            'function': self.function,
            'code': code_digest(),
            'data': self.data,
            'parameters': dict(self.parameters),
            'needs': [need.key() for need in self.needs],
        }

    def __hash__(self) -> int:
        return hash(repr(self.key()))


def perform(run: Run, store: Store) -> Arrays:
    """Return the result of a run: the one that is kept, or a new one, which is then kept."""
    kept = store.load(run.kind, run.key())
    if kept is not None:
        return kept
    function = getattr(importlib.import_module(run.module), run.kind)
    arrays: Arrays = function(lambda need: perform(need, store), **run.parameters)
    store.keep(run.kind, run.key(), arrays)
    return arrays
