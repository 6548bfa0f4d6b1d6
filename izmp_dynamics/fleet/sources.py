"""Which bags there are: in folders, by globs, in lists, on this computer or behind a URL.

fsspec reads them all: a path, `file://`, `s3://` (with s3fs), `gs://` (with gcsfs) and more.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from izmp_dynamics.bags.metadata import FILE
from izmp_dynamics.base.errors import FleetError, MissingDependencyError
from izmp_dynamics.files.libraries import library

DATA = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd')
"""Ends of the names of storage files."""

_BESIDE = ('-wal', '-shm')
"""What SQLite appends to the name of a .db3 for the files beside it."""

SILENCE = 60.0
"""Time after which a web server that sends nothing is given up [s]."""

_STAMPS = ('ETag', 'etag', 'md5Hash', 'mtime', 'LastModified', 'updated')
"""What file systems call a value that changes with the content, the surest first."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a bag.

    Attributes:
        path: in its file system.
        size: [bytes].
        stamp: changes when the content does: a hash or a time.
    """

    path: str
    size: int
    stamp: str

    @property
    def name(self) -> str:
        """Its name without folders."""
        return public(self.path).rpartition('/')[2]


@dataclass(frozen=True)
class BagSource:
    """Where a bag is.

    Attributes:
        url: absolute path, or URL without user and query.
        files: what belongs to it; none if there is nothing at that place.
        given: the place as it was given, by which workers reach its file system; it may contain a
            signature and is not written.
        problem: why it could not be looked at; empty if it could.
    """

    url: str
    files: tuple[SourceFile, ...]
    given: str = field(default='', repr=False)
    problem: str = ''

    @property
    def name(self) -> str:
        """Last part of its path."""
        return self.url.rstrip('/').rpartition('/')[2]

    @property
    def is_file(self) -> bool:
        """Whether it is a storage file, not a folder; SQLite's files may be beside it."""
        names = [file.name for file in self.files]
        return self.name in names and FILE not in names

    @property
    def is_local(self) -> bool:
        """Whether `url` is a path of this computer."""
        return '://' not in self.url

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def stamp(self) -> str:
        """Digest of names, sizes and stamps: the same as long as no file changes."""
        known = repr([(file.name, file.size, file.stamp) for file in self.files])
        return hashlib.sha256(known.encode(errors='surrogateescape')).hexdigest()[:16]

    def fetch(self, folder: Path) -> Path:
        """Return the bag as a local path; what is elsewhere is copied into `folder` first.

        Raises:
            OSError: it cannot be copied.
        """
        if self.is_local:
            return Path(self.url)
        files, _ = file_system(self.given or self.url)
        place = folder / (self.name or 'bag')
        into = folder if self.is_file else place
        into.mkdir(exist_ok=True)
        for file in self.files:
            files.get_file(file.path, str(into / file.name))
        return place


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of fsspec for a URL or path, and the path in it.

    Raises:
        FleetError: the protocol is unknown, or the URL contains a password.
        MissingDependencyError: the library for the protocol is not installed.
    """
    fsspec = library('fsspec', 'Finding bags')
    _refuse_password(url)
    limits = {}
    if url.startswith(('http://', 'https://')):
        aiohttp = library('aiohttp', f"Reading '{public(url)}'")
        timeout = aiohttp.ClientTimeout(None, sock_connect=SILENCE, sock_read=SILENCE)
        limits = {'client_kwargs': {'timeout': timeout}}
    try:
        files, path = fsspec.core.url_to_fs(url, **limits)
    except ValueError as error:
        raise FleetError(f"'{url}': {error}.", kind='unknown_protocol', place=url) from error
    except ImportError as error:
        name = {'s3': 's3fs', 's3a': 's3fs', 'gs': 'gcsfs', 'gcs': 'gcsfs', 'abfs': 'adlfs'}
        package = name.get(url.partition('://')[0], str(error))
        raise MissingDependencyError(
            package, f"Reading '{url}'", f'pip install {package}'
        ) from error
    return files, str(path)


def find_bags(
    places: Sequence[str], progress: Callable[[int], None] = lambda found: None
) -> list[BagSource]:
    """Find all bags, each once, in the order of their paths.

    Links to folders are followed, each folder once.

    Args:
        places: folders (everything below them), bags, globs, URLs, and lists: text files named
            *.txt with a place per line, relative to the list. `#` begins a comment.
        progress: called with the number of bags that are found.

    Returns:
        The bags; also folders that cannot be read, with their `problem`.

    Raises:
        FleetError: a place does not exist, cannot be read or holds no bag. One that a list names
            does not raise: it is a bag without files.
    """
    found: dict[str, BagSource] = {}
    for place in places:
        if place.endswith('.txt'):
            bags = []
            for line in _lines(place):
                try:
                    bags += list(_bags_at(line)) or [_bag(*file_system(line), [], line)]
                except FleetError as error:
                    if error.kind != 'unreadable':
                        raise
                    bags.append(BagSource(public(line), (), line, str(error)))
                progress(len(found) + len(bags))
        else:
            bags = list(_bags_at(place))
            if not bags:
                raise FleetError(
                    f"There is no bag at '{place}'; give folders with rosbag2 recordings, .mcap "
                    'or .db3 files, globs, URLs, or a list of such places in a .txt file.',
                    kind='no_bag', place=place,
                )  # fmt: skip
        found.update((bag.url, bag) for bag in bags)
        progress(len(found))
    return [found[url] for url in sorted(found)]


def _lines(place: str) -> Iterator[str]:
    files, path = file_system(place)
    base = path.rpartition('/')[0]
    with _readable(place):
        text = files.cat_file(path).decode('utf-8')
    for line in text.splitlines():
        entry = line.strip()
        if entry and not entry.startswith('#'):
            absolute = '://' in entry or entry.startswith('/')
            yield entry if absolute else _url_of(files, place, f'{base}/{entry}')


def _bags_at(place: str) -> Iterator[BagSource]:
    files, path = file_system(place)
    with _readable(place):
        is_glob = re.search(r'[*?\[]', path) and not files.exists(path)
        for root in sorted(files.glob(path)) if is_glob else [path]:
            yield from _bags_below(files, root, place)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Make a sentence of what goes wrong; each file system raises kinds of its own."""
    try:
        yield
    except Exception as error:
        raise FleetError(
            f"'{public(place)}' cannot be read: {reason(error)}.",
            kind='unreadable', place=public(place),
        ) from error  # fmt: skip


