"""What the two containers of rosbag2, mcap and sqlite3, have in common for a reader."""

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.base.conventions import NANOSECONDS, Stamps
from izmp_dynamics.base.errors import BagError

FOREVER = 2**62
"""Later than every stamp that is believed [ns] (the year 2116)."""

ZSTD = b'\x28\xb5\x2f\xfd'
"""How a zstd frame begins."""

RATIO = 200
"""Larger than any recording of sensors compresses by."""

ALLOWANCE = 2**28
"""Decompressed bytes that are allowed whatever the ratio is."""


@dataclass(frozen=True)
class Channel:
    """A topic as one container declares it.

    Attributes:
        topic: its name.
        msgtype: ROS type, e.g. 'sensor_msgs/msg/Imu'.
        encoding: how messages are serialized: 'cdr', or what `conversion` knows.
        definition: text that defines the type; '' where the container has none.
        definition_encoding: 'ros2msg' or 'ros2idl'.
        type_hash: recorded hash of the type; '' where the container has none.
        schema: name of the type where messages are not in CDR.
    """

    topic: str
    msgtype: str
    encoding: str = 'cdr'
    definition: str = ''
    definition_encoding: str = 'ros2msg'
    type_hash: str = ''
    schema: str = ''


@dataclass(frozen=True)
class Block:
    """A part of a container that fits into memory.

    Attributes:
        messages: channel id → receive stamps (T,) [ns] and as many serialized messages.
        horizon: no later block holds a message received before this [ns] (a damaged container
            may break this promise).
    """

    messages: Mapping[int, tuple[Stamps, Raws]]
    horizon: int


class Storage:
    """An open container.

    Attributes:
        path: the file.
        kind: 'mcap' or 'sqlite3'.
        channels: channel id → what is recorded there.
        counts: channel id → number of messages; None when counting would cost a full reading.
        start: first receive stamp [ns]; None when there is no message.
        end: last receive stamp [ns].
        damages: one sentence for everything that could not be read; grows while reading.
        notes: one sentence for every other anomaly.
    """

    kind = ''

    def __init__(self, path: Path) -> None:
        self.path = path
        self.channels: dict[int, Channel] = {}
        self.counts: dict[int, int] | None = None
        self.start: int | None = None
        self.end: int | None = None
        self.damages: list[str] = []
        self.notes: list[str] = []

    def blocks(self, wanted: Collection[int]) -> Iterator[Block]:
        """The messages of the channels `wanted`, roughly in the order in which they came."""
        raise NotImplementedError

    def count(self) -> dict[int, int]:
        """Number of messages by channel id, even if that takes a full reading."""
        return self.counts or {}

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def damage(self, what: str) -> None:
        """Add a sentence about the file to `damages`, once."""
        sentence = f"'{self.path.name}' {what}"
        if sentence not in self.damages:
            self.damages.append(sentence)

    def after(self, stamp: int) -> str:
        """A stamp as text: '12.345 s after the start'."""
        elapsed = (stamp - (stamp if self.start is None else self.start)) / NANOSECONDS
        return f'{elapsed:.3f} s after the start'

    def read_up_to(self, last: int | None) -> str:
        """How far a damaged container could be read, as the end of a sentence."""
        if last is None:
            return 'no message could be read.'
        return f'it is read up to {self.after(last)}.'


class Expansion:
    """Counts the bytes of one file before and after decompression."""

    def __init__(self) -> None:
        self.packed = 0
        self.unpacked = 0

    def room(self, packed: int) -> int:
        """Bytes that `packed` further bytes may be decompressed to."""
        return max(0, max(ALLOWANCE, RATIO * (self.packed + packed)) - self.unpacked)

    def add(self, packed: int, unpacked: int) -> None:
        """Count what is decompressed, or is about to be.

        Raises:
            BagError: it is more than is allowed; it is not counted then.
        """
        if unpacked > self.room(packed):
            what = f'it expands to more than {RATIO} times its size'
            raise BagError(what, kind='decompression_bomb', packed=packed, unpacked=unpacked)
        self.packed += packed
        self.unpacked += unpacked


class Scratch:
    """The folder lies in TMPDIR."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def write(self, name: str, pieces: Iterator[bytes]) -> Path:
        """Write a file into the folder; return its path.

        Raises:
            BagError: the folder cannot be made, is full or cannot be written to.
        """
        with _writing(Path(os.environ.get('TMPDIR', '/tmp'))):
            parent = Path(tempfile.gettempdir())
        with _writing(parent):
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(
                    prefix='izmp_bag_', dir=parent, ignore_cleanup_errors=True
                )
            target = Path(self._folder.name) / name
            stream = target.open('wb')
        with stream:
            for piece in pieces:
                with _writing(parent):
                    stream.write(piece)
                    stream.flush()
        return target

    def remove(self) -> None:
        """Remove the folder with its contents."""
        if self._folder:
            self._folder.cleanup()
            self._folder = None


@contextmanager
def _writing(parent: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BagError(
            f"The temporary folder '{parent}' cannot be written to: {error.strerror or error}. "
            'Let TMPDIR name a folder with more space.',
            kind='temporary_folder', path=parent, errno=error.errno,
        ) from error  # fmt: skip
