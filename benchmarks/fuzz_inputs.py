"""What the fuzz campaign spoils: a short recording in every form, a robot file and a URDF."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from izmp_dynamics.bags.batch import Message
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.bags.typestores import standard_types
from izmp_dynamics.base.conventions import NANOSECONDS

ROBOT = Path(__file__).parents[1] / 'robots/biped31'
_EXAMPLE = Path(__file__).parents[1] / 'config/robot_example.yaml'
FROM, LENGTH = 1.0, 0.8
"""What is taken of the recorded sway [s]."""

TYPES = standard_types()
Files = dict[str, bytes]

FORMS = {
    'mcap': ('mcap', 'NONE'),
    'mcap, file in zstd': ('mcap', 'FILE'),
    'sqlite3': ('sqlite3', 'NONE'),
    'sqlite3, messages in zstd': ('sqlite3', 'MESSAGE'),
}
"""Form of a bag → storage and compression, as rosbags writes it."""

BARE_FORMS = {
    'mcap without chunks': {'use_chunking': False},
    'mcap with small chunks': {'chunk_size': 20_000, 'compression': CompressionType.NONE},
    'mcap, chunks in zstd': {'chunk_size': 100_000, 'compression': CompressionType.ZSTD},
    'mcap, chunks in lz4': {'chunk_size': 100_000, 'compression': CompressionType.LZ4},
}
"""Form of an mcap file without metadata.yaml → options of the writer of the library mcap."""


@dataclass(frozen=True)
class Inputs:
    """Sound inputs.

    Attributes:
        messages: of the recording, in the order of their arrival.
        bags: form → file name → content.
        robot: robot file; it names the URDF `robot.urdf`.
        full_robot: one that states nearly every key.
        urdf: the URDF.
        result: of a replay of the sound recording, file name → content; filled when it is known.
    """

    messages: tuple[Message, ...]
    bags: Mapping[str, Files]
    robot: bytes
    full_robot: bytes
    urdf: bytes
    result: Files = field(default_factory=dict)

    @classmethod
    def of_recording(cls, bag: Path, scratch: Path) -> 'Inputs':
        """Take what a replay reads of a recording of biped31, and write it in every form."""
        messages = tuple(_excerpt(bag))
        bags = {form: write(messages, scratch / form, form) for form in (*FORMS, *BARE_FORMS)}
        robot = (ROBOT / 'robot.yaml').read_bytes().replace(b'biped31.urdf', b'robot.urdf')
        urdf = (ROBOT / 'biped31.urdf').read_bytes()
        return cls(messages, bags, robot, _full_robot(), urdf)


def write(messages: Iterable[Message], folder: Path, form: str) -> Files:
    """Write messages as a bag; return its files."""
    if form in BARE_FORMS:
        folder.mkdir()
        _write_bare(messages, folder / 'bag.mcap', BARE_FORMS[form])
    else:
        _write_rosbag2(messages, folder, *FORMS[form])
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _full_robot() -> bytes:
    """The example of a robot file with the keys that are commented out."""
    text = re.sub(r'^( *)#(\w+: .*)', r'\1\2', _EXAMPLE.read_text('utf-8'), flags=re.MULTILINE)
    robot = yaml.safe_load(text) | {'urdf': 'robot.urdf'}
    for key in ('frame', 'topic'):
        del robot['ground'][key]
    for foot in robot['feet']:
        foot.pop('imu', None)
    return yaml.safe_dump(robot, sort_keys=False).encode()


def _excerpt(bag: Path) -> Iterator[Message]:
    """Messages that do not come from the simulation's knowledge of the truth."""
    with BagReader(bag) as reader:
        topics = [topic for topic in reader.topics if 'truth' not in topic and 'tf' not in topic]
        start = None
        for message in reader.messages(topics):
            start = start or message.received + round(FROM * NANOSECONDS)
            if start <= message.received < start + round(LENGTH * NANOSECONDS):
                yield message


def _write_rosbag2(messages: Iterable[Message], folder: Path, storage: str, mode: str) -> None:
    writer = Writer(folder, version=8, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for message in messages:
            if message.topic not in connections:
                connections[message.topic] = writer.add_connection(
                    message.topic, message.msgtype, typestore=TYPES
                )
            writer.write(connections[message.topic], message.received, message.raw)


def _write_bare(messages: Iterable[Message], path: Path, options: Mapping[str, object]) -> None:
    with path.open('wb') as file:
        writer = McapWriter(file, **options)
        writer.start('ros2', 'fuzz')
        channels = {}
        for message in messages:
            if message.topic not in channels:
                definition, _ = TYPES.generate_msgdef(message.msgtype, ros_version=2)
                schema = writer.register_schema(message.msgtype, 'ros2msg', definition.encode())
                channels[message.topic] = writer.register_channel(message.topic, 'cdr', schema)
            writer.add_message(
                channels[message.topic], message.received, message.raw, message.received
            )
        writer.finish()
