"""A temporary folder for bags that were compressed as a whole, made when the first one is met."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.base.errors import BagError


class Scratch:
    """The folder lies in TMPDIR."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def write(self, name: str, pieces: Iterator[bytes]) -> Path:
        """Write a file into the folder; return its path.

        Raises:
            BagError: the folder cannot be made, is full or cannot be written to.
        """
        with _writing(Path(os.environ.get('TMPDIR', '/tmp'))):
            parent = Path(tempfile.gettempdir())
        with _writing(parent):
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(
                    prefix='izmp_bag_', dir=parent, ignore_cleanup_errors=True
                )
            target = Path(self._folder.name) / name
            stream = target.open('wb')
        with stream:
            for piece in pieces:
                with _writing(parent):
                    stream.write(piece)
                    stream.flush()
        return target

    def remove(self) -> None:
        """Remove the folder with its contents."""
        if self._folder:
            self._folder.cleanup()
            self._folder = None


@contextmanager
def _writing(parent: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BagError(
            f"The temporary folder '{parent}' cannot be written to: {error.strerror or error}. "
            'Let TMPDIR name a folder with more space.',
            kind='temporary_folder', path=parent, errno=error.errno,
        ) from error  # fmt: skip
