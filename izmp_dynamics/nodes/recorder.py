"""Node recorder: whatever is published here → a rosbag2, without rosbag2."""

from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType, ROSClock
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.bags.qos import Qos
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.errors import IzmpError
from izmp_dynamics.nodes.bag_player import message_class
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import DEPTH
from izmp_dynamics.nodes.receiving import Receiver
from izmp_dynamics.sensing.faults import Reason

LOOK_EVERY = 0.1
"""Time between two looks for new topics [s]."""

TAKE_EVERY = 0.02
"""Messages are taken together: to wake for each would cost more than to write it [s]."""

FLUSH_EVERY = 2.0
"""Time between two writes to the disk [s]."""

LEFT_OUT = ('/parameter_events', '/rosout')


class Recorder(Node):
    """Records topics as serialized messages, also those that appear later.

    The bag is complete when the node is destroyed, with all that waited for it; until then it is a
    hidden folder beside its place. Messages are not decoded, so it costs little.

    Attributes:
        count: messages so far.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('recorder', parameter_overrides=list(options.pop('overrides', ())))
        output = fixed(self, 'output', 'izmp_bag', 'folder of the bag, which must not exist')
        storage = fixed(self, 'storage', 'mcap', 'mcap or sqlite3')
        overwrite = fixed(self, 'overwrite', False, 'replace an earlier bag')
        self.topics = tuple(fixed(self, 'topics', [''], 'topics to record; all if there are none'))
        self.count = 0
        self._receiver = Receiver()
        self._seen: set[str] = set(LEFT_OUT)
        self._lost: Counter[str] = Counter()
        self._files = ExitStack()
        self._writer = self._files.enter_context(
            BagWriter(Path(output).expanduser(), storage, overwrite)
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(TAKE_EVERY, self._receiver.take_all, clock=steady)
        self.create_timer(LOOK_EVERY, self._look, clock=steady)
        self.create_timer(FLUSH_EVERY, self._flush, clock=steady)

    def destroy_node(self) -> None:
        """Record what still waits, and complete the bag."""
        with self._files:
            self._receiver.take_all()
            self._state_losses()
            super().destroy_node()

    def _look(self) -> None:
        wanted = {self.resolve_topic_name(topic) for topic in self.topics if topic}
        for topic, types in self.get_topic_names_and_types():
            if topic not in self._seen and (not wanted or topic in wanted):
                self._seen.add(topic)
                self._record(topic, types[0])

    def _flush(self) -> None:
        self._writer.flush()
        self._state_losses()

    def _record(self, topic: str, msgtype: str) -> None:
        publishers = self.get_publishers_info_by_topic(topic)
        if not publishers:
            self._seen.discard(topic)
            return
        profiles = [publisher.qos_profile for publisher in publishers]
        reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
        latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
        kind: Qos = 'history' if latched else 'default' if reliable else 'sensor_data'
        qos = QoSProfile(
            depth=5 * DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        try:
            self._writer.add_raw_topic(topic, msgtype, kind)
            take, lose = partial(self._take, topic), partial(self._lose, topic)
            self._receiver.subscribe(
                self, topic, message_class(msgtype), take, lose, qos, raw=True
            )
        except IzmpError as error:
            self.get_logger().warning(f'{topic} is not recorded: {error}')

    def _take(self, topic: str, raw: bytes) -> None:
        self.count += 1
        clock, received = self.get_clock(), self._receiver.received
        if not received or (isinstance(clock, ROSClock) and clock.ros_time_is_active):
            received = clock.now().nanoseconds
        self._writer.write_raw(topic, received, raw)

    def _lose(self, topic: str, reason: Reason, number: int) -> None:
        self._lost[topic] += number

    def _state_losses(self) -> None:
        """Say which messages were lost on the way here since the last time."""
        lost, self._lost = self._lost, Counter()
        if lost:
            numbers = ', '.join(f'{number} on {topic}' for topic, number in lost.most_common())
            self.get_logger().warning(f'Messages that were lost on the way to the bag: {numbers}.')
