"""An mcap file, whole or damaged, as a stream of blocks.

A whole file is read by the index in its summary. A file without a summary (recorder killed, copy
cut off) is walked record by record up to the place where the records stop making sense. Chunks
are decompressed one at a time and checked against their checksums.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

from izmp_dynamics.bags.expansion import Expansion
from izmp_dynamics.bags.mcap_index import Index, Run, index_of, read_run
from izmp_dynamics.bags.mcap_records import Schema
from izmp_dynamics.bags.storage import FOREVER, Block, Channel, after, read_up_to
from izmp_dynamics.bags.typestores import normalised
from izmp_dynamics.base.errors import BagError


class McapFile:
    """An open mcap file; see `storage.Storage` for the attributes."""

    kind = 'mcap'

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._expansion = Expansion()
        self._damaged_at: set[int] = set()
        self._stream = path.open('rb')
        try:
            index = index_of(self._stream, path.stat().st_size)
        except BaseException:
            self.close()
            raise
        self._runs = sorted(index.runs, key=lambda run: run.first)
        self.start = index.start
        self.end = index.end
        self.counts: dict[int, int] | None = dict(index.counts)
        self.channels = dict(_channels(index))
        self.damages = [f"'{path.name}' is damaged: {damage}." for damage in index.damages]
        if index.reached is not None:
            self.damages.append(self._incomplete(index.reached, index.cut))

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def count(self) -> dict[int, int]:
        """Number of messages by channel id."""
        return self.counts or {}

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """One block per chunk, in the order of their first stamps."""
        runs = [x for x in self._runs if x.channels is None or x.channels.intersection(wanted)]
        horizons = [*(run.first for run in runs[1:]), FOREVER]
        for run, horizon in zip(runs, horizons, strict=False):
            try:
                contents = read_run(self._stream, run, wanted, self._expansion)
            except (BagError, OSError) as error:
                self._damaged(run, error)
            else:
                yield Block(contents.messages, horizon)

    def _incomplete(self, reached: int, cut: bool) -> str:
        """The sentence for a file that ends too early, or makes no sense from a byte on."""
        read = read_up_to(self.start, self.end)
        if cut:
            return f"'{self.path.name}' is cut off: it ends at byte {reached}; {read}"
        size = self.path.stat().st_size
        return f"'{self.path.name}' is damaged at byte {reached} of {size}; {read}"

    def _damaged(self, run: Run, error: Exception) -> None:
        sentence = (
            f"'{self.path.name}' is damaged at byte {run.begin}: {error}; its messages from "
            f'{after(self.start, run.first)} to {after(self.start, run.last)} are left out.'
        )
        if run.begin not in self._damaged_at:
            self._damaged_at.add(run.begin)
            self.damages.append(sentence)


def _channels(index: Index) -> Iterator[tuple[int, Channel]]:
    """Join channels and schemas."""
    for number, record in index.channels.items():
        schema = index.schemas.get(record.schema, Schema('unknown', '', ''))
        encoding = 'ros2msg' if schema.encoding == 'ros2msg' else 'ros2idl'
        name = normalised(schema.name)
        yield number, Channel(record.topic, name, record.encoding, schema.definition, encoding)