def reason(error: BaseException) -> str:
    """Return what an error of a file system says."""
    if isinstance(error, TimeoutError) or 'Timeout' in type(error).__name__:
        return f'nothing came for {SILENCE:.0f} s'
    if 'Redirect' in type(error).__name__:
        return 'the server redirects without end'
    if status := getattr(error, 'status', 0):  # of a web server
        return f'{status} {public(str(getattr(error, "message", "")))}'.rstrip()
    return public(str(getattr(error, 'strerror', None) or error)) or type(error).__name__


def _bags_below(files: Any, root: str, place: str) -> Iterator[BagSource]:
    try:
        info = files.info(root)
    except FileNotFoundError as error:
        if error.__cause__ is not None:  # of a web server: no answer, or a failure
            raise error.__cause__ from None
        return
    if info['type'] == 'file':
        if public(root).endswith(DATA):
            beside = [root + end for end in _BESIDE if root.endswith('.db3')]
            paths = [root, *filter(files.exists, beside)]
            yield _bag(files, root, [_file(path, files.info(path)) for path in paths], place)
        return
    folders: dict[str, list[SourceFile]] = {}
    for path, info in _below(files, root):
        if isinstance(info, OSError):
            sentence = f"'{path}' cannot be read: {reason(info)}."
            yield BagSource(path, (), place, sentence)
        elif _belongs(path) and not any(part[:1] == '.' for part in path[len(root) :].split('/')):
            folders.setdefault(path.rpartition('/')[0], []).append(_file(path, info))
    for folder, found in folders.items():
        if not _is_result(files, folder):
            yield from _bags_in(files, folder, sorted(found, key=lambda file: file.path), place)


