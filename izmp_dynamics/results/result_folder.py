"""The folder of results, there as a whole or not at all; hashes of what they come from."""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from izmp_dynamics.base.errors import ReplayError
from izmp_dynamics.files.place import Obstacle, Place
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import Urdf

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


_BLOCK = 1 << 22
"""Bytes that are read at a time."""


def input_hashes(bag: Path, robot: RobotFile, urdf: Urdf) -> dict[str, str]:
    """Name of a file → SHA-256: the URDF, the data files of the bag, the robot file.

    Args:
        bag: folder or file.
        robot: robot file.
        urdf: of the robot.
    """
    hashes = {robot.urdf: urdf.sha256, **data_hashes(bag)}
    if robot.path is not None:
        hashes[robot.path.name] = file_hash(robot.path)
    return hashes


def data_hashes(bag: Path) -> dict[str, str]:
    """SHA-256 of the data files of a bag, a folder or a file, by name.

    A write-ahead log of SQLite counts: it holds what a killed recorder had written last.
    """
    files = sorted(bag.iterdir()) if bag.is_dir() else [bag, bag.with_name(f'{bag.name}-wal')]
    return {
        file.name: file_hash(file)
        for file in files
        if file.is_file() and (file == bag or {'.mcap', '.db3', '.db3-wal'} & set(file.suffixes))
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
