"""What a bag hands out: topics, and the raw messages of a span of time."""

from collections.abc import Mapping
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
