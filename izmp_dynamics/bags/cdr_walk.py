"""One pass over a serialized message: where its numbers lie and what its strings say.

Used by `cdr_layout`; every length is checked against the bytes that are there, so a damaged
message ends in a `BagError` and never in a wrong reading.
"""

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from izmp_dynamics.base.errors import BagError

HEADER = 4
"""Length of the encapsulation header [bytes]."""

_DTYPES = {
    'bool': 'u1', 'byte': 'u1', 'char': 'u1', 'int8': 'i1', 'uint8': 'u1',
    'int16': 'i2', 'uint16': 'u2', 'int32': 'i4', 'uint32': 'u4',
    'int64': 'i8', 'uint64': 'u8', 'float32': 'f4', 'float64': 'f8',
}  # fmt: skip

_TIMES = ('builtin_interfaces/msg/Time', 'builtin_interfaces/msg/Duration')

_DEPTH = 32

_MOST_VALUES = 2**18
"""Values of one message, each a number, a text or a sequence of these."""

_END_PADDING = 3
"""Bytes after the last field: some writers pad the end to four bytes."""

_SEQUENCE_PADDING = 8
"""Bytes after the last field for every empty sequence: ROS 2 sizes its buffer as if the numbers of
an empty sequence were aligned too, and publishes the buffer whole (uninitialised at its end)."""

_BASE, _NAME, _ARRAY, _SEQUENCE = 1, 2, 3, 4  # rosbags.interfaces.Nodetype


@dataclass(frozen=True)
class Leaf:
    """`count` numbers of `dtype` from byte `offset` on; `shape` is () for a single number."""

    dtype: np.dtype[Any]
    offset: int
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many numbers."""
        return self.shape[0] if self.shape else 1


class CdrWalk:
    """Walks once over `raw` on construction.

    Attributes:
        raw: the message.
        leaves: path → numbers.
        strings: path → text, or texts for a sequence or array of strings.
        times: paths of times and durations.
        constants: ranges of bytes that fix the layout: encapsulation, lengths and texts.
        visited: how many values were walked over; every error carries it, too.
    """

    def __init__(self, typestore: Any, msgtype: str, raw: bytes) -> None:
        self.raw = raw
        self.leaves: dict[str, Leaf] = {}
        self.strings: dict[str, str | tuple[str, ...]] = {}
        self.times: list[str] = []
        self.constants = [(0, 2)]
        self.visited = 0
        self._definitions = typestore.fielddefs
        self._msgtype = msgtype
        if raw[:2] not in (b'\0\0', b'\0\1') or len(raw) < HEADER:
            raise self._error('not_plain_cdr', 'it does not begin with the header of plain CDR')
        self._order = '<' if raw[1] else '>'
        self._at = HEADER
        self._empty = 0  # sequences without elements
        self._message('', msgtype)
        if len(raw) - self._at > _END_PADDING + _SEQUENCE_PADDING * self._empty:
            raise self._error(
                'trailing_bytes', f'it has {len(raw)} bytes where {self._at} were expected'
            )

    def _error(self, kind: str, what: str) -> BagError:
        sentence = f'A message is not of type {self._msgtype}: {what}.'
        return BagError(sentence, kind=kind, msgtype=self._msgtype, visited=self.visited)

    def _message(self, path: str, name: str) -> None:
        if name not in self._definitions:
            sentence = f"The definition of the message type '{name}' is not known."
            raise BagError(sentence, kind='unknown_type', msgtype=name)
        if path.count('.') > _DEPTH:
            sentence = f'The definition of the message type {self._msgtype} is recursive.'
            raise BagError(sentence, kind='recursive_type', msgtype=self._msgtype)
        if name in _TIMES:
            self.times.append(path)
        prefix = f'{path}.' if path else ''
        for field, description in self._definitions[name][1]:
            self._value(f'{prefix}{field}', description)

    def _value(self, path: str, description: Any) -> None:
        kind, detail = description
        self._visit(1)
        if kind == _NAME:
            self._message(path, detail)
        elif kind == _ARRAY:
            self._elements(path, *detail)
        elif kind == _SEQUENCE:
            count = self._length()
            self._empty += not count
            self._elements(path, detail[0], count)
        elif detail[0] == 'string':
            self.strings[path] = self._string()
        else:
            self._numbers(path, detail[0], None)

    def _elements(self, path: str, description: Any, count: int) -> None:
        kind, detail = description
        if count > len(self.raw) - self._at:
            raise self._error('truncated', f'{path} claims {count} elements')
        if kind == _NAME:
            for index in range(count):
                self._message(f'{path}[{index}]', detail)
        elif detail[0] == 'string':
            self._visit(count)
            self.strings[path] = tuple(self._string() for _ in range(count))
        else:
            self._numbers(path, detail[0], count)

    def _visit(self, count: int) -> None:
        self.visited += count
        limit = min(_MOST_VALUES, 100 + len(self.raw))
        if self.visited > limit:
            raise self._error('too_many_values', f'it has more than {limit} values')

    def _numbers(self, path: str, name: str, count: int | None) -> None:
        if name not in _DTYPES:
            sentence = f'{path} of {self._msgtype} has the type {name}, which is unsupported.'
            raise BagError(sentence, kind='unsupported_type', field=path, name=name)
        dtype = np.dtype(self._order + _DTYPES[name])
        if count != 0:
            self._align(dtype.itemsize)
        self.leaves[path] = Leaf(dtype, self._at, () if count is None else (count,))
        self._advance(dtype.itemsize * (1 if count is None else count))

    def _align(self, size: int) -> None:
        self._at += -(self._at - HEADER) % size

    def _advance(self, size: int) -> None:
        self._at += size
        if self._at > len(self.raw):
            raise self._error('truncated', f'it ends after {len(self.raw)} bytes')

    def _length(self) -> int:
        self._align(4)
        begin = self._at
        self._advance(4)
        self.constants.append((begin, self._at))
        return int(struct.unpack_from(f'{self._order}I', self.raw, begin)[0])

    def _string(self) -> str:
        length = self._length()
        begin = self._at
        self._advance(length)
        self.constants.append((begin, self._at))
        if not length or self.raw[self._at - 1]:
            raise self._error('bad_text', 'a text in it is not terminated')
        try:
            return self.raw[begin : self._at - 1].decode()
        except UnicodeDecodeError as error:
            raise self._error('bad_text', 'a text in it is not UTF-8') from error
