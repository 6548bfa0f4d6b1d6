"""Folders that belong to a running process, distinguished from those that killed ones left.

A process holds a lock (`flock`) on each of its folders. The lock ends with the process, however
that ends, so a folder without a lock is a remnant. Where a file system has no locks, every folder
counts as in use.
"""

import fcntl
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LockedFolder:
    """A new folder, locked until it is removed or the process ends.

    Attributes:
        path: the folder.
    """

    def __init__(self, parent: Path, prefix: str) -> None:
        """Make a folder in `parent` whose name begins with `prefix`; only its owner may enter.

        Raises:
            OSError: it cannot be made.
        """
        token = uuid.uuid4().hex[:8]
        self.path = parent / f'{prefix}{token}'
        unlocked = parent / f'.izmp-{token}'  # under its own name it is never without a lock
        unlocked.mkdir(mode=0o700)
        self._descriptor = _lock(unlocked)
        unlocked.rename(self.path)

    def remove(self) -> None:
        """Remove the folder with its contents, and end the lock."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def remnants(parent: Path, prefix: str) -> Iterator[list[Path]]:
    """Folders in `parent` that killed processes of this user left; locked while in use here."""
    descriptors: dict[Path, int] = {}
    try:
        for path in _entries(parent):
            if path.name.startswith(prefix) and _is_own_folder(path):
                descriptor = _lock(path)
                if descriptor is not None:
                    descriptors[path] = descriptor
        yield list(descriptors)
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)


def _entries(parent: Path) -> list[Path]:
    try:
        return sorted(parent.iterdir())
    except OSError:  # there is no such folder, or it must not be listed
        return []


def _is_own_folder(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _lock(path: Path) -> int | None:
    """Lock a folder; None if it is locked by another process or cannot be."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
