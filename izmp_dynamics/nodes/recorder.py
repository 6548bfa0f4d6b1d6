"""Node recorder: whatever is published here → a rosbag2, without rosbag2."""

import threading
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.bags.qos import Qos
from izmp_dynamics.bags.writer import BagWriter
from izmp_dynamics.errors import IzmpError
from izmp_dynamics.nodes.bag_player import message_class
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import DEPTH
from izmp_dynamics.nodes.receiving import LONGEST_REST, Receiver
from izmp_dynamics.nodes.unknown_parameters import warn_of_unknown_parameters
from izmp_dynamics.sensing.faults import Reason

LEFT_OUT = ('/parameter_events', '/rosout')


class Recorder(Node):
    """Records topics as serialized messages, also those that appear later.

    The bag is complete when the node is destroyed, with all that waited for it; until then it is a
    hidden folder beside its place. Messages are not decoded, so it costs little.

    Attributes:
        receiver: of the messages; `process.Running` lets it work.
        count: messages so far.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('recorder', parameter_overrides=list(options.pop('overrides', ())))
        output = fixed(self, 'output', 'izmp_bag', 'folder of the bag, which must not exist')
        storage = fixed(self, 'storage', 'mcap', 'mcap or sqlite3')
        overwrite = fixed(self, 'overwrite', False, 'replace an earlier bag')
        self.topics = tuple(fixed(self, 'topics', [''], 'topics to record; all if there are none'))
        self.receiver = Receiver(self._rest)
        self.count = 0
        self._seen: set[str] = set(LEFT_OUT)
        self._lost: Counter[str] = Counter()
        self._files, self._lock = ExitStack(), threading.Lock()
        self._writer = self._files.enter_context(
            BagWriter(Path(output).expanduser(), storage, overwrite)
        )
        warn_of_unknown_parameters(self)

    def destroy_node(self) -> None:
        """Record what still waits, and complete the bag."""
        self.receiver.drain()
        super().destroy_node()
        self._files.close()

    def look_after(self, report: bool) -> None:
        """Look for new topics four times a second, and write to the disk when `report` is set."""
        wanted = {self.resolve_topic_name(topic) for topic in self.topics if topic}
        for topic, types in self.get_topic_names_and_types():
            if topic not in self._seen and (not wanted or topic in wanted):
                self._seen.add(topic)
                self._record(topic, types[0])
        if report:
            with self._lock:
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
            with self._lock:
                self._writer.add_raw_topic(topic, msgtype, kind)
            take, lose = partial(self._take, topic), partial(self._lose, topic)
            self.receiver.subscribe(self, topic, message_class(msgtype), take, lose, qos, raw=True)
        except IzmpError as error:
            self.get_logger().warning(f'{topic} is not recorded: {error}')

    def _take(self, topic: str, raw: bytes) -> None:
        with self._lock:
            self.count += 1
            self._writer.write_raw(topic, self.get_clock().now().nanoseconds, raw)

    def _rest(self) -> None:
        """Let messages come together: to wake for each costs more than to write it."""
        self.receiver.rest_until = time.monotonic() + LONGEST_REST

    def _lose(self, topic: str, reason: Reason, number: int) -> None:
        self._lost[topic] += number

    def _state_losses(self) -> None:
        """Say which messages were lost on the way here since the last time."""
        lost, self._lost = self._lost, Counter()
        if lost:
            numbers = ', '.join(f'{number} on {topic}' for topic, number in lost.most_common())
            self.get_logger().warning(f'Messages that were lost on the way to the bag: {numbers}.')
