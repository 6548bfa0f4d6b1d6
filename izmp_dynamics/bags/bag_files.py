"""From a path to open containers: which files belong to a bag, and of what kind each is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from izmp_dynamics.bags.mcap_file import MAGIC, McapFile
from izmp_dynamics.bags.metadata import FILE, Metadata, read_metadata
from izmp_dynamics.bags.sqlite_file import SqliteFile
from izmp_dynamics.bags.storage import ZSTD, Expansion, Scratch, Storage
from izmp_dynamics.bags.table_file import PARQUET, TABLES, TableFile
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.libraries import zstandard

_SQLITE = b'SQLite format 3\0'
_ROS1 = b'#ROSBAG'
_PIECE = 2**18
"""Bytes that are decompressed at a time."""

_SUFFIXES = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd')


@dataclass
class BagFiles:
    """The files of a bag.

    Attributes:
        paths: storage files in the order of recording.
        metadata: of the folder; None when there is none to rely on.
        notes: anomalies.
        damages: what is missing.
    """

    paths: list[Path]
    metadata: Metadata | None = None
    notes: list[str] = field(default_factory=list)
    damages: list[str] = field(default_factory=list)


def find_files(path: Path) -> BagFiles:
    """Find the storage files of the bag at `path`, a folder or one file.

    Raises:
        BagError: there is no bag.
    """
    try:
        if path.is_dir() or path.name == FILE:
            return _folder(path if path.is_dir() else path.parent)
        if path.is_file():
            return BagFiles([path])
        exists = path.exists()
    except OSError as error:
        raise _unreadable(path, error) from error
    if exists:
        what = f"'{path}' is neither a folder nor a regular file; give a rosbag2 folder or file."
        raise BagError(what, kind='not_a_regular_file', path=path)
    forms = 'a rosbag2 folder, or an .mcap, .db3, .csv or .parquet file'
    what = f"There is no bag at '{path}'; give {forms}."
    raise BagError(what, kind='no_bag', path=path)


def open_storage(path: Path, scratch: Scratch) -> Storage:
    """Open one storage file by its content.

    Args:
        path: the file.
        scratch: where a compressed file is decompressed to.

    Raises:
        BagError: it cannot be opened or is of no kind that is known.
    """
    try:
        with path.open('rb') as stream:
            head = stream.read(16)
        if head.startswith(ZSTD):
            return _open_compressed(path, scratch)
        return _open_plain(path, head, scratch)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> BagError:
    sentence = f"The bag '{path}' cannot be read: {error.strerror}."
    return BagError(sentence, kind='unreadable', path=path, errno=error.errno)


def _folder(folder: Path) -> BagFiles:
    present = [x for x in folder.iterdir() if x.name.endswith(_SUFFIXES) and x.is_file()]
    present.sort(key=lambda path: (len(path.name), path.name))  # walk_2.mcap before walk_10.mcap
    if not (folder / FILE).exists():
        if not present:
            raise _no_bag_in(folder)
        note = f"'{folder}' has no {FILE} (was the recorder killed?); its storage files are read."
        return BagFiles(present, notes=[note])
    try:
        metadata = read_metadata(folder)
    except BagError as error:
        what = f"{FILE} in '{folder}' cannot be used: {error}"
        if not present:
            path = folder / FILE
            raise BagError(f'{what}.', kind='bad_metadata', path=path, cause=error) from error
        return BagFiles(present, notes=[f'{what}; the storage files are read.'])
    listed = [folder / name for name in metadata.files]
    there = [path for path in listed if path.is_file()]
    missing = ', '.join(path.name for path in listed if path not in there)
    damage = f"{FILE} of '{folder}' lists files that are missing: {missing or 'none'}."
    if there:
        return BagFiles(there, metadata, damages=[damage] if missing else [])
    if present:
        note = f"{FILE} of '{folder}' lists {missing or 'no file'}; {present[0].name} is read."
        return BagFiles(present, metadata, notes=[note])
    raise BagError(damage, kind='files_missing', path=folder, files=metadata.files)


def _no_bag_in(folder: Path) -> BagError:
    bags = sorted(x.parent.name for x in folder.glob(f'*/{FILE}'))
    hint = f" Did you mean '{folder / bags[0]}'?" if bags else ''
    old = sorted(x.name for x in folder.glob('*.bag'))
    if old:
        sentence = f"'{folder}' holds a ROS 1 bag ({old[0]}). {_convert(folder / old[0])}"
        return BagError(sentence, kind='ros1_bag', path=folder / old[0])
    sentence = f"'{folder}' holds no bag: there is no {FILE}, .mcap or .db3 file in it.{hint}"
    return BagError(sentence, kind='no_bag', path=folder, similar=bags)


def _convert(path: Path) -> str:
    return f"Convert it first: rosbags-convert --src '{path}' --dst '{path.with_suffix('')}'"


def _open_plain(path: Path, head: bytes, scratch: Scratch) -> Storage:
    if head.startswith(MAGIC):
        return McapFile(path)
    if head == _SQLITE:
        return SqliteFile(path, scratch)
    if head and (head.startswith(PARQUET) or path.suffix.lower() in TABLES):
        return TableFile(path, head.startswith(PARQUET))
    if head.startswith(_ROS1):
        sentence = f"'{path}' is a ROS 1 bag. {_convert(path)}"
        raise BagError(sentence, kind='ros1_bag', path=path)
    if not head:
        raise BagError(f"The bag file '{path}' is empty.", kind='empty_file', path=path)
    what = (
        f"'{path}' is not a bag: it begins neither like an mcap nor like a sqlite3 or Parquet "
        'file, and is not called .csv.'
    )
    raise BagError(what, kind='not_a_bag', path=path)


def _open_compressed(path: Path, scratch: Scratch) -> Storage:
    """Decompress a file that was compressed as a whole, as far as it goes."""
    faults: list[str] = []
    with path.open('rb') as packed:
        unpacked = scratch.write(path.stem, _decompressed(packed, path, faults))
    with unpacked.open('rb') as whole:
        head = whole.read(16)
        storage = _open_plain(unpacked, head, scratch) if head else None
    if storage is None:
        sentence = f"The bag file '{path}' cannot be decompressed: {faults[0]}."
        raise BagError(sentence, kind='cannot_decompress', path=path)
    if faults and not storage.damages:
        storage.damages.append(f"'{path.name}' cannot be decompressed completely: {faults[0]}.")
    return storage


def _decompressed(packed: BinaryIO, path: Path, faults: list[str]) -> Iterator[bytes]:
    """Decompress zstd piece by piece; note what stops it."""
    codec, expansion = zstandard(), Expansion()
    decompressor = codec.ZstdDecompressor()
    while piece := packed.read(_PIECE):
        expansion.add(len(piece), 0)
        while piece or not (decompressor.eof or decompressor.needs_input):
            if decompressor.eof:
                decompressor = codec.ZstdDecompressor()
            try:
                unpacked = decompressor.decompress(piece, max_length=_PIECE)
                expansion.add(0, len(unpacked))
            except codec.ZstdError as error:
                faults.append(str(error))
                return
            except BagError as error:
                sentence = f"The bag file '{path}' is refused: {error}."
                raise BagError(sentence, kind=error.kind, path=path) from error
            yield unpacked
            piece = decompressor.unused_data if decompressor.eof else b''
    if not decompressor.eof:
        faults.append('it ends too early')
