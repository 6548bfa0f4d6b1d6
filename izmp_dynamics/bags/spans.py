"""Merges the blocks of several containers into successive spans of receive time."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from izmp_dynamics.bags.libraries import zstandard
from izmp_dynamics.bags.storage import FOREVER, ZSTD, Block, Storage
from izmp_dynamics.conventions import Stamps

Part = tuple[Stamps, list[bytes]]
"""Receive stamps (T,) [ns] and as many serialized messages."""

Parts = dict[str, Part]
"""Parts by topic."""

_LARGEST = 2**28
"""Largest message that is decompressed [bytes]."""


class _Source:
    """One container being read; `horizon` is the earliest stamp that may still come."""

    def __init__(self, storage: Storage, topics: Mapping[int, str]) -> None:
        self._blocks: Iterator[Block] = storage.blocks(topics.keys()) if topics else iter(())
        self._topics = topics
        self.horizon = FOREVER if storage.start is None or not topics else storage.start

    def pull(self) -> Iterator[tuple[str, Part]]:
        """Read the next block."""
        block = next(self._blocks, None)
        self.horizon = FOREVER if block is None else block.horizon
        for channel, (stamps, raws) in block.messages.items() if block else ():
            yield self._topics[channel], (stamps, _unpacked(raws))


class Merger:
    """Reads no further ahead than a span needs."""

    def __init__(self, sources: Sequence[tuple[Storage, Mapping[int, str]]]) -> None:
        """Take containers, each with its wanted channels and the topics that they belong to."""
        self._sources = [_Source(storage, topics) for storage, topics in sources]
        self._pending: dict[str, list[Part]] = {}

    def spans(self, span: int) -> Iterator[tuple[int, int, Parts]]:
        """Start, end [ns] and the messages by topic, for every span that has any.

        Args:
            span: length [ns].
        """
        end = None
        while (first := self._first()) is not None:
            end = first + span if end is None or first >= end + span else end + span
            while self._horizon() < end:
                self._pull()
            yield end - span, end, self._take(end)

    def _first(self) -> int | None:
        """The earliest stamp that was not taken yet; None at the end."""
        while not self._pending and self._horizon() < FOREVER:
            self._pull()
        starts = [int(s.min()) for parts in self._pending.values() for s, _ in parts]
        first = min(starts, default=None)
        while first is not None and self._horizon() < first:
            self._pull()
            starts = [int(s.min()) for parts in self._pending.values() for s, _ in parts]
            first = min(starts)
        return first

    def _horizon(self) -> int:
        return min((source.horizon for source in self._sources), default=FOREVER)

    def _pull(self) -> None:
        source = min(self._sources, key=lambda s: s.horizon)
        for topic, part in source.pull():
            self._pending.setdefault(topic, []).append(part)

    def _take(self, end: int) -> Parts:
        """Take the messages received before `end` out of the pending ones."""
        taken = {}
        for topic, parts in list(self._pending.items()):
            stamps, raws = _sorted(parts)
            count = int(np.searchsorted(stamps, end))
            if count:
                taken[topic] = (stamps[:count], raws[:count])
            if count < len(raws):
                self._pending[topic] = [(stamps[count:], raws[count:])]
            else:
                del self._pending[topic]
        return taken


def _sorted(parts: list[Part]) -> Part:
    """Join parts in the order of their stamps; equal stamps stay in the order of the file."""
    stamps = np.concatenate([stamps for stamps, _ in parts])
    raws = [raw for _, part in parts for raw in part]
    if (np.diff(stamps) < 0).any():
        order = np.argsort(stamps, kind='stable')
        stamps, raws = stamps[order], [raws[i] for i in order]
    return stamps, raws


def _unpacked(raws: list[bytes]) -> list[bytes]:
    """Decompress messages that were compressed one by one (compression mode 'message').

    No message in CDR begins like a zstd frame. A broken one stays as it is: it cannot be decoded.
    """
    if not raws[0].startswith(ZSTD):
        return raws
    codec = zstandard()
    unpacked = []
    for raw in raws:
        try:
            unpacked.append(codec.ZstdDecompressor().decompress(raw, max_length=_LARGEST))
        except codec.ZstdError:
            unpacked.append(raw)
    return unpacked
