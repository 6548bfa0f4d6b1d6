"""SHA-256 of what a replay reads, so that its results say what they come from."""

import hashlib
from pathlib import Path

from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.model.urdf import Urdf

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
