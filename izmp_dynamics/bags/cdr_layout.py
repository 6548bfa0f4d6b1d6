"""The constant byte layout of a ROS 2 message whose strings and lengths do not change.

In CDR, the wire format of ROS 2, the place of a number depends only on the lengths of the strings
and sequences before it. On a topic of a robot these hardly ever change (the same joints in the
same order, the same frame), so *one* example fixes where every number of every message lies, and
thousands of messages are read or written as one numpy array::

    layout = CdrLayout(typestore, 'sensor_msgs/msg/Imu', example)
    rows = layout.rows(raws)                     # (N, size) bytes, one message a row
    assert layout.matches(rows).all()            # never read a message by a foreign layout
    fields = layout.fields(rows)
    fields['header.stamp']                       # (N,) int64 [ns]
    fields['angular_velocity']                   # (N, 3), a view
    layout.strings['header.frame_id']            # 'imu_link'
    rows = layout.encode_rows(N, {'header.stamp': stamps, 'angular_velocity': gyro})

A *path* names a leaf ('position', 'angular_velocity.x', 'points[0].positions'), a time (int64
nanoseconds), or a message whose leaves follow each other and have one type (its leaves become
columns). Alignment counts from the end of the four bytes of the encapsulation header (CDR of
XTypes 1.3, 7.4.1; both byte orders, plain CDR only). Bytes of padding are undefined and ignored.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.raws import Raw, Raws
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import BagError, ShapeError, UnknownNameError

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

_TEXT = 64
"""Bytes that are compared as one text; more are quicker by words."""

Rows = npt.NDArray[np.uint8]


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

    @property
    def end(self) -> int:
        """Byte after the last of them."""
        return self.offset + self.count * self.dtype.itemsize

    def view(self, rows: Rows) -> npt.NDArray[Any]:
        """(N, *shape) view of the (N, size) bytes."""
        numbers = rows[:, self.offset : self.end].view(self.dtype)
        return numbers if self.shape else numbers[:, 0]


class CdrLayout:
    """Layout of all messages that equal an example in everything but their numbers.

    Every length in the example is checked against the bytes that are there, so a damaged message
    ends in a `BagError` and never in a wrong reading.

    Attributes:
        msgtype: e.g. 'sensor_msgs/msg/Imu'.
        size: length of a message [bytes], encapsulation header included.
        strings: path → the constant text, or texts for a sequence or array of strings.
        paths: paths of the leaves, in the order of the message.
        times: paths of the times and durations.
        visited: how many values the example has, with the messages and sequences in it; every
            error carries it, too.
        constants: where the bytes begin that all these messages have in common, and those bytes:
            encapsulation, lengths and texts.
    """

    def __init__(self, typestore: Any, msgtype: str, example: Raw) -> None:
        """Derive the layout from a serialized example.

        Args:
            typestore: rosbags typestore that knows `msgtype`.
            msgtype: ROS type of the message.
            example: serialized message.

        Raises:
            BagError: when the example is not a message of this type.
        """
        self.msgtype = msgtype
        self.size = len(example)
        self.strings: dict[str, str | tuple[str, ...]] = {}
        self.times: list[str] = []
        self.visited = 0
        self._leaves: dict[str, Leaf] = {}
        self._raw = raw = bytes(example)
        self._definitions = typestore.fielddefs
        if raw[:2] not in (b'\0\0', b'\0\1') or len(raw) < HEADER:
            raise self._error('not_plain_cdr', 'it does not begin with the header of plain CDR')
        self._order = '<' if raw[1] else '>'
        self._at = HEADER
        self._empty = 0  # sequences without elements
        self._ranges = [(0, 2)]
        self._message('', msgtype)
        if len(raw) - self._at > _END_PADDING + _SEQUENCE_PADDING * self._empty:
            raise self._error(
                'trailing_bytes', f'it has {len(raw)} bytes where {self._at} were expected'
            )
        self.paths = tuple(self._leaves)
        self._template = np.frombuffer(raw, np.uint8)
        self._mask = np.zeros(self.size, np.uint8)
        for begin, end in self._ranges:
            self._mask[begin:end] = 0xFF
        # A leaf of up to 7 bytes between two ranges is merged as padding is, which costs time but
        # nothing else: rows that differ there are compared again with the exact mask.
        self._segments = _merged(self._ranges, 7)
        self.constants = tuple((a, raw[a:b]) for a, b in _merged(self._ranges, 0))

    def rows(self, raws: Sequence[Raw]) -> Rows:
        """Stack messages, each of length `size`, to (N, size) bytes."""
        data = Raws.of(raws).data
        if data.size != len(raws) * self.size:
            raise ShapeError('raws', f'(N, {self.size}) bytes', (len(raws), data.size))
        return data.reshape(len(raws), self.size)

    def matches(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """(N,) which rows equal the example in encapsulation, lengths and strings."""
        equal = np.ones(len(rows), np.bool_)
        for begin, end in self._segments:
            equal &= _equal(rows[:, begin:end], self._template[begin:end])
        if not equal.all():  # it may be only the padding inside a segment that differs
            other = np.flatnonzero(~equal)
            differs = (rows[other] ^ self._template) & self._mask
            equal[other] = ~differs.any(axis=1)
        return equal

    def fields(self, rows: Rows) -> 'CdrFields':
        """The numbers in rows that match; nothing is read before a path is asked for."""
        return CdrFields(self, rows)

    def encode_rows(self, count: int, values: Mapping[str, npt.ArrayLike]) -> Rows:
        """Write `count` messages; what `values` does not name is as in the example.

        Args:
            count: number of messages N.
            values: path → (N, …) numbers of the shape that `fields` has for that path.

        Returns:
            (N, size) bytes.

        Raises:
            UnknownNameError: there is no such path.
            ShapeError: a value has another shape.
            BagError: a value does not fit into the field's type.
        """
        rows = np.empty((count, self.size), np.uint8)
        rows[:] = self._template
        with np.errstate(over='ignore'):  # a float64 too large for float32 becomes inf
            for path, value in values.items():
                if path not in self.times:
                    self._write(rows, path, np.asarray(value))
                    continue
                parts = self._split(path, np.asarray(value), count)
                for part, numbers in zip(('sec', 'nanosec'), parts, strict=True):
                    self.columns(f'{path}.{part}').view(rows)[...] = numbers
        return rows

    def columns(self, path: str) -> Leaf:
        """Where the numbers of `path` lie.

        Raises:
            UnknownNameError: no leaf and no uniform message of this name.
        """
        if path not in self._leaves:
            begin = f'{path}.', f'{path}['
            inside = [self._leaves[leaf] for leaf in self.paths if leaf.startswith(begin)]
            uniform = all(b.offset == a.end and b.dtype == a.dtype for a, b in pairwise(inside))
            if not inside or not uniform:
                where = f'in {self.msgtype}'
                raise UnknownNameError('field', path, (*self.times, *self.paths), where)
            count = sum(leaf.count for leaf in inside)
            self._leaves[path] = Leaf(inside[0].dtype, inside[0].offset, (count,))
        return self._leaves[path]

    def _write(self, rows: Rows, path: str, value: npt.NDArray[Any]) -> None:
        target = self.columns(path).view(rows)
        if value.shape != target.shape:
            raise ShapeError(path, str(target.shape), value.shape)
        if value.dtype.kind not in ('fiub' if target.dtype.kind == 'f' else 'iub'):
            what = f'{path} of {self.msgtype} takes {target.dtype}, not {value.dtype}.'
            raise BagError(what, kind='wrong_dtype', field=path, dtype=target.dtype.name)
        if target.dtype.kind in 'iu':
            self._check_range(path, value, target.dtype)
        target[...] = value

    def _check_range(self, path: str, value: npt.NDArray[Any], dtype: np.dtype[Any]) -> None:
        limits = np.iinfo(dtype)
        if value.size and not limits.min <= value.min() <= value.max() <= limits.max:
            what = f'A value of {path} of {self.msgtype} exceeds {dtype}.'
            raise BagError(what, kind='out_of_range', field=path, dtype=dtype.name)

    def _split(
        self, path: str, value: npt.NDArray[Any], count: int
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Seconds and the nanoseconds beyond them, of times (`count`,) [ns]."""
        if value.shape != (count,):
            raise ShapeError(path, f'({count},)', value.shape)
        if value.dtype.kind not in 'iu':
            what = f'{path} of {self.msgtype} takes integer nanoseconds.'
            raise BagError(what, kind='wrong_dtype', field=path, dtype='int64')
        sec, nanosec = np.divmod(value.astype(np.int64), NANOSECONDS)
        self._check_range(f'{path}.sec', sec, self.columns(f'{path}.sec').dtype)
        return sec, nanosec

    def _error(self, kind: str, what: str) -> BagError:
        sentence = f'A message is not of type {self.msgtype}: {what}.'
        return BagError(sentence, kind=kind, msgtype=self.msgtype, visited=self.visited)

    def _message(self, path: str, name: str) -> None:
        if name not in self._definitions:
            sentence = f"The definition of the message type '{name}' is not known."
            raise BagError(sentence, kind='unknown_type', msgtype=name)
        if path.count('.') > _DEPTH:
            sentence = f'The definition of the message type {self.msgtype} is recursive.'
            raise BagError(sentence, kind='recursive_type', msgtype=self.msgtype)
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
        if count > len(self._raw) - self._at:
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
        limit = min(_MOST_VALUES, 100 + len(self._raw))
        if self.visited > limit:
            raise self._error('too_many_values', f'it has more than {limit} values')

    def _numbers(self, path: str, name: str, count: int | None) -> None:
        if name not in _DTYPES:
            sentence = f'{path} of {self.msgtype} has the type {name}, which is unsupported.'
            raise BagError(sentence, kind='unsupported_type', field=path, name=name)
        dtype = np.dtype(self._order + _DTYPES[name])
        if count != 0:
            self._align(dtype.itemsize)
        self._leaves[path] = Leaf(dtype, self._at, () if count is None else (count,))
        self._advance(dtype.itemsize * (1 if count is None else count))

    def _align(self, size: int) -> None:
        self._at += -(self._at - HEADER) % size

    def _advance(self, size: int) -> None:
        self._at += size
        if self._at > len(self._raw):
            raise self._error('truncated', f'it ends after {len(self._raw)} bytes')

    def _length(self) -> int:
        self._align(4)
        begin = self._at
        self._advance(4)
        self._ranges.append((begin, self._at))
        return int(struct.unpack_from(f'{self._order}I', self._raw, begin)[0])

    def _string(self) -> str:
        length = self._length()
        begin = self._at
        self._advance(length)
        self._ranges.append((begin, self._at))
        if not length or self._raw[self._at - 1]:
            raise self._error('bad_text', 'a text in it is not terminated')
        try:
            return self._raw[begin : self._at - 1].decode()
        except UnicodeDecodeError as error:
            raise self._error('bad_text', 'a text in it is not UTF-8') from error


