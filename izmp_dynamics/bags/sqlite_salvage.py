"""Messages of a sqlite3 container that was cut off, read page by page.

The tree of a table often has its upper pages near the end of the file, so a cut makes sqlite
refuse everything. The rows themselves lie in leaf pages in the order in which they were written;
every complete one can be had (https://www.sqlite.org/fileformat2.html, sections 1.5, 1.6, 2.1).
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from izmp_dynamics.bags.storage import FOREVER

_LEAF = 0x0D
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""Bytes of a value by its serial type 0 … 9."""


def header_size(path: Path) -> int:
    """The size that a database should have according to its header [bytes]; 0 if unknown."""
    with path.open('rb') as stream:
        header = stream.read(100)
    if len(header) < 100 or header[24:28] != header[92:96]:
        return 0
    return _page_size(header) * int.from_bytes(header[28:32], 'big')


class Salvage:
    """Reads the messages table of a database without its tree."""

    def __init__(self, path: Path, channels: Collection[int]) -> None:
        self._path = path
        self._channels = channels
        with path.open('rb') as stream:
            header = stream.read(100)
        self._page = _page_size(header)
        self._usable = self._page - header[20]

    def messages(self) -> Iterator[tuple[int, int, bytes]]:
        """(channel id, stamp [ns], serialized message) of every complete message."""
        with self._path.open('rb') as pages, self._path.open('rb') as overflow:
            chains = _Chains(overflow, self._page, self._usable)
            pages.seek(self._page)
            while len(page := pages.read(self._page)) == self._page:
                if page[0] == _LEAF:
                    yield from self._rows(page, chains)

    def _rows(self, page: bytes, chains: '_Chains') -> Iterator[tuple[int, int, bytes]]:
        count, room = int.from_bytes(page[3:5], 'big'), self._usable
        for at in range(8, min(8 + 2 * count, self._usable), 2):
            try:
                size, begin = _varint(page, int.from_bytes(page[at : at + 2], 'big'))
                _, begin = _varint(page, begin)
                local = self._local(size)
                room -= local
                if room < 0:  # rows do not overlap
                    return
                message = self._row(page[begin : begin + local + 4], size, local, chains)
            except IndexError:  # it reaches beyond its page
                continue
            if message:
                yield message

    def _row(
        self, part: bytes, size: int, local: int, chains: '_Chains'
    ) -> tuple[int, int, bytes] | None:
        """One row, if it is a complete message."""
        payload = part[:local]
        if local < size:
            payload += chains.read(int.from_bytes(part[local:], 'big'), size - local)
        return self._message(payload) if len(payload) == size else None

    def _local(self, size: int) -> int:
        """How much of a payload lies in the leaf page itself."""
        most, least = self._usable - 35, (self._usable - 12) * 32 // 255 - 23
        if size <= most:
            return size
        kept = least + (size - least) % (self._usable - 4)
        return kept if kept <= most else least

    def _message(self, payload: bytes) -> tuple[int, int, bytes] | None:
        """Take a record apart if it is (id, topic, timestamp, data)."""
        head, at = _varint(payload, 0)
        kinds = []
        while at < head:
            kind, at = _varint(payload, at)
            kinds.append(kind)
        if len(kinds) != 4 or kinds[0] != 0 or max(kinds[1:3]) > 9 or 7 in kinds[1:3]:
            return None
        if kinds[3] < 12 or kinds[3] % 2 or 0 in kinds[1:3]:
            return None
        channel, at = _integer(payload, at, kinds[1])
        stamp, at = _integer(payload, at, kinds[2])
        raw = payload[at : at + (kinds[3] - 12) // 2]
        known = channel in self._channels and abs(stamp) < FOREVER
        return (channel, stamp, raw) if known else None


class _Chains:
    """Overflow pages. A page belongs to one chain only, so one that leads into itself ends."""

    def __init__(self, stream: BinaryIO, page: int, usable: int) -> None:
        self._stream = stream
        self._page = page
        self._usable = usable
        self._used: set[int] = set()

    def read(self, number: int, size: int) -> bytes:
        """The part of a payload in the chain from page `number`; shorter if a page is missing."""
        parts = bytearray()
        while number and len(parts) < size and number not in self._used:
            self._used.add(number)
            self._stream.seek((number - 1) * self._page)
            page = self._stream.read(self._page)
            if len(page) < self._page:
                break
            number = int.from_bytes(page[:4], 'big')
            parts += page[4 : self._usable]
        return bytes(parts[:size])


def _page_size(header: bytes) -> int:
    size = int.from_bytes(header[16:18], 'big')
    return 65536 if size == 1 else max(512, size)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of 1 to 9 bytes and the place after it."""
    value = 0
    for place in range(at, at + 8):
        byte = data[place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _integer(data: bytes, at: int, kind: int) -> tuple[int, int]:
    """An integer column of the serial type `kind` and the place after it."""
    if kind in (8, 9):
        return kind - 8, at
    end = at + _SIZES[kind]
    return int.from_bytes(data[at:end], 'big', signed=True), end
