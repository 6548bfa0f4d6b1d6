"""The folder of results: there as a whole or not at all."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.files.place import Obstacle, Place

MARK = 'report.json'
"""A folder with this file is an earlier result and may be replaced if that is asked for."""

REPLAY = (MARK, 'report.html', 'bag', 'expect.xml')
"""What a replay writes."""


@contextmanager
def result_folder(
    folder: Path, overwrite: bool, results: Collection[str] = REPLAY
) -> Iterator[Path]:
    """Give a folder to write into that becomes `folder` when the block ends well.

    Args:
        folder: where the results shall be.
        overwrite: whether an earlier result there may be replaced.
        results: names of what such a result may hold.

    Yields:
        A folder in a hidden one beside it. If the block raises, Ctrl-C included, it is removed.

    Raises:
        ReplayError: if the place is taken or cannot be written to. What was put there meanwhile
            is left alone, and the complete results are kept beside it.
    """
    folder = Path(os.path.realpath(folder))
    if not folder.name:
        raise ReplayError(
            f"'{folder}' cannot be a folder of results; name one.", kind='no_name', path=folder
        )
    place = Place(
        folder, partial(_replaceable, results=results) if overwrite else _empty, ReplayError
    )
    try:
        with _writing(folder):
            new = place.prepare()
            new.mkdir()
        yield new
        with _writing(folder):
            place.publish()
    except BaseException:
        place.discard()
        raise


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReplayError(
            f"The results cannot be written to '{folder}': {error.strerror or error}.",
            kind='cannot_write', path=folder, errno=error.errno,
        ) from error  # fmt: skip


def _empty(found: Path) -> Obstacle | None:
    if found.is_dir() and not any(found.iterdir()):
        return None
    return 'place_taken', 'exists; choose another place or add --overwrite', found.name


def _replaceable(found: Path, results: Collection[str]) -> Obstacle | None:
    """Why --overwrite does not touch a folder; None if it holds an earlier result only."""
    if _empty(found) is None:
        return None
    if not (found.is_dir() and (found / MARK).is_file()):
        reason = f'is not an earlier result (it has no {MARK}), so --overwrite does not touch'
        return 'not_a_result', f'{reason} it; choose another place', MARK
    foreign = [entry.name for entry in found.iterdir() if entry.name not in results]
    if not foreign:
        return None
    name = min(foreign)
    reason = (
        f"holds '{name}', which is no part of an earlier result, so --overwrite does not touch it"
    )
    return 'foreign_file', f'{reason}; choose another place, or move that away', name
