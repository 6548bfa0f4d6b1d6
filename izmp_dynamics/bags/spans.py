"""Merges the blocks of several containers into successive spans of receive time."""

import heapq
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import FOREVER, ZSTD, Block, Expansion, Storage
from izmp_dynamics.base.conventions import Stamps
from izmp_dynamics.base.errors import BagError
from izmp_dynamics.files.libraries import zstandard

Part = tuple[Stamps, Raws]
"""Receive stamps (T,) [ns] and as many serialized messages."""

Parts = dict[str, Part]
"""Parts by topic."""

_MOST_REFUSED = 10
"""Messages of a file that may expand too much before the rest of them is left out."""


class _Source:
    """One container being read; `horizon` is the earliest stamp that may still come."""

    def __init__(self, storage: Storage, topics: Mapping[int, str]) -> None:
        self._storage = storage
        self._blocks: Iterator[Block] = storage.blocks(topics.keys()) if topics else iter(())
        self._topics = topics
        self._expansion = Expansion()
        self._refused = 0
        self.horizon = FOREVER if storage.start is None or not topics else storage.start

    def pull(self) -> Iterator[tuple[str, Part]]:
        """Read the next block."""
        block = next(self._blocks, None)
        self.horizon = FOREVER if block is None else block.horizon
        for channel, (stamps, raws) in block.messages.items() if block else ():
            topic = self._topics[channel]
            if raws[0].startswith(ZSTD):
                raws = self._unpacked(topic, raws)
            yield topic, (stamps, raws)

    def _unpacked(self, topic: str, raws: Raws) -> Raws:
        """Decompress messages that were compressed one by one (compression mode 'message').

        No message in CDR begins like a zstd frame. A broken one stays as it is: it cannot be
        decoded.
        """
        codec = zstandard()
        name, damages, unpacked = self._storage.path.name, self._storage.damages, []
        for raw in raws:
            room, whole = self._expansion.room(len(raw)), raw
            try:
                if self._refused < _MOST_REFUSED:
                    whole = codec.ZstdDecompressor().decompress(raw, max_length=room + 1)
                    self._expansion.add(len(raw), len(whole))
            except codec.ZstdError:
                pass
            except BagError as error:
                whole, self._refused = raw, self._refused + 1
                sentence = f"A message of '{topic}' in '{name}' is left out: {error}."
                if self._refused == _MOST_REFUSED:
                    sentence = (
                        f"All further messages in '{name}' are left out: too many are like that."
                    )
                damages.extend({sentence}.difference(damages))
            unpacked.append(whole)
        return Raws.of(unpacked)


class _Pending:
    """Messages of one topic that were read and not taken: parts by their first stamp."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, int, Stamps, Raws]] = []
        self._count = 0

    @property
    def first(self) -> int:
        """The earliest stamp; FOREVER without messages."""
        return self._parts[0][0] if self._parts else FOREVER

    def add(self, part: Part) -> None:
        """Add messages in any order."""
        stamps, raws = _sorted([part])
        self._count += 1  # keeps the order of the file among equal stamps
        heapq.heappush(self._parts, (int(stamps[0]), self._count, 0, stamps, raws))

    def take(self, end: int) -> Part:
        """Take the messages received before `end`, of which there is at least one."""
        taken = []
        while self.first < end:
            _, number, start, stamps, raws = heapq.heappop(self._parts)
            stop = start + int(np.searchsorted(stamps[start:], end))
            taken.append((number, (stamps[start:stop], raws[start:stop])))
            if stop < len(raws):
                heapq.heappush(self._parts, (int(stamps[stop]), number, stop, stamps, raws))
        return _sorted([part for _, part in sorted(taken, key=lambda entry: entry[0])])


class Merger:
    """Reads no further ahead than a span needs."""

    def __init__(self, sources: Sequence[tuple[Storage, Mapping[int, str]]]) -> None:
        """Take containers, each with its wanted channels and the topics that they belong to."""
        self._sources = [_Source(storage, topics) for storage, topics in sources]
        self._pending: dict[str, _Pending] = {}

    def spans(self, span: int) -> Iterator[tuple[int, int, Parts]]:
        """Start, end [ns] and the messages by topic, for every span that has any.

        Args:
            span: length [ns].
        """
        end = None
        while (first := self._first()) < FOREVER:
            end = first + span if end is None or first >= end + span else end + span
            while self._horizon() < end:
                self._pull()
            topics = [topic for topic, pending in self._pending.items() if pending.first < end]
            yield end - span, end, {topic: self._pending[topic].take(end) for topic in topics}
            for topic in topics:
                if self._pending[topic].first == FOREVER:
                    del self._pending[topic]

    def _first(self) -> int:
        """The earliest stamp that was not taken yet; FOREVER at the end."""
        while self._horizon() < (first := self._earliest()):
            self._pull()
        return first

    def _earliest(self) -> int:
        return min((pending.first for pending in self._pending.values()), default=FOREVER)

    def _horizon(self) -> int:
        return min((source.horizon for source in self._sources), default=FOREVER)

    def _pull(self) -> None:
        source = min(self._sources, key=lambda s: s.horizon)
        for topic, part in source.pull():
            if len(part[1]):
                self._pending.setdefault(topic, _Pending()).add(part)


def _sorted(parts: list[Part]) -> Part:
    """Join parts by stamp; equal stamps stay in the order of the file."""
    stamps = np.concatenate([stamps for stamps, _ in parts])
    raws = Raws.joined([part for _, part in parts])
    if (np.diff(stamps) < 0).any():
        order = np.argsort(stamps, kind='stable')
        stamps, raws = stamps[order], raws.take(order)
    return stamps, raws
