"""Wanted numbers of messages of any type: found in its definition, taken from its bytes.

Usage::

    numbers = FieldNumbers(typestore, 'unitree_go/msg/LowState', parse('motor_state[0:12].q'))
    numbers.take(layout, rows)                   # (N, 12) float64 of rows that match the layout
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from izmp_dynamics.bags.cdr_layout import CdrLayout
from izmp_dynamics.base.conventions import Array
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.base.field_path import Step, Term

_BASE, _NAME, _ARRAY = 1, 2, 3  # rosbags.interfaces.Nodetype
_WHOLE = tuple(f'{sign}int{bits}' for sign in ('', 'u') for bits in (16, 32, 64))
_CHARACTERS = {'l': 'q', 'L': 'Q'}  # of the module struct, where they are not those of numpy
_BYTES = ('bool', 'byte', 'char', 'int8', 'uint8')


class FieldNumbers:
    """Numbers that some terms name.

    Args:
        typestore: rosbags typestore that knows the type.

    Attributes:
        width: how many numbers a message has.
        bits: size of the whole number that it is; None of several, or of floating-point numbers.
        is_flag: whether all are of one byte: flags, or one of a few values.

    Raises:
        BagError: the type has no such field, or it is no number; the message says what is valid.
    """

    def __init__(self, typestore: Any, msgtype: str, terms: Sequence[Term]) -> None:
        of_terms = [list(_found(typestore, msgtype, term)) for term in terms]
        self._places = [place for places in of_terms for place in places]
        scales = [1.0 if term.scale is None else term.scale for term in terms]
        self._scales = np.repeat(scales, [len(places) for places in of_terms])
        self._is_scaled = bool((self._scales != 1.0).any())
        self.width = len(self._places)
        self._packed = struct.Struct(f'{self.width}d').pack
        self.is_flag = all(base in _BYTES for _, _, base in self._places)
        path, _, base = self._places[0]
        parent = _message_at(typestore, msgtype, terms[0].steps[:-1])
        constants = typestore.fielddefs[parent][0] if parent else ()
        stated = (value for name, _, value in constants if name == bits_constant(path))
        digits = base.removeprefix('u').removeprefix('int') if 'int' in base else next(stated, 0)
        self.bits = int(digits) if digits and self.width == 1 else None

    def reorder(self, columns: slice, order: Sequence[int]) -> None:
        """Take the numbers of these columns in another order."""
        self._places[columns] = [self._places[columns][k] for k in order]
        self._scales[columns] = self._scales[columns][list(order)]

    def take(self, layout: CdrLayout, rows: Any) -> Array:
        """Take the numbers (N, width) out of the bytes of N messages that match the layout.

        Raises:
            BagError: a sequence in these messages is too short.
        """
        values = np.empty((len(rows), self.width))
        for k, place in enumerate(self._places):
            dtype, offset = _place(layout, *place[:2])
            values[:, k] = np.ndarray(len(rows), dtype, rows, offset, (layout.size,))
        return values * self._scales if self._is_scaled else values

    def single_taker(self, layout: CdrLayout) -> Callable[[bytes], tuple[float, ...]]:
        """Make what takes the numbers out of a single message, not scaled: in half the time.

        Raises:
            BagError: a sequence in these messages is too short.
        """
        places = [_place(layout, *place[:2]) for place in self._places]
        ordered = sorted(set(places), key=lambda place: place[1])
        text, end = '', 0
        for dtype, offset in ordered:
            text += f'{offset - end}x{_CHARACTERS.get(dtype.char, dtype.char)}'
            end = offset + dtype.itemsize
        swapped = any(dtype.str[0] == '>' for dtype, _ in places)
        unpack = struct.Struct('<>'[swapped] + text).unpack_from
        if places == ordered:
            return unpack
        pick = itemgetter(*map(ordered.index, places))
        return lambda raw: pick(unpack(raw))

    def scaled(self, given: tuple[float, ...]) -> Array:
        """What a single taker took (width,), scaled."""
        values = np.frombuffer(self._packed(*given))  # in half the time of np.array
        return values * self._scales if self._is_scaled else values


def bits_constant(path: str) -> str:
    """Name of the constant that states how many bits a field has that is a float64 elsewhere."""
    return f'{path.rpartition(".")[2].upper()}_BITS'


def _message_at(typestore: Any, msgtype: str, steps: Sequence[Step]) -> str:
    """The type of the message at a path; empty if there is something else, or nothing."""
    for step in steps:
        kind, detail = _fields(typestore, msgtype).get(step.name, (0, None))
        if kind > _NAME and step.begin is not None:
            kind, detail = detail[0]
        if kind != _NAME:
            return ''
        msgtype = detail
    return msgtype


def is_time(typestore: Any, msgtype: str, steps: Sequence[Step]) -> bool:
    """Whether a type has a time, as in a header, at a path."""
    return _message_at(typestore, msgtype, steps) == 'builtin_interfaces/msg/Time'


def number_arrays(typestore: Any, msgtype: str) -> Iterator[str]:
    """Name the fields of a type that are several numbers, as they are mapped.

    Whole numbers count in arrays alone, and not single bytes.
    """
    for name, (kind, detail) in _fields(typestore, msgtype).items():
        if kind == _NAME:
            if all(_is_float(field) for field in _fields(typestore, detail).values()):
                yield name
            else:
                yield from (f'{name}.{path}' for path in number_arrays(typestore, detail))
        elif kind != _BASE:
            element, count = detail
            elements = f'{name}[0:{count or "N"}]'
            if _is_float(element) or (element[0] == _BASE and element[1][0] in _WHOLE):
                yield elements
            elif element[0] == _NAME:
                fields = _fields(typestore, element[1]).items()
                yield from (f'{elements}.{path}' for path, field in fields if _is_float(field))


def _found(typestore: Any, msgtype: str, term: Term) -> Iterator[tuple[str, int | None, str]]:
    """Leaf, element and type of every number of a term."""
    for path, index, base in _walk(typestore, '', (_NAME, msgtype), term.steps):
        if not base.startswith(('int', 'uint', 'float', 'bool', 'byte', 'char')):
            raise BagError(
                f"'{term.path}' of {msgtype} is not a number but a {base}.",
                kind='no_number', field=term.path, msgtype=msgtype,
            )  # fmt: skip
        yield path, index, base


def _walk(
    store: Any, path: str, description: Any, steps: Sequence[Step]
) -> Iterator[tuple[str, int | None, str]]:
    kind, detail = description
    if kind == _NAME and steps:
        step = steps[0]
        fields = _fields(store, detail)
        if step.name not in fields:
            raise BagError(
                f"{detail} has no field '{step.name}'; valid: {', '.join(fields)}.",
                kind='unknown_field', field=step.name, msgtype=detail, valid=tuple(fields),
            )  # fmt: skip
        inner = f'{path}.{step.name}' if path else step.name
        yield from _elements(store, inner, fields[step.name], step, steps[1:])
    elif steps:
        raise BagError(
            f"'{path}' has no fields; leave out '.{steps[0].name}'.",
            kind='unknown_field', field=steps[0].name,
        )  # fmt: skip
    elif kind == _NAME:
        for name, inner in _fields(store, detail).items():
            yield from _elements(store, f'{path}.{name}', inner, Step(name, None, None), ())
    else:
        yield path, None, detail[0]


def _elements(
    store: Any, path: str, description: Any, step: Step, rest: Sequence[Step]
) -> Iterator[tuple[str, int | None, str]]:
    kind, detail = description
    if kind in (_BASE, _NAME):
        if step.begin is not None:
            raise BagError(
                f"'{path}' is not an array; leave out its brackets.", kind='no_array', field=path
            )
        yield from _walk(store, path, description, rest)
        return
    element, count = detail
    begin, end = step.begin or 0, step.end
    if end is None and kind != _ARRAY:
        raise BagError(
            f"'{path}' has no fixed length; state which elements, as in {path}[0:12].",
            kind='no_length', field=path,
        )  # fmt: skip
    end = count if end is None else end
    if kind == _ARRAY and end > count:
        raise BagError(
            f"'{path}' has {count} elements; valid: [0:{count}] or less.",
            kind='wrong_slice', field=path, length=count,
        )  # fmt: skip
    for index in range(begin, end):
        if element[0] == _NAME:
            yield from _walk(store, f'{path}[{index}]', element, rest)
        elif rest:
            yield from _walk(store, path, element, rest)
        else:
            yield path, index, element[1][0]


def _fields(typestore: Any, name: str) -> dict[str, Any]:
    if name not in typestore.fielddefs:
        sentence = f"The definition of the message type '{name}' is not known."
        raise BagError(sentence, kind='unknown_type', msgtype=name)
    return dict(typestore.fielddefs[name][1])


def _is_float(description: Any) -> bool:
    kind, detail = description
    return kind == _BASE and str(detail[0]).startswith('float')


def _place(layout: CdrLayout, path: str, index: int | None) -> tuple[np.dtype[Any], int]:
    """Type and byte offset of a number."""
    try:
        column = layout.columns(path)
    except UnknownNameError as error:
        raise _too_short(path, 0, layout) from error
    if (index or 0) >= column.count:
        raise _too_short(path, column.count, layout)
    return column.dtype, column.offset + (index or 0) * column.dtype.itemsize


def _too_short(path: str, length: int, layout: CdrLayout) -> BagError:
    """Of a path to messages in a sequence, the first sequence that has too few counts."""
    for found in re.finditer(r'\[(\d+)\]', path):
        begin = f'{path[: found.start()]}['
        there = {
            name[len(begin) :].partition(']')[0] for name in layout.paths if name.startswith(begin)
        }
        if int(found[1]) >= len(there):
            path, length = begin[:-1], len(there)
            break
    valid = f'valid: [0:{length}] or less' if length else 'it is empty'
    return BagError(
        f"'{path}' has {length} elements in a message of type {layout.msgtype}; {valid}.",
        kind='sequence_too_short', field=path, length=length,
    )  # fmt: skip
