"""The folder of a replay's results: there as a whole or not at all."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from izmp_dynamics.errors import ReplayError

MARK = 'report.json'
"""A folder with this file is one of ours and may be replaced when told so."""

_RESULTS = {MARK, 'report.html', 'bag'}


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
    folder = Path(os.path.realpath(folder))
    _check(folder, overwrite)
    partial = folder.with_name(f'.{folder.name}.partial-{uuid.uuid4().hex[:8]}')
    made = [parent for parent in partial.parents if not parent.exists()]
    try:
        with _writing(folder):
            partial.mkdir(parents=True)
        yield partial
        with _writing(folder):
            _publish(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if not folder.exists():
            _remove_empty(made)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReplayError(
            f"The results cannot be written to '{folder}': {error.strerror or error}."
        ) from error


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost first, that were made for results that did not come."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _check(folder: Path, overwrite: bool) -> None:
    if not folder.name:
        raise ReplayError(f"'{folder}' cannot be a folder of results; name one.")
    if not os.path.lexists(folder):
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
    foreign = sorted(entry.name for entry in folder.iterdir() if entry.name not in _RESULTS)
    if foreign:
        raise ReplayError(
            f"'{folder}' holds '{foreign[0]}', which is no result of a replay, so --overwrite "
            'does not touch it; choose another place, or move that away.'
        )


def _publish(partial: Path, folder: Path) -> None:
    """Put the complete results in place; an earlier result goes only now."""
    if not folder.exists():
        os.replace(partial, folder)
        return
    previous = folder.with_name(f'.{folder.name}.previous-{uuid.uuid4().hex[:8]}')
    try:
        os.replace(folder, previous)
        os.replace(partial, folder)
    finally:
        if not folder.exists():
            os.replace(previous, folder)
        shutil.rmtree(previous, ignore_errors=True)