@dataclass(frozen=True)
class CdrFields:
    """Numbers of N messages by path."""

    layout: CdrLayout
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, path: str) -> npt.NDArray[Any]:
        """(N, …) numbers of `path` in native byte order: a view if possible.

        Times and durations are (N,) int64 [ns].
        """
        if path in self.layout.times:
            sec = self.layout.columns(f'{path}.sec').view(self.rows)
            nanosec = self.layout.columns(f'{path}.nanosec').view(self.rows)
            stamps: npt.NDArray[Any] = sec.astype(np.int64) * NANOSECONDS + nanosec
            return stamps
        numbers = self.layout.columns(path).view(self.rows)
        if numbers.dtype.isnative:
            return numbers
        return numbers.astype(numbers.dtype.newbyteorder('='))


def serialized(typestore: Any, msgtype: str, values: Mapping[str, Any]) -> bytes:
    """Write one message: zero everywhere, except where a value is given.

    Args:
        typestore: rosbags typestore that knows `msgtype`.
        msgtype: ROS type of the message.
        values: path → number, text, or several of these; of a sequence of messages their number,
            and then their own paths, e.g. 'transforms[0].child_frame_id'.

    Raises:
        BagError: the type is not known, or a value is none of its field.
        UnknownNameError: there is no such path.
    """
    if msgtype not in typestore.fielddefs:
        what = f"'{msgtype}' is not a standard message type."
        raise BagError(what, kind='unknown_type', msgtype=msgtype)
    raw, paths = bytearray(b'\0\1\0\0'), list[str]()

    def put(name: str, value: Any, shape: tuple[int, ...] = ()) -> None:
        if name == 'string':
            text = value.encode() + b'\0'
            put('uint32', len(text))
            raw.extend(text)
            return
        array = np.array(value, np.dtype(f'<{_DTYPES[name]}'))
        if array.shape != shape:
            raise ValueError(f'{paths[-1]} has the shape {shape}, not {array.shape}')
        raw.extend(bytes(-(len(raw) - HEADER) % array.itemsize))
        raw.extend(array.tobytes())

    def walk(path: str, kind: int, detail: Any) -> None:
        if kind == _NAME:
            for field, description in typestore.fielddefs[detail][1]:
                walk(f'{path}.{field}' if path else field, *description)
            return
        paths.append(path)
        if kind == _BASE:
            put(detail[0], values.get(path, '' if detail[0] == 'string' else 0))
            return
        (inner, name), count = detail
        given = values.get(path, count if kind == _ARRAY else 0)
        is_blank = isinstance(given, int)
        length = given if is_blank else len(given)
        if kind == _SEQUENCE:
            put('uint32', length)
        elif length != count:
            raise ValueError(f'{path} has {count} elements, not {length}')
        if inner == _NAME:
            for k in range(given):
                walk(f'{path}[{k}]', inner, name)
        elif name[0] == 'string':
            for text in [''] * length if is_blank else given:
                put('string', text)
        elif length:
            put(name[0], np.zeros(length) if is_blank else given, (length,))

    try:
        walk('', _NAME, msgtype)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        what = f'The example is not a message of type {msgtype}: {error}.'
        raise BagError(what, kind='wrong_type', msgtype=msgtype) from error
    for path in (path for path in values if path not in paths):
        raise UnknownNameError('field', path, paths, f'in {msgtype}')
    return bytes(raw)


def _equal(rows: Rows, bytes_: Rows) -> npt.NDArray[np.bool_]:
    """(N,) which of the rows (N, B) are these bytes (B,): whole words, and the rest as a text.

    To compare texts of equal size is to compare their bytes, and quick where they are short.
    """
    words = len(bytes_) // 8 * 8 if len(bytes_) > _TEXT else 0
    equal = np.ones(len(rows), np.bool_)
    if words:
        equal = (rows[:, :words].view(np.uint64) == bytes_[:words].view(np.uint64)).all(axis=1)
    if words < len(bytes_):
        rest = bytes_[words:]
        equal &= rows[:, words:].view(f'S{len(rest)}')[:, 0] == rest.tobytes()
    return equal


def _merged(ranges: list[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Merge ranges of bytes that at most `gap` bytes separate; not the encapsulation."""
    merged = [ranges[0]]
    for begin, end in ranges[1:]:
        if merged[-1][1] > HEADER and begin - merged[-1][1] <= gap:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged
