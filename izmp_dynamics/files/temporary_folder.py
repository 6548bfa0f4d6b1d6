"""Temporary folders in TMPDIR; what killed processes left there is named and removed."""

import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.files.locked_folder import LockedFolder, remnants

_log = logging.getLogger(__name__)


def make_temporary(prefix: str) -> LockedFolder:
    """Make a temporary folder, and remove the remnants of those with the same prefix.

    Raises:
        OSError: it cannot be made.
    """
    parent = Path(tempfile.gettempdir())
    remove_remnants(parent, prefix)
    return LockedFolder(parent, prefix)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Give a temporary folder that is removed when the block ends.

    Raises:
        OSError: it cannot be made.
    """
    folder = make_temporary(prefix)
    try:
        yield folder.path
    finally:
        folder.remove()


def remove_remnants(parent: Path, prefix: str) -> None:
    """Remove the folders in `parent` that killed processes left, and say so."""
    with remnants(parent, prefix) as found:
        for remnant in found:
            _log.warning("'%s', which a killed run left, is removed.", remnant)
            shutil.rmtree(remnant, ignore_errors=True)
