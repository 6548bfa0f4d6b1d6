"""SHA-256 of what a replay reads, so that its results say what they come from."""

import hashlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import Urdf

_BLOCK = 1 << 22
"""Bytes that are read at a time: enough not to wait for other threads all the time."""


@contextmanager
def hashing(bag: Path, robot: RobotFile, urdf: Urdf) -> Iterator[Future[dict[str, str]]]:
    """Compute `input_hashes` in a second thread while the block runs.

    Where the block ends before the result has come, by an error, the thread stops.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(input_hashes, bag, robot, urdf, stop)
        finally:
            stop.set()


def input_hashes(
    bag: Path, robot: RobotFile, urdf: Urdf, stop: threading.Event | None = None
) -> dict[str, str]:
    """Name of a file → SHA-256: the URDF, the data files of the bag, the robot file.

    Args:
        bag: folder or file.
        robot: robot file.
        urdf: of the robot.
        stop: once it is set, the hashes are worthless and come soon.
    """
    hashes = {robot.urdf: urdf.sha256, **data_hashes(bag, stop)}
    if robot.path is not None:
        hashes[robot.path.name] = file_hash(robot.path)
    return hashes


def data_hashes(bag: Path, stop: threading.Event | None = None) -> dict[str, str]:
    """SHA-256 of the data files of a bag, a folder or a file, by name.

    A write-ahead log of SQLite counts: it holds what a killed recorder had written last.

    Args:
        bag: folder or file.
        stop: as for `input_hashes`.
    """
    files = sorted(bag.iterdir()) if bag.is_dir() else [bag, bag.with_name(f'{bag.name}-wal')]
    return {
        file.name: file_hash(file, stop)
        for file in files
        if file.is_file() and {'.mcap', '.db3', '.db3-wal'} & set(file.suffixes)
    }


def file_hash(path: Path, stop: threading.Event | None = None) -> str:
    """SHA-256 of a file.

    Args:
        path: of the file.
        stop: as for `input_hashes`.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open('rb', buffering=0) as file:
        block = memoryview(bytearray(min(_BLOCK, file.seek(0, os.SEEK_END) + 1)))
        file.seek(0)
        while (size := file.readinto(block)) and not (stop and stop.is_set()):
            digest.update(block[:size])
    return digest.hexdigest()