def _below(files: Any, root: str) -> Iterator[tuple[str, Any]]:
    """Path and information of all files below a folder; for what cannot be read, the error."""
    if 'file' not in files.protocol:
        yield from files.find(root, detail=True).items()
        return
    seen, errors = set(), list[OSError]()
    for folder, folders, names in os.walk(root, onerror=errors.append, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        for path in (f'{folder}/{name}' for name in names if _belongs(f'/{name}')):
            try:
                yield path, files.info(path)
            except OSError as error:
                yield path, error
    yield from ((str(error.filename), error) for error in errors)


def _belongs(path: str) -> bool:
    """Whether a file is one of a bag, by its name."""
    return path.endswith((*DATA, *(f'.db3{end}' for end in _BESIDE), f'/{FILE}'))


def _bags_in(files: Any, folder: str, found: list[SourceFile], place: str) -> Iterator[BagSource]:
    """One bag if the folder is one, else a bag per storage file and what is beside it.

    It is one with a metadata.yaml; or without, if the recorder was killed, by the names of its
    files: NAME/NAME_0.mcap, NAME/NAME_1.mcap and so on.
    """
    data = [file.path for file in found if file.name.endswith(DATA)]
    numbered = re.compile(re.escape(f'{folder}/{folder.rpartition("/")[2]}') + r'_\d+\.')
    has_metadata = any(file.name == FILE for file in found)
    if has_metadata or (data and all(map(numbered.match, data))):
        yield _bag(files, folder, found, place)
    else:
        for path in data:
            own = (path, *(path + end for end in _BESIDE))
            yield _bag(files, path, [file for file in found if file.path in own], place)


def _is_result(files: Any, folder: str) -> bool:
    """Whether it is what `izmp replay` wrote: OUT/bag beside OUT/report.json."""
    parent, _, name = folder.rpartition('/')
    return name == 'bag' and bool(files.exists(f'{parent}/report.json'))


def _bag(files: Any, path: str, found: list[SourceFile], place: str) -> BagSource:
    url = public(_url_of(files, place, path))
    return BagSource(url.removeprefix('file://'), tuple(found), place)


def _file(path: str, info: Mapping[str, Any]) -> SourceFile:
    stamp = next((str(info[key]) for key in _STAMPS if info.get(key)), '')
    return SourceFile(path, int(info.get('size') or 0), stamp)


def _url_of(files: Any, place: str, path: str) -> str:
    """The URL of a path in the file system that was made for a place, which states the host."""
    if 'host' not in files.storage_options:
        return str(files.unstrip_protocol(path))
    protocol, _, rest = place.partition('://')
    return f'{protocol}://{rest.partition("/")[0]}/{path.lstrip("/")}'


def public(text: str) -> str:
    """Return a text whose URLs have no user and, in the web, no query: it may be a signature."""
    text = re.sub(r"(https?://[^?#\s]*)[?#][^\s'\"]*", r'\1', text)
    return re.sub(r'(\w://)[^/\s]*@', r'\1', text)


def _refuse_password(url: str) -> None:
    """Refuse a URL that contains a password or token, which the sentence does not repeat."""
    for protocol, user in re.findall(r'(\w+)://([^/?#]*)@', url):
        if protocol in ('http', 'https') or (':' in user and protocol != 'github'):
            raise FleetError(
                f"The URL '{public(url)}' was given with a password or token; give them to fsspec "
                f'instead, for example in the environment, as FSSPEC_{protocol.upper()}_PASSWORD.',
                kind='password_in_url', place=public(url),
            )  # fmt: skip
