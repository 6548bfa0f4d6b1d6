"""Finished runs on disk: one file per run, named by a hash of everything that decides it."""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

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
        """Keep a finished run."""
        try:
            write_whole(self.path(kind, key), lambda file: _save(file, **arrays))
        except OSError as error:
            raise StoreError(
                f"Results cannot be written to '{self.folder}': {error.strerror or error}.",
                kind='not_written',
                folder=self.folder,
            ) from error
