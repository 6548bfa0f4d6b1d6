"""Reading a rosbag2 in spans of time, without ROS and within constant memory.

Usage::

    with BagReader('walk') as bag:
        for batch in bag.batches(['/joint_states', '/imu'], span_s=5.0):
            imu = imu_batch(batch['/imu'])           # see bags.messages
        if bag.damage:
            print(bag.damage)

Any rosbag2 from Foxy to Lyrical is read: a folder or a single file, mcap or sqlite3, compressed
or not, with or without metadata.yaml. What is damaged is read as far as it goes; `damage` says
how far. Every failure is a `BagError` that says what, where and what would help.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from izmp_dynamics.bags.bag_files import find_files, open_storage
from izmp_dynamics.bags.batch import Batch, Message, RawMessages, Topic
from izmp_dynamics.bags.cdr_decoder import CdrDecoder
from izmp_dynamics.bags.conversion import Converter
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.bags.storage import FOREVER, ZSTD, Block, Channel, Expansion, Scratch, Storage
from izmp_dynamics.bags.typestores import choose_types, standard_types
from izmp_dynamics.base.conventions import NANOSECONDS, Stamps
from izmp_dynamics.base.errors import BagError, UnknownNameError
from izmp_dynamics.files.libraries import zstandard

Part = tuple[Stamps, Raws]
"""Receive stamps (T,) [ns] and as many serialized messages."""

Parts = dict[str, Part]
"""Parts by topic."""

_SENTENCES = 5
"""Damages that are listed; further ones are counted."""


class BagReader:
    """An open bag; use it as a context manager.

    Attributes:
        path: as given.
        storage: 'mcap' or 'sqlite3'.
        start: first receive stamp [ns]; None when the bag holds no message.
        end: last receive stamp [ns]; None likewise.
        custom_data: marks in the metadata.
        distro: ROS distribution of the recorder; '' when unknown.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Open the bag at `path`, a folder or a file.

        Raises:
            BagError: there is no bag or none of it can be read.
            MissingDependencyError: a library is missing.
        """
        self.path = Path(path)
        standard_types()  # say at once if rosbags is missing
        self._files = find_files(self.path)
        self._decoders: dict[str, CdrDecoder] = {}
        self._converters: dict[str, Converter] = {}
        self._scratch = Scratch()
        self._storages: list[Storage] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> 'BagReader':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files."""
        for storage in self._storages:
            storage.close()
        self._scratch.remove()

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """Topics by name; counting them reads a database without metadata once."""
        counts = self._counts()
        return {
            name: Topic(name, channel.msgtype, counts[name, channel.msgtype])
            for name, channel in sorted(self._channels.items())
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Anomalies of the bag, a sentence each."""
        return (*self._files.notes, *(note for s in self._storages for note in s.notes))

    @property
    def damage(self) -> str | None:
        """What could not be read, as far as is known by now; None when nothing is known.

        Some damage shows only while messages are read: ask again afterwards.
        """
        found = [*self._files.damages, *(d for s in self._storages for d in s.damages)]
        more = len(found) - _SENTENCES
        if more > 0:
            found = [*found[:_SENTENCES], f'{more} more places are damaged.']
        return ' '.join(found) or None

    def decoder(self, topic: str) -> CdrDecoder:
        """The decoder for a topic.

        Raises:
            UnknownNameError: there is no such topic.
            BagError: its messages cannot be read (encoding, unknown or contradictory type).
        """
        if topic in self._decoders:
            return self._decoders[topic]
        channel = self._channel(topic)
        hashes = self._files.metadata.type_hashes if self._files.metadata else {}
        recorded = channel.type_hash or hashes.get((topic, channel.msgtype), '')
        try:
            if channel.encoding != 'cdr':
                begin = None if channel.definition else next(self._spans([topic], 1.0), None)
                first = begin[2][topic][1][0] if begin else b''
                self._converters[topic] = Converter(channel, first)
                channel = self._converters[topic].channel
            typestore = choose_types(channel, recorded, self._note)
        except BagError as error:
            what = f"Topic '{topic}' of the bag '{self.path}': {error}"
            raise BagError(what, kind=error.kind, topic=topic, **error.data) from error
        self._decoders[topic] = CdrDecoder(typestore, channel.msgtype)
        return self._decoders[topic]

    def batches(self, topics: Sequence[str], span_s: float = 5.0) -> Iterator[Batch]:
        """Go through the recording in spans of receive time.

        Spans in which nothing was received are passed over. Inside a span, each topic is in the
        order of its receive stamps. (In a damaged sqlite3 file, a message may come later.)

        Args:
            topics: names of the wanted topics.
            span_s: length of a span [s].

        Raises:
            UnknownNameError: there is no such topic.
            BagError: a topic cannot be read.
        """
        decoders = {topic: self.decoder(topic) for topic in topics}

        def batch(span: tuple[int, int, Parts]) -> Batch:
            start, end, parts = span
            found = {}
            for topic, decoder in decoders.items():
                received, raws = parts.get(topic, (np.zeros(0, np.int64), Raws.of([])))
                found[topic] = RawMessages(topic, decoder.msgtype, received, raws, decoder)
            return Batch(start, end, found)

        return map(batch, self._spans(topics, span_s))  # keeps no batch while the next is read

    def messages(self, topics: Sequence[str] | None = None) -> Iterator[Message]:
        """One message after the other, in the order of their receive stamps.

        Args:
            topics: names of the wanted topics; None for all.

        Raises:
            UnknownNameError: there is no such topic.
            BagError: its messages are not in CDR and cannot be converted.
        """
        wanted = tuple(self._channels) if topics is None else tuple(topics)
        types = {topic: self._channel(topic).msgtype for topic in wanted}
        for topic in wanted if topics is not None else ():
            if self._channel(topic).encoding != 'cdr':
                self.decoder(topic)  # which converts its messages
        spans = self._spans(wanted, 1.0)
        return (message for _, _, parts in spans for message in _in_order(parts, types))

    def _spans(self, topics: Sequence[str], span_s: float) -> Iterator[tuple[int, int, Parts]]:
        wanted = {topic: self._channel(topic).msgtype for topic in topics}
        sources = []
        for storage in self._storages:
            channels = storage.channels.items()
            own = {n: c.topic for n, c in channels if wanted.get(c.topic) == c.msgtype}
            sources.append((storage, own))
        spans = Merger(sources).spans(max(1, round(span_s * NANOSECONDS)))
        return map(self._convert, spans) if self._converters else spans

    def _convert(self, span: tuple[int, int, Parts]) -> tuple[int, int, Parts]:
        for topic, (received, raws) in span[2].items():
            if topic in self._converters:
                span[2][topic] = received, self._converters[topic](raws)
        return span

    def _open(self) -> None:
        for path in self._files.paths:
            try:
                self._storages.append(open_storage(path, self._scratch))
            except BagError as error:
                if len(self._files.paths) == 1:
                    raise
                self._files.damages.append(str(error))
        if not self._storages:
            what = f"No file of the bag '{self.path}' can be read. {self.damage}"
            raise BagError(what, kind='unreadable', path=self.path)
        metadata = self._files.metadata
        self.storage = self._storages[0].kind
        self.start = min((s.start for s in self._storages if s.start is not None), default=None)
        self.end = max((s.end for s in self._storages if s.end is not None), default=None)
        self.custom_data = dict(metadata.custom_data) if metadata else {}
        self.distro = metadata.distro if metadata else ''
        self._channels: dict[str, Channel] = {}  # over all files
        for channel in (c for s in self._storages for c in s.channels.values()):
            first = self._channels.setdefault(channel.topic, channel)
            if first.msgtype != channel.msgtype:
                self._note(
                    f"Topic '{channel.topic}' was recorded with two types; those of type "
                    f'{channel.msgtype} are left out.'
                )

    def _counts(self) -> Counter[tuple[str, str]]:
        metadata = self._files.metadata
        keys = {(channel.topic, channel.msgtype) for channel in self._channels.values()}
        uncounted = any(storage.counts is None for storage in self._storages)
        if metadata and uncounted and keys <= metadata.counts.keys():
            return Counter(metadata.counts)
        counts: Counter[tuple[str, str]] = Counter()
        for storage in self._storages:
            found = storage.count()
            for number, channel in storage.channels.items():
                counts[channel.topic, channel.msgtype] += found.get(number, 0)
        return counts

    def _channel(self, topic: str) -> Channel:
        if topic not in self._channels:
            where = f"in the bag '{self.path}'"
            raise UnknownNameError('topic', topic, sorted(self._channels), where)
        return self._channels[topic]

    def _note(self, sentence: str) -> None:
        if sentence not in self._files.notes:
            self._files.notes.append(sentence)


def _in_order(parts: Parts, types: Mapping[str, str]) -> Iterator[Message]:
    received = np.concatenate([stamps for stamps, _ in parts.values()])
    flat = [(topic, raw) for topic, (_, raws) in parts.items() for raw in raws]
    for place in np.argsort(received, kind='stable'):
        topic, raw = flat[place]
        yield Message(topic, types[topic], int(received[place]), raw)


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
        while True:
            first = min((pending.first for pending in self._pending.values()), default=FOREVER)
            if self._horizon() >= first:
                return first
            self._pull()

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
