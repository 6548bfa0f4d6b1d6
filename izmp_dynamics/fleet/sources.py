"""Which bags there are: in folders, by globs, in lists."""

import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.bags.metadata import FILE
from izmp_dynamics.base.errors import FleetError

DATA = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd')
"""Ends of the names of storage files."""

_BESIDE = ('-wal', '-shm')
"""What SQLite appends to the name of a .db3 for the files beside it."""


@dataclass(frozen=True)
class BagSource:
    """Where a bag is.

    Attributes:
        path: absolute, of a folder or a storage file.
        size: bytes of all files; 0 if there is nothing at that place.
        stamp: digest of names, sizes and times of its files: the same as long as none changes.
        problem: why it could not be looked at; empty if it could.
    """

    path: str
    size: int = 0
    stamp: str = ''
    problem: str = ''

    @property
    def name(self) -> str:
        """Last part of its path."""
        return os.path.basename(self.path)


def find_bags(
    places: Sequence[str], progress: Callable[[int], None] = lambda found: None
) -> list[BagSource]:
    """Find all bags, each once, in the order of their paths.

    Links to folders are followed, each folder once.

    Args:
        places: folders (everything below them), bags, globs, and lists: text files named *.txt
            with a place per line, relative to the list. `#` begins a comment.
        progress: called with the number of bags that are found.

    Returns:
        The bags; also folders that cannot be read, with their `problem`.

    Raises:
        FleetError: a place does not exist or holds no bag, or a list cannot be read. A place that
            a list names does not raise: it is a bag without files.
    """
    found: dict[str, BagSource] = {}
    for place in places:
        if place.endswith('.txt'):
            bags = []
            for line in _lines(Path(place)):
                bags += list(_bags_at(line)) or [BagSource(os.path.abspath(line))]
                progress(len(found) + len(bags))
        else:
            bags = list(_bags_at(place))
            if not bags:
                raise FleetError(
                    f"There is no bag at '{place}'; give folders with rosbag2 recordings, .mcap "
                    'or .db3 files, globs, or a list of such places in a .txt file.',
                    kind='no_bag', place=place,
                )  # fmt: skip
        found.update((bag.path, bag) for bag in bags)
        progress(len(found))
    return [found[path] for path in sorted(found)]


def _lines(file: Path) -> Iterator[str]:
    try:
        text = file.read_text('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise FleetError(
            f"'{file}' cannot be read: {reason}.", kind='unreadable', place=str(file)
        ) from error
    for line in map(str.strip, text.splitlines()):
        if line and not line.startswith('#'):
            yield str(file.parent / line)


def _bags_at(place: str) -> Iterator[BagSource]:
    for path in [place] if os.path.lexists(place) else sorted(glob.glob(place, recursive=True)):
        yield from _bags_below(os.path.abspath(path))


def _bags_below(root: str) -> Iterator[BagSource]:
    if os.path.isfile(root):
        if root.endswith(DATA):
            yield _bag(root, [root, *filter(os.path.exists, (root + end for end in _BESIDE))])
        return
    seen, errors = set(), list[OSError]()
    for folder, folders, names in os.walk(root, onerror=errors.append, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        if not _is_result(folder):
            yield from _bags_in(folder, sorted(filter(_belongs, names)))
    yield from (_unreadable(str(error.filename), error) for error in errors)


def _belongs(name: str) -> bool:
    """Whether a file is one of a bag, by its name."""
    ends = (*DATA, *(f'.db3{end}' for end in _BESIDE))
    return name == FILE or (name.endswith(ends) and not name.startswith('.'))


def _is_result(folder: str) -> bool:
    """Whether it is what `izmp replay` wrote: OUT/bag beside OUT/report.json."""
    parent, name = os.path.split(folder)
    return name == 'bag' and os.path.exists(f'{parent}/report.json')


def _bags_in(folder: str, names: list[str]) -> Iterator[BagSource]:
    """One bag if the folder is one, else a bag per storage file and what is beside it.

    It is one with a metadata.yaml; or without, if the recorder was killed, by the names of its
    files: NAME/NAME_0.mcap, NAME/NAME_1.mcap and so on.
    """
    data = [name for name in names if name.endswith(DATA)]
    numbered = re.compile(re.escape(os.path.basename(folder)) + r'_\d+\.')
    if FILE in names or (data and all(map(numbered.match, data))):
        yield _bag(folder, [f'{folder}/{name}' for name in names])
    else:
        for name in data:
            own = (name, *(name + end for end in _BESIDE if name + end in names))
            yield _bag(f'{folder}/{name}', [f'{folder}/{each}' for each in own])


def _bag(path: str, files: list[str]) -> BagSource:
    try:
        found = [(os.path.basename(file), os.stat(file)) for file in files]
    except OSError as error:
        return _unreadable(path, error)
    known = repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in found])
    stamp = hashlib.sha256(known.encode(errors='surrogateescape')).hexdigest()[:16]
    return BagSource(path, sum(stat.st_size for _, stat in found), stamp)


def _unreadable(path: str, error: OSError) -> BagSource:
    return BagSource(path, problem=f"'{path}' cannot be read: {error.strerror}.")
