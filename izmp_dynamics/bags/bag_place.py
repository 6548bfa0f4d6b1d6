"""The place where a bag shall be: which folders may be replaced by a new bag."""

from pathlib import Path

from izmp_dynamics.bags.metadata import FILE, KEY, read_metadata
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.base.regular_file import read_regular_file
from izmp_dynamics.files.place import Obstacle, Place

FILES = 'files'
"""Mark of the metadata with the names of further files that belong to the bag."""

_STORAGE = ('.mcap', '.db3', '.db3-wal', '.db3-shm', '.mcap.zstd', '.db3.zstd')


def bag_place(path: Path, overwrite: bool) -> Place:
    """A folder that does not exist yet, or a bag that may be replaced.

    Raises:
        BagError: it is taken and must not be replaced.
    """

    def obstacle(found: Path) -> Obstacle | None:
        if overwrite:
            return _foreign(found)
        return 'place_taken', 'exists; name another place, or add --overwrite', path.name

    return Place(path.absolute(), obstacle, BagError)


def _foreign(path: Path) -> Obstacle | None:
    """Why a place must not be replaced; None if it is a bag and nothing else."""
    if path.is_symlink() or not path.is_dir():
        return 'not_a_bag_folder', 'is not overwritten: it is no folder of a bag', path.name
    try:
        text = read_regular_file(path / FILE, 2**24).decode('utf-8', errors='replace')
    except OSError:
        return 'no_metadata', f'is not overwritten: it holds no {FILE}, so it is no bag', FILE
    if KEY not in text:
        return 'foreign_metadata', f'is not overwritten: its {FILE} is not that of a bag', FILE
    own = {FILE, *_further_files(path)}
    others = [
        x.name for x in path.iterdir() if x.name not in own and not x.name.endswith(_STORAGE)
    ]
    if not others:
        return None
    name = min(others)
    return 'foreign_file', f"is not overwritten: besides the bag it holds '{name}'", name


def _further_files(path: Path) -> list[str]:
    """Names of the files that were written with a bag, as its metadata say."""
    try:
        return read_metadata(path).custom_data.get(FILES, '').split()
    except BagError:  # damaged metadata list nothing
        return []
