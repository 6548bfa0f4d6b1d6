"""The place where a bag shall be: written beside it, moved there when complete."""

import os
import shutil
from pathlib import Path

from izmp_dynamics.bags.metadata import FILE, KEY, read_metadata
from izmp_dynamics.errors import BagError

FILES = 'files'
"""Mark of the metadata with the names of further files that belong to the bag."""

_STORAGE = ('.mcap', '.db3', '.db3-wal', '.db3-shm', '.mcap.zstd', '.db3.zstd')

_REPLACED = '.replaced'


class BagPlace:
    """A folder that does not exist yet, or a bag that may be replaced.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        """Check the place.

        Raises:
            BagError: it is taken and must not be replaced.
        """
        self.path = path.absolute()
        self._overwrite = overwrite
        self._partial = self.path.with_name(f'.{self.path.name}.partial-{os.getpid()}')
        self._made: list[Path] = []
        self._check()

    def prepare(self) -> Path:
        """Make the temporary folder; return where in it to write the bag."""
        if self._partial.is_dir():  # left by a process that was killed and had this number
            shutil.rmtree(self._partial)
        for parent in (self._partial, *self._partial.parents):
            if parent.exists():
                break
            self._made.append(parent)
        self._partial.mkdir(parents=True)
        return self._partial / self.path.name

    def publish(self) -> None:
        """Move the bag to its place, and an old one out of it.

        Raises:
            BagError: meanwhile the place was taken by something else.
        """
        self._check()
        if self.path.exists():
            self.path.rename(self._partial / _REPLACED)
        (self._partial / self.path.name).rename(self.path)
        shutil.rmtree(self._partial, ignore_errors=True)

    def discard(self) -> None:
        """Remove everything that `prepare` made; a bag that was to be replaced comes back."""
        old = self._partial / _REPLACED
        if old.exists() and not self.path.exists():
            old.rename(self.path)
        if self._made:
            shutil.rmtree(self._partial, ignore_errors=True)
            for folder in self._made[1:]:
                try:
                    folder.rmdir()
                except OSError:
                    break
            self._made = []

    def _check(self) -> None:
        if not os.path.lexists(self.path):
            return
        if not self._overwrite:
            raise BagError(
                f"'{self.path}' exists; name another place, or add --overwrite.",
                kind='place_taken', path=self.path,
            )  # fmt: skip
        foreign = _foreign(self.path)
        if foreign:
            kind, what, name = foreign
            sentence = f"'{self.path}' is not overwritten: {what}."
            raise BagError(sentence, kind=kind, path=self.path, name=name)


def _foreign(path: Path) -> tuple[str, str, str] | None:
    """Why a place must not be replaced: kind, sentence, file; None if it is a bag only."""
    if path.is_symlink() or not path.is_dir():
        return 'not_a_bag_folder', 'it is no folder of a bag', path.name
    try:
        text = (path / FILE).read_text('utf-8', errors='replace')
    except OSError:
        return 'no_metadata', f'it holds no {FILE}, so it is no bag', FILE
    if KEY not in text:
        return 'foreign_metadata', f'its {FILE} is not that of a bag', FILE
    own = {FILE, *_further_files(path)}
    others = [
        x.name for x in path.iterdir() if x.name not in own and not x.name.endswith(_STORAGE)
    ]
    if not others:
        return None
    name = min(others)
    return 'foreign_file', f"besides the bag it holds '{name}'", name


def _further_files(path: Path) -> list[str]:
    """Names of the files that were written with a bag, as its metadata say."""
    try:
        return read_metadata(path).custom_data.get(FILES, '').split()
    except BagError:  # damaged metadata list nothing
        return []
