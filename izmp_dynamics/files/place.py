"""The place where results shall be: written beside it, moved there when complete.

Nothing at the place is ever deleted that was not allowed to be replaced, also if it appears while
the results are made. Results that cannot be moved to their place stay beside it.
"""

import logging
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.files.locked_folder import LockedFolder, remnants

_REPLACED = '.replaced'
"""What was at the place, inside the hidden folder."""

_RECORDING = '.recording'
"""Marks a hidden folder whose contents cannot be computed again."""

_log = logging.getLogger(__name__)

Obstacle = tuple[str, str, str]
"""Why a place must not be replaced: kind of the error, the reason, and the file in the way."""


class Place:
    """A folder that does not exist yet, or one that may be replaced.

    Attributes:
        path: the folder.
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
        self._obstacle = obstacle
        self._error = error
        self._folder: LockedFolder | None = None
        self._made: list[Path] = []
        self._check()

    def prepare(self) -> Path:
        """Make a hidden folder beside the place; return where in it to make the new folder.

        What killed processes left for this place is removed; recordings are kept.

        Raises:
            IzmpError: the place was taken meanwhile.
            OSError: the folder cannot be made.
        """
        prefix = f'.{self.path.name}.partial-'
        with remnants(self.path.parent, prefix) as found:
            for remnant in found:
                self._clear(remnant)
        self._check()
        self._made = [parent for parent in self.path.parents if not parent.exists()]
        for parent in self._made[:1]:
            parent.mkdir(parents=True, exist_ok=True)
        self._folder = LockedFolder(self.path.parent, prefix)
        return self._new

    def keep_if_killed(self) -> None:
        """Mark the results as a recording, which a later run must not remove."""
        if self._folder:
            (self._folder.path / _RECORDING).touch()

    def publish(self) -> None:
        """Move the new folder to its place, and an old one out of it.

        Raises:
            IzmpError: the place is taken by something that must not be replaced; the new folder
                is kept beside it.
        """
        try:
            if os.path.lexists(self.path):
                self._check()
                self.path.rename(self._old)
                self._check(self._old)  # something may have come into it meanwhile
            self._new.rename(self.path)  # fails if there is something again
        except (IzmpError, OSError) as failure:
            raise self._kept(failure) from failure
        self._remove()

    def discard(self) -> None:
        """Remove everything that `prepare` made; a folder that was to be replaced comes back."""
        if self._folder is None:
            self._remove_parents()
            return
        if self._old.exists() and not os.path.lexists(self.path):
            self._old.rename(self.path)
        self._remove()
        self._remove_parents()

    def rescue(self) -> Path | None:
        """Do as `discard`, but keep a recording beside the place; return where it is.

        Where it cannot be moved, as on a disk that has become read-only, it stays.
        """
        kept = None
        if self._folder and (self._partial / _RECORDING).exists() and self._new.exists():
            try:
                kept = self._beside(self._new, 'recovered')
            except OSError:
                kept, self._folder = self._new, None
                return kept
        self.discard()
        return kept

    @property
    def _partial(self) -> Path:
        assert self._folder is not None
        return self._folder.path

    @property
    def _new(self) -> Path:
        return self._partial / self.path.name

    @property
    def _old(self) -> Path:
        return self._partial / _REPLACED

    def _check(self, moved: Path | None = None) -> None:
        """Refuse what lies at the place, or was moved from there."""
        found = moved or self.path
        obstacle = self._obstacle(found) if os.path.lexists(found) else None
        if obstacle:
            kind, reason, name = obstacle
            raise self._error(f"'{self.path}' {reason}.", kind=kind, path=self.path, name=name)

    def _kept(self, failure: IzmpError | OSError) -> IzmpError:
        """Restore what was at the place, keep the new folder beside it, and say so."""
        if os.path.lexists(self._old) and not os.path.lexists(self.path):
            self._old.rename(self.path)
        reason, data = f"'{self.path}' was taken meanwhile: {failure}.", {}
        kind = 'place_taken'
        if isinstance(failure, IzmpError):
            reason, kind, data = str(failure), failure.kind, failure.data
        kept = [self._beside(self._new, 'new')]
        if os.path.lexists(self._old):
            kept.append(self._beside(self._old, 'old'))
        names = ' and '.join(f"'{path}'" for path in kept)
        sentence = f'{reason} The results are complete and kept as {names}.'
        self._remove()
        return self._error(sentence, kind=kind, **(data | {'path': self.path, 'kept': kept[0]}))

    def _beside(self, folder: Path, what: str) -> Path:
        """Move a folder to a free name beside the place."""
        target = self.path.with_name(f'{self.path.name}-{what}-{uuid.uuid4().hex[:8]}')
        folder.rename(target)
        return target

    def _clear(self, remnant: Path) -> None:
        """Remove what a killed process left, unless it cannot be made again."""
        new, old = remnant / self.path.name, remnant / _REPLACED
        if os.path.lexists(old) and not os.path.lexists(self.path):
            old.rename(self.path)
            _log.warning("'%s' is restored: a run that was killed had moved it.", self.path)
        if (remnant / _RECORDING).exists() and new.exists():
            kept = self._beside(new, 'recovered')
            _log.warning("A recording that was killed is kept as '%s'.", kept)
        else:
            _log.warning("'%s', which a killed run left, is removed.", remnant)
        shutil.rmtree(remnant, ignore_errors=True)

    def _remove(self) -> None:
        if self._folder:
            self._folder.remove()
            self._folder = None

    def _remove_parents(self) -> None:
        """Remove folders that were made for results that did not come, the innermost first."""
        for folder in self._made:
            try:
                folder.rmdir()
            except OSError:
                break
        self._made = []
