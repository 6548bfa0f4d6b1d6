"""All messages of a topic to arrays, whatever layouts they come in.

A `CdrDecoder` belongs to one topic and remembers the layouts it has met, so a batch of equal
messages costs one comparison. Messages of other layouts (a second publisher on the topic, another
frame, big-endian) form further groups; a message that fits no layout at all is counted::

    decoded = decoder.decode(raws)
    for group in decoded.groups:
        group.layout.strings['header.frame_id'], group['header.stamp'], group.index
    decoded.column('header.stamp')               # all groups together, in the order of `raws`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.cdr_layout import CdrFields, CdrLayout
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.base.errors import BagError

Index = npt.NDArray[np.intp]

_REMEMBERED = 32
"""Layouts that are tried first in the next batch, those met last before the others."""

_TRIED = 16
"""New layouts that are compared with all messages of a batch; further ones serve one message."""

_WALKED, _WALKED_EACH = 2**20, 32
"""Values of new layouts that a topic may have, and further ones for every message: a robot's
messages have about ten, and their layout hardly ever changes."""


@dataclass(frozen=True)
class Group(CdrFields):
    """Messages of one layout, whose `strings` hold for all of them.

    Attributes:
        index: (N,) their places among the raw messages, ascending.
    """

    index: Index


@dataclass(frozen=True)
class Decoded:
    """What raw messages say.

    Attributes:
        groups: the readable messages by layout.
        index: (T,) places of the readable messages among the raw ones, ascending.
        broken: how many were not readable.
        fault: why the first of them was not; None when all were.
    """

    groups: tuple[Group, ...]
    index: Index
    broken: int = 0
    fault: str | None = None

    @classmethod
    def of(cls, groups: Sequence[Group], broken: int, fault: str | None) -> 'Decoded':
        """Groups and the places that follow from them."""
        places = [np.zeros(0, np.intp), *(group.index for group in groups)]
        return cls(tuple(groups), np.sort(np.concatenate(places)), broken, fault)

    def column(self, path: str) -> npt.NDArray[Any]:
        """(T, …) numbers of `path`, in the order of the raw messages; (0,) without messages.

        Raises:
            UnknownNameError: a group has no such path.
            BagError: the path has another shape in another group.
        """
        return self.merged([group[path] for group in self.groups], path)

    def merged(self, parts: Sequence[npt.NDArray[Any]], what: str) -> npt.NDArray[Any]:
        """Rows that belong to the groups, put into the order of the raw messages."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return np.zeros(0)
        if len({part.shape[1:] for part in parts}) > 1:
            raise BagError(
                f'{what} changes its length between messages.', kind='length_changes', field=what
            )
        order = np.argsort(np.concatenate([group.index for group in self.groups]))
        joined: npt.NDArray[Any] = np.concatenate(parts)[order]
        return joined

    def texts(self, path: str) -> tuple[str, ...]:
        """The different texts that `path` has, sorted."""
        return tuple(sorted({str(group.layout.strings[path]) for group in self.groups}))


class CdrDecoder:
    """Reads the messages of one topic."""

    def __init__(self, typestore: Any, msgtype: str) -> None:
        self.typestore = typestore
        self.msgtype = msgtype
        self._layouts: list[CdrLayout] = []
        self._allowance = _WALKED

    def decode(self, raws: Sequence[bytes]) -> Decoded:
        """Sort messages by layout."""
        raws = Raws.of(raws)
        sorting = _Sorting(raws)
        self._allowance += _WALKED_EACH * len(raws)
        for layout in self._layouts:
            sorting.take(layout)
        broken, fault, tried = 0, None, 0
        while sorting.remaining.size:
            if self._allowance <= 0:
                broken, fault = broken + sorting.remaining.size, fault or self._too_different
                break
            try:
                layout = CdrLayout(self.typestore, self.msgtype, raws[sorting.remaining[0]])
            except BagError as error:
                broken, fault = broken + 1, fault or str(error)
                sorting.remaining = sorting.remaining[1:]
                visited = error.data.get('visited')
                self._allowance -= visited if isinstance(visited, int) else 0
            else:
                self._allowance -= layout.visited
                if tried < _TRIED:
                    sorting.take(layout)
                else:
                    sorting.take_first(layout)
                tried += 1
        met = [group.layout for group in sorting.groups]
        others = [layout for layout in self._layouts if layout not in met]
        self._layouts = [*met, *others][:_REMEMBERED]
        return Decoded.of(sorting.groups, broken, fault)

    @property
    def _too_different(self) -> str:
        return (
            f'Messages of type {self.msgtype} are left out: the lengths in them differ from '
            'message to message, and together they have too many values.'
        )


class _Sorting:
    """Messages being sorted; `remaining` are the places of those without a group."""

    def __init__(self, raws: Raws) -> None:
        self.groups: list[Group] = []
        self.remaining = np.arange(len(raws))
        self._raws = raws

    def take_first(self, layout: CdrLayout) -> None:
        """Make a group of the first remaining message alone, which has this layout."""
        index, self.remaining = self.remaining[:1], self.remaining[1:]
        self.groups.append(Group(layout, layout.rows(self._raws.take(index)), index))

    def take(self, layout: CdrLayout) -> None:
        """Make a group of the remaining messages with this layout."""
        index = self.remaining[self._raws.sizes[self.remaining] == layout.size]
        if not index.size:
            return
        every = len(index) == len(self._raws)
        rows = layout.rows(self._raws if every else self._raws.take(index))
        equal = layout.matches(rows)
        if not equal.all():
            index, rows = index[equal], rows[equal]
        if index.size:
            self.groups.append(Group(layout, rows, index))
            self.remaining = np.setdiff1d(self.remaining, index, assume_unique=True)
