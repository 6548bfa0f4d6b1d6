"""The folder of a replay's results: there as a whole or not at all."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.errors import ReplayError

MARK = 'report.json'
"""A folder with this file is one of ours and may be replaced when told so."""


@contextmanager
def result_folder(folder: Path, overwrite: bool) -> Iterator[Path]:
    """Give a folder to write into that becomes `folder` when the block ends well.

    Args:
        folder: where the results shall be.
        overwrite: whether an earlier result there may be replaced.

    Yields:
        A hidden folder beside it. If the block raises, Ctrl-C included, it is removed.

    Raises:
        ReplayError: if the place is taken or cannot be written to.
    """
    folder = folder.absolute()
    _check(folder, overwrite)
    partial = folder.with_name(f'.{folder.name}.partial-{uuid.uuid4().hex[:8]}')
    try:
        partial.mkdir(parents=True)
    except OSError as error:
        raise ReplayError(f"Cannot write to '{folder.parent}': {error.strerror}.") from error
    try:
        yield partial
        _publish(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check(folder: Path, overwrite: bool) -> None:
    if not folder.name or not (folder.exists() or folder.is_symlink()):
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if not overwrite:
        raise ReplayError(f"'{folder}' exists; choose another place or add --overwrite.")
    if not (folder.is_dir() and (folder / MARK).is_file()):
        raise ReplayError(
            f"'{folder}' is not the result of a replay (it has no {MARK}), so --overwrite does "
            'not touch it; choose another place.'
        )


def _publish(partial: Path, folder: Path) -> None:
    """Put the complete results in place; an earlier result goes only now."""
    previous = None
    if folder.exists():
        previous = folder.with_name(f'.{folder.name}.previous-{uuid.uuid4().hex[:8]}')
        os.replace(folder, previous)
    os.replace(partial, folder)
    if previous is not None:
        shutil.rmtree(previous, ignore_errors=True)
