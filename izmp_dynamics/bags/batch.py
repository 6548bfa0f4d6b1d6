"""What a bag hands out: topics, and the raw messages of a span of time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from izmp_dynamics.bags.cdr_decoder import CdrDecoder, Decoded
from izmp_dynamics.bags.raws import Raws
from izmp_dynamics.base.conventions import Stamps


@dataclass(frozen=True)
class Topic:
    """A topic of a bag.

    Attributes:
        name: as recorded.
        msgtype: ROS type, e.g. 'sensor_msgs/msg/Imu'.
        count: number of messages.
    """

    name: str
    msgtype: str
    count: int


@dataclass(frozen=True)
class Message:
    """One serialized message: topic, ROS type, receive stamp [ns], bytes."""

    topic: str
    msgtype: str
    received: int
    raw: bytes


@dataclass(frozen=True)
class RawMessages:
    """Serialized messages of one topic in a span of time.

    Attributes:
        topic: its name.
        msgtype: ROS type.
        received: (T,) receive stamps [ns], ascending.
        raws: T serialized messages.
        decoder: reads them; it belongs to the topic and learns its layouts.
    """

    topic: str
    msgtype: str
    received: Stamps
    raws: Raws
    decoder: CdrDecoder

    def __len__(self) -> int:
        return len(self.raws)

    def decode(self) -> Decoded:
        """Read the messages; `bags.messages` has a function for every kind of signal."""
        return self.decoder.decode(self.raws)


@dataclass(frozen=True)
class Batch:
    """All messages of the wanted topics that were received in [start, end).

    Attributes:
        start: [ns].
        end: [ns].
        topics: name → messages, one entry for every wanted topic, maybe empty.
    """

    start: int
    end: int
    topics: Mapping[str, RawMessages]

    def __getitem__(self, topic: str) -> RawMessages:
        return self.topics[topic]


def resolve_topic(wanted: str, topics: Iterable[str]) -> str | None:
    """Find a topic by the name in the robot file, in whatever namespace it was recorded.

    Args:
        wanted: name in the robot file, with or without a slash in front.
        topics: recorded names.

    Returns:
        The topic of exactly that name, else the only one that ends in it, else None.
    """
    if f'/{wanted.lstrip("/")}' in topics:
        return f'/{wanted.lstrip("/")}'
    ending = topics_ending_in(wanted, topics)
    return ending[0] if len(ending) == 1 else None


def topics_ending_in(wanted: str, topics: Iterable[str]) -> list[str]:
    """The topics whose last parts are the wanted name."""
    return [topic for topic in topics if topic.endswith(f'/{wanted.lstrip("/")}')]
