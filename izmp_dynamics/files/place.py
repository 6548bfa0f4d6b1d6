"""Files and folders that are there whole or not at all: written beside their place, then moved.

Nothing at the place of a folder is ever deleted that was not allowed to be replaced, also if it
appears while the results are made. Results that cannot be moved to their place stay beside it. A
process that is killed leaves a hidden file or folder, `.NAME.partial-…`, beside the place.
"""

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from izmp_dynamics.base.errors import IzmpError

TAKEN = 'exists; choose another place or add --overwrite'
"""Why a place that holds something is refused."""

_REPLACED = '.replaced'
"""What was at the place, inside the hidden folder."""

Obstacle = tuple[str, str, str]
"""Why a place must not be replaced: kind of the error, the reason, and the file in the way."""


Content = bytes | Callable[[BinaryIO], object]
"""Of a file, or what writes it."""


def write_whole(path: Path, content: Content) -> None:
    """Write a file beside its place and move it there when it is complete.

    Args:
        path: of the file; one that is there is replaced.
        content: of the file.

    Raises:
        OSError: it cannot be written.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, Content]) -> None:
    """Write files beside their places, and move all of them there when the last is complete.

    Args:
        contents: path of a file → its content.

    Raises:
        OSError: one cannot be written.
    """
    written: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            written[path] = path.with_name(f'.{path.stem}.partial-{_token()}{path.suffix}')
            with written[path].open('xb') as file:
                file.write(content) if isinstance(content, bytes) else content(file)
                file.flush()
                os.fsync(file.fileno())
        for path, unfinished in written.items():
            os.replace(unfinished, path)
    finally:
        for unfinished in written.values():
            unfinished.unlink(missing_ok=True)


class Place:
    """A folder that does not exist yet, or one that may be replaced.

    Attributes:
        path: the folder.
        keep: whether the new folder is a recording, which is kept beside its place where it cannot
            be completed.
    """

    def __init__(
        self,
        path: Path,
        obstacle: Callable[[Path], Obstacle | None],
        error: type[IzmpError],
    ) -> None:
        """Check the place.

        Args:
            path: absolute path of the folder.
            obstacle: for a path that exists, why it must not be replaced; None if it may be.
            error: class of the errors.

        Raises:
            IzmpError: of the class `error`, if the place is taken and must not be replaced.
        """
        self.path = path
        self.keep = False
        self._obstacle = obstacle
        self._error = error
        self._folder: Path | None = None
        self._made: list[Path] = []
        self._check(path)

    def prepare(self) -> Path:
        """Make a hidden folder beside the place; return where in it to make the new folder.

        Raises:
            IzmpError: the place was taken meanwhile.
            OSError: the folder cannot be made.
        """
        self._check(self.path)
        self._made = [parent for parent in self.path.parents if not parent.exists()]
        if self._made:
            self._made[0].mkdir(parents=True, exist_ok=True)
        folder = self.path.with_name(f'.{self.path.name}.partial-{_token()}')
        self._folder = folder
        folder.mkdir(mode=0o700)
        return folder / self.path.name

    def publish(self) -> None:
        """Move the new folder to its place, and an old one out of it.

        Raises:
            IzmpError: the place is taken by something that must not be replaced; the new folder
                is kept beside it.
        """
        assert self._folder is not None
        new, old = self._folder / self.path.name, self._folder / _REPLACED
        try:
            if os.path.lexists(self.path):
                self._check(self.path)
                self.path.rename(old)
                self._check(old)  # something may have come into it meanwhile
            new.rename(self.path)  # fails if there is something again
        except (IzmpError, OSError) as failure:
            raise self._kept(failure, new, old) from failure
        self._remove()

    def discard(self) -> Path | None:
        """Remove everything that `prepare` made; a folder that was to be replaced comes back.

        Returns:
            where a recording is kept: beside the place, or in the hidden folder if it cannot be
            moved, as on a disk that has become read-only.
        """
        kept = None
        if self._folder:
            new = self._folder / self.path.name
            self._put_back(self._folder / _REPLACED)
            if self.keep and new.exists():
                try:
                    kept = self._beside(new, 'recovered')
                except OSError:
                    self._folder = None
                    return new
            self._remove()
        for parent in self._made:  # made for results that did not come; the innermost first
            try:
                parent.rmdir()
            except OSError:
                break
        return kept

    def _check(self, found: Path) -> None:
        """Refuse what lies at the place, or was moved from there."""
        obstacle = self._obstacle(found) if os.path.lexists(found) else None
        if obstacle:
            kind, reason, name = obstacle
            raise self._error(f"'{self.path}' {reason}.", kind=kind, path=self.path, name=name)

    def _kept(self, failure: IzmpError | OSError, new: Path, old: Path) -> IzmpError:
        """Restore what was at the place, keep the new folder beside it, and say so."""
        self._put_back(old)
        kind, reason, data = 'place_taken', f"'{self.path}' was taken meanwhile: {failure}.", {}
        if isinstance(failure, IzmpError):
            kind, reason, data = failure.kind, str(failure), failure.data
        kept = [self._beside(new, 'new')]
        if os.path.lexists(old):
            kept.append(self._beside(old, 'old'))
        self._remove()
        names = ' and '.join(f"'{path}'" for path in kept)
        sentence = f'{reason} The results are complete and kept as {names}.'
        return self._error(sentence, kind=kind, **(data | {'path': self.path, 'kept': kept[0]}))

    def _put_back(self, old: Path) -> None:
        if os.path.lexists(old) and not os.path.lexists(self.path):
            old.rename(self.path)

    def _beside(self, folder: Path, what: str) -> Path:
        """Move a folder to a free name beside the place."""
        target = self.path.with_name(f'{self.path.name}-{what}-{_token()}')
        folder.rename(target)
        return target

    def _remove(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _token() -> str:
    return uuid.uuid4().hex[:8]


def read_regular_file(path: Path, largest: int) -> bytes:
    """Read a regular file; devices, pipes and sockets are refused without waiting for them.

    Args:
        path: the file.
        largest: most bytes that it may have.

    Raises:
        OSError: it cannot be read, is not a regular file or is too large.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, 'rb') as stream:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, 'it is not a regular file', str(path))
        data = stream.read(largest + 1)
    if len(data) > largest:
        raise OSError(errno.EFBIG, f'it has more than {largest / 1e6:.0f} MB', str(path))
    return data
