"""Order statistics of more numbers than memory should hold: the same as by sorting, in few passes.

Bits of a float64 in the right order are an integer that is ordered as the numbers are. Each pass
counts the numbers by the next few bits of it, and goes on with those among which the wanted one is
(radix selection), until they are few enough to be sorted.
"""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Array

FEW = 1 << 18
"""Numbers that are sorted at once."""

_BITS = 16
_SIGN = np.uint64(1 << 63)

Parts = Callable[[], Iterable[Array]]


def neighbours(parts: Parts, rank: int) -> tuple[float, float]:
    """Find two numbers that follow each other in ascending order.

    Args:
        parts: gives all N numbers, part by part, whenever it is called; finite.
        rank: of the first one, from 0 to N − 1.

    Returns:
        The number at `rank` and the one after it; twice the last one for the last.
    """
    first, shift, rank, number = _narrowed(parts, rank)
    if number > FEW:  # and all the same
        few = np.full(min(rank + 2, number), _value(first))
    else:
        near = [part[(_keys(part) - first) >> shift == 0] for part in parts()]
        few = np.sort(np.concatenate(near))
    if rank + 1 < number:
        return float(few[rank]), float(few[rank + 1])
    larger = [np.min(part, where=part > few[-1], initial=np.inf) for part in parts()]
    after = float(min(larger))
    return float(few[rank]), after if np.isfinite(after) else float(few[rank])


def _narrowed(parts: Parts, rank: int) -> tuple[np.uint64, np.uint64, int, int]:
    """First key and bits of the range that holds a rank, the rank and the number within it."""
    first, shift, digits = np.uint64(0), np.uint64(64 - _BITS), 1 << _BITS
    while True:
        counts = np.zeros(digits, dtype=np.int64)
        for part in parts():
            digit = (_keys(part) - first) >> shift
            counts += np.bincount(digit[digit < digits].astype(np.intp), minlength=digits)
        up_to = np.cumsum(counts)
        chosen = int(np.searchsorted(up_to, rank, side='right'))
        number = int(counts[chosen])
        rank -= int(up_to[chosen]) - number
        first += np.uint64(chosen) << shift
        if number <= FEW or shift == 0:
            return first, shift, rank, number
        shift -= np.uint64(_BITS)


def _keys(values: Array) -> npt.NDArray[np.uint64]:
    """Integers in the order of the numbers; −0 counts as 0."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits < _SIGN, bits | _SIGN, ~bits)


def _value(key: np.uint64) -> float:
    bits = key ^ _SIGN if key >= _SIGN else ~key
    return float(bits.view(np.float64))
