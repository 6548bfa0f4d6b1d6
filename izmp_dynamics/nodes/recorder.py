"""Node recorder: whatever is published here → a rosbag2, without rosbag2."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType, ROSClock
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from izmp_dynamics.bags.writer import BagWriter, Qos
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import BagError, IzmpError
from izmp_dynamics.base.faults import Reason
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.process import shut_down
from izmp_dynamics.nodes.qos import DEPTH
from izmp_dynamics.nodes.receiving import Receiver, Reception

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
    hidden folder beside its place. Messages are not decoded, so it costs little. Where the bag
    cannot be written any more, as the disk is full, the recording ends: the log says where what
    was recorded until then is kept.

    Attributes:
        count: messages so far.
        failure: why nothing is recorded any more; None: it is recorded.
        give_up: is called then; ends the process.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(
            'recorder',
            parameter_overrides=list(options.pop('overrides', ())),
            enable_rosout=False,  # the last lines come when ROS is shut down
        )
        output = fixed(self, 'output', 'izmp_bag', 'folder of the bag, which must not exist')
        storage = fixed(self, 'storage', 'mcap', 'mcap or sqlite3')
        overwrite = fixed(self, 'overwrite', False, 'replace an earlier bag')
        self.topics = tuple(fixed(self, 'topics', [''], 'topics to record; all if there are none'))
        self.count = 0
        self.failure: BagError | None = None
        self.give_up: Callable[[], None] = shut_down
        self._begin = self._end = 0
        self._receiver = Receiver()
        self._seen: set[str] = set(LEFT_OUT)
        self._recorded: list[str] = []
        self._lost: Counter[str] = Counter()
        self._files = ExitStack()
        try:
            writer = BagWriter(Path(output).expanduser(), storage, overwrite)
        except BagError as error:
            text = str(error).replace('add --overwrite', 'set overwrite:=true')
            raise BagError(text, kind=error.kind, **error.data) from error
        self._writer = self._files.enter_context(writer)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        for period, work in (
            (TAKE_EVERY, self._receiver.take_all),
            (LOOK_EVERY, self._look),
            (FLUSH_EVERY, self._flush),
        ):
            self.create_timer(period, partial(self._work, work), clock=steady)
        what = ', '.join(topic for topic in self.topics if topic) or 'all topics'
        self.get_logger().info(f"Recording {what} to '{self._writer.path}'.")

    @property
    def failed(self) -> bool:
        """Whether less is recorded than should be."""
        return self.failure is not None

    def destroy_node(self) -> None:
        """Record what still waits, and complete the bag."""
        with self._files:
            self._work(self._receiver.take_all)
            self._state_losses()
            self._work(self._complete)
            super().destroy_node()

    def _complete(self) -> None:
        self._files.close()
        length = (self._end - self._begin) / NANOSECONDS
        topics = '1 topic' if len(self._recorded) == 1 else f'{len(self._recorded)} topics'
        self.get_logger().info(
            f'Recorded {self.count} messages of {topics} in {length:.1f} s to '
            f"'{self._writer.path}'."
        )

    def _work(self, work: Callable[[], None]) -> None:
        """Do a part of the work, unless the bag cannot be written any more."""
        if self.failure is not None:
            return
        try:
            work()
        except BagError as error:
            self.failure = error
            with suppress(BagError), self._files:
                raise
            self.get_logger().error(f'The recording has ended. {error}')
            self.give_up()

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
        profile: Qos = 'history' if latched else 'default' if reliable else 'sensor_data'
        qos = QoSProfile(
            depth=5 * DEPTH,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
        )
        try:
            self._writer.add_raw_topic(topic, msgtype, profile)
            take, lose = partial(self._take, topic), partial(self._lose, topic)
            kind = message_class(msgtype)
            self._receiver.add(Reception(self, topic, kind, take, lose, qos, raw=True))
            self._recorded.append(topic)
        except IzmpError as error:
            if error.kind == 'cannot_write':
                raise
            self.get_logger().warning(f'{topic} is not recorded: {error}')

    def _take(self, topic: str, raw: bytes) -> None:
        clock, received = self.get_clock(), self._receiver.received
        if not received or (isinstance(clock, ROSClock) and clock.ros_time_is_active):
            received = clock.now().nanoseconds
        self._writer.write_raw(topic, received, raw)
        self.count += 1
        self._begin, self._end = self._begin or received, received

    def _lose(self, topic: str, reason: Reason, number: int) -> None:
        self._lost[topic] += number

    def _state_losses(self) -> None:
        lost, self._lost = self._lost, Counter()
        if lost:
            numbers = ', '.join(f'{number} on {topic}' for topic, number in lost.most_common())
            self.get_logger().warning(f'Messages that were lost on the way to the bag: {numbers}.')
