"""Serialized messages in one array of bytes: thousands are copied, sorted and read at once."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from izmp_dynamics.base.conventions import Indices
from izmp_dynamics.base.kernel import kernel

Bytes = npt.NDArray[np.uint8]
Raw = bytes | memoryview


class Raws(Sequence[bytes]):
    """Serialized messages, one after the other.

    Args:
        data: (B,) their bytes.
        sizes: (T,) their lengths, of the sum B.

    Attributes:
        data: (B,) their bytes, read-only.
        sizes: (T,) their lengths.
    """

    def __init__(self, data: Bytes, sizes: Indices) -> None:
        self.data = read_only(data)
        self.sizes = sizes

    @cached_property
    def begins(self) -> Indices:
        """(T,) where they begin."""
        return np.cumsum(self.sizes) - self.sizes

    @classmethod
    def of(cls, messages: Iterable[Raw]) -> 'Raws':
        """Those of a list; what is `Raws` already stays as it is."""
        if isinstance(messages, Raws):
            return messages
        parts = list(messages)
        sizes = np.fromiter(map(len, parts), np.intp, len(parts))
        return cls(np.frombuffer(b''.join(parts), np.uint8), sizes)

    @classmethod
    def cut(cls, data: Bytes, begins: Indices, sizes: Indices) -> 'Raws':
        """Copy messages out of the bytes among which they lie.

        Args:
            data: (N,) bytes.
            begins: (T,) where they begin.
            sizes: (T,) their lengths.
        """
        ends = np.cumsum(sizes)
        cut = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        copy_pieces(read_only(data), begins, sizes, cut, ends - sizes)
        return cls(cut, sizes)

    @classmethod
    def joined(cls, parts: Sequence['Raws']) -> 'Raws':
        """All messages of some parts."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, np.uint8), np.zeros(0, np.intp)
        data, sizes = zip(none, *((part.data, part.sizes) for part in parts), strict=True)
        return cls(np.concatenate(data), np.concatenate(sizes))

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, which: int) -> bytes: ...
    @overload
    def __getitem__(self, which: slice) -> 'Raws': ...
    def __getitem__(self, which: int | slice) -> 'bytes | Raws':
        if not isinstance(which, slice):
            begin = self.begins[which]
            return self.data[begin : begin + self.sizes[which]].tobytes()
        first, stop, step = which.indices(len(self))
        if step != 1:
            return self.take(np.arange(first, stop, step))
        edges = np.append(self.begins, self.data.size)
        return Raws(self.data[edges[first] : edges[max(first, stop)]], self.sizes[which])

    def __iter__(self) -> Iterator[bytes]:
        data, ends = self.data.tobytes(), self.begins + self.sizes
        return (data[a:b] for a, b in zip(self.begins.tolist(), ends.tolist(), strict=True))

    def take(self, places: Indices) -> 'Raws':
        """Those at the places (K,), in this order."""
        return Raws.cut(self.data, self.begins[places], self.sizes[places])


def read_only(data: Bytes) -> Bytes:
    """A view that cannot be written to."""
    view: Bytes = data.view()
    view.flags.writeable = False
    return view


@kernel
def copy_pieces(
    source: Bytes, begins: Indices, sizes: Indices, target: Bytes, places: Indices
) -> None:
    """Copy pieces of bytes.

    Args:
        source: (N,) bytes, read-only.
        begins: (T,) where the pieces begin there.
        sizes: (T,) their lengths.
        target: (M,) bytes, written to.
        places: (T,) where the pieces begin there.
    """
    for k in range(len(sizes)):
        piece = source[begins[k] : begins[k] + sizes[k]]
        copy = target[places[k] : places[k] + sizes[k]]
        for i in range(len(copy)):  # eight times as fast as with the offsets in here
            copy[i] = piece[i]
