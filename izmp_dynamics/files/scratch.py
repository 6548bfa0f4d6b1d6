"""A temporary folder for bags that were compressed as a whole, made when the first one is met."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.locked_folder import LockedFolder
from izmp_dynamics.files.temporary_folder import make_temporary

_PREFIX = 'izmp_bag_'


class Scratch:
    """The folder lies in TMPDIR; what killed processes left there is removed."""

    def __init__(self) -> None:
        self._folder: LockedFolder | None = None

    @property
    def path(self) -> Path:
        """The folder.

        Raises:
            BagError: it cannot be made.
        """
        if self._folder is None:
            with _writing(Path(os.environ.get('TMPDIR', '/tmp'))):
                parent = Path(tempfile.gettempdir())
            with _writing(parent):
                self._folder = make_temporary(_PREFIX)
        return self._folder.path

    def write(self, name: str, pieces: Iterator[bytes]) -> Path:
        """Write a file into the folder; return its path.

        Raises:
            BagError: the folder is full or cannot be written to.
        """
        target = self.path / name
        with _writing(self.path.parent):
            stream = target.open('wb')
        with stream:
            for piece in pieces:
                with _writing(self.path.parent):
                    stream.write(piece)
                    stream.flush()
        return target

    def remove(self) -> None:
        """Remove the folder with its contents."""
        if self._folder:
            self._folder.remove()
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
