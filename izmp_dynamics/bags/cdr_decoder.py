"""All messages of a topic to arrays, whatever layouts they come in.

A `CdrDecoder` belongs to one topic and remembers the layouts it has met, so a batch of equal
messages costs one comparison. Messages of other layouts (a second publisher on the topic, another
frame, big-endian) form further groups; a message that fits no layout at all is counted::

    decoded = decoder.decode(raws)
    for group in decoded.groups:
        group.layout.strings['header.frame_id'], group['header.stamp'], group.index
    decoded.column('header.stamp')               # all groups together, in the order of `raws`
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from izmp_dynamics.bags.cdr_layout import CdrFields, CdrLayout, Raw
from izmp_dynamics.errors import BagError

Index = npt.NDArray[np.intp]

_KNOWN = 32
"""Layouts remembered; a topic that changes more often than this is read message by message."""


@dataclass(frozen=True)
class Group:
    """Messages of one layout.

    Attributes:
        layout: theirs; its `strings` hold for all of them.
        index: (N,) their places among the raw messages, ascending.
        fields: their numbers.
    """

    layout: CdrLayout
    index: Index
    fields: CdrFields

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, path: str) -> npt.NDArray[Any]:
        """(N, …) numbers of `path`."""
        return self.fields[path]


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
    broken: int
    fault: str | None

    def column(self, path: str) -> npt.NDArray[Any]:
        """(T, …) numbers of `path`, in the order of the raw messages.

        Raises:
            UnknownNameError: a group has no such path.
            BagError: the path has another shape in another group.
        """
        parts = [group[path] for group in self.groups]
        if len(parts) == 1:
            return parts[0]
        if len({part.shape[1:] for part in parts}) > 1:
            raise BagError(f'{path} changes its length between messages.')
        merged = np.concatenate(parts) if parts else np.zeros(0)
        return merged[self.order()]

    def order(self) -> Index:
        """(T,) where the messages of `index` lie when the groups are put end to end."""
        places = [group.index for group in self.groups]
        return np.argsort(np.concatenate(places)) if places else np.zeros(0, np.intp)

    def texts(self, path: str) -> tuple[str, ...]:
        """The different texts that `path` has, sorted."""
        return tuple(sorted({str(group.layout.strings[path]) for group in self.groups}))


class CdrDecoder:
    """Reads the messages of one topic.

    Attributes:
        typestore: rosbags typestore.
        msgtype: ROS type of the messages.
    """

    def __init__(self, typestore: Any, msgtype: str) -> None:
        self.typestore = typestore
        self.msgtype = msgtype
        self._layouts: list[CdrLayout] = []

    def decode(self, raws: Sequence[Raw]) -> Decoded:
        """Read messages; the order of groups is the order in which their layouts were met."""
        self._remaining = np.arange(len(raws))
        self._fault: str | None = None
        self._broken = 0
        sizes = np.fromiter(map(len, raws), np.intp, len(raws))
        groups = [*self._by_known_layouts(raws, sizes), *self._by_new_layouts(raws, sizes)]
        index = np.sort(np.concatenate([g.index for g in groups])) if groups else self._remaining
        return Decoded(tuple(groups), index, self._broken, self._fault)

    def _by_known_layouts(self, raws: Sequence[Raw], sizes: Index) -> Iterator[Group]:
        for layout in self._layouts:
            if self._remaining.size:
                yield from self._matching(layout, raws, sizes)

    def _by_new_layouts(self, raws: Sequence[Raw], sizes: Index) -> Iterator[Group]:
        while self._remaining.size:
            first = self._remaining[0]
            try:
                layout = CdrLayout(self.typestore, self.msgtype, raws[first])
            except BagError as error:
                self._broken += 1
                self._fault = self._fault or str(error)
                self._remaining = self._remaining[1:]
                continue
            if len(self._layouts) < _KNOWN:
                self._layouts.append(layout)
                yield from self._matching(layout, raws, sizes)
            else:
                yield Group(layout, self._remaining[:1], layout.fields(layout.rows([raws[first]])))
                self._remaining = self._remaining[1:]

    def _matching(self, layout: CdrLayout, raws: Sequence[Raw], sizes: Index) -> Iterator[Group]:
        """Take the remaining messages that have this layout."""
        fitting = sizes[self._remaining] == layout.size
        if not fitting.any():
            return
        index = self._remaining[fitting]
        every = len(index) == len(raws)
        rows = layout.rows(raws if every else [raws[i] for i in index])
        equal = layout.matches(rows)
        if not equal.all():
            index, rows = index[equal], rows[equal]
            fitting[fitting] = equal
        self._remaining = self._remaining[~fitting]
        if index.size:
            yield Group(layout, index, layout.fields(rows))
