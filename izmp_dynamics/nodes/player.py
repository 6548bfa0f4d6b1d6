"""Node player: the sensors of a recording, and /clock, for the graph beside it."""

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from trajectory_msgs.msg import JointTrajectory

from izmp_dynamics.bags.batch import Message, resolve_topic
from izmp_dynamics.bags.reader import BagReader
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import IzmpError, ReplayError, RobotFileError
from izmp_dynamics.model.robot_file import RobotFile, load_robot_file
from izmp_dynamics.nodes.health import Input
from izmp_dynamics.nodes.messages import message_class, time_of
from izmp_dynamics.nodes.others import LONGEST_START, GraphPace, Listeners, said
from izmp_dynamics.nodes.parameters import fixed, result_topic
from izmp_dynamics.nodes.pause import some_are_behind
from izmp_dynamics.nodes.process import shut_down, until_shutdown
from izmp_dynamics.nodes.qos import DEPTH, RESULT
from izmp_dynamics.nodes.topic_node import RELIABLE_PATIENCE
from izmp_dynamics.nodes.wire import stamp_of_bytes

SETTLED = 1.0
"""Time for which the numbers of subscribers must not change before the first message [s]."""

LOOK_EVERY = 0.02
"""Time between two looks at the subscribers [s]."""

ANNOUNCED_FIRST = 5.0
"""Time after which it is said who is waited for; then it takes twice as long each time [s]."""

RESULTS = ('mr_ad/izmp', 'ir_md/izmp', 'cop')
QUIET = 2.5
"""Time without any of these results after which there are no more [s]."""

AHEAD = 100
"""Joint messages by which the player may be ahead of a graph that it waits for."""

LONGEST_WAIT = 15.0
"""Time after which it is an error that somebody does not listen [s]."""


class BagPlayer:
    """Publishes the topics of a robot file from a bag, in the order in which they were recorded.

    A topic that was recorded in a namespace is published under the name of the robot file. The
    stamps stay as they are.

    Args:
        rate: how many times as fast as recorded.

    Attributes:
        published: messages so far.
        joints: those of the joints among them.
        joints_topic: the name of these in the bag.
        observe: is given each message when it is published.
        pass_time: is given the recorded time [ns], now and then while nothing was recorded.

    Raises:
        BagError: if the bag cannot be read.
        ReplayError: if it has none of the topics.
    """

    def __init__(self, node: Node, path: Path, robot: RobotFile, rate: float = 1.0) -> None:
        self.node = node
        self.robot = robot
        self.rate = rate
        self.bag = BagReader(path)
        self.published = self.joints = 0
        self.observe: Callable[[Message], None] = lambda message: None
        self.pass_time: Callable[[int], None] = lambda stamp: None
        self._publishers: dict[str, Any] = {}
        self._topics: list[str] = []
        for wanted in robot.topics():
            name = resolve_topic(wanted, self.bag.topics)
            if name is not None:
                kind = message_class(self.bag.topics[name].msgtype)
                self._publishers[name] = node.create_publisher(kind, wanted, RESULT)
                self._topics.append(wanted)
        self._played = {name: Input(name, '') for name in self._publishers}
        self.joints_topic = resolve_topic(robot.joints.topic, self._publishers)
        if not self._publishers:
            raise ReplayError(
                f"None of the robot file's topics is in '{path}'.",
                kind='no_topics', path=str(path),
            )  # fmt: skip

    @property
    def ends_uneven(self) -> bool:
        """Whether some topics ended before others, so that nodes wait longer for what follows."""
        return some_are_behind(self._played.values(), RELIABLE_PATIENCE)

    def joints_in(self, messages: int) -> int:
        """How many joint messages come with so many messages of the busiest topic, at least 1."""
        counts = {name: self.bag.topics[name].count for name in self._publishers}
        return max(1, messages * counts.get(self.joints_topic or '', 0) // max(counts.values()))

    def wait_for_listeners(
        self, stop: threading.Event, patience: float = LONGEST_WAIT, recorder: bool = False
    ) -> None:
        """Wait until the graph listens to every topic, by name, and nobody else comes.

        Args:
            stop: ends it early.
            patience: time after which it is given up, unless all nodes are there and start [s];
                then it is `LONGEST_START` if that is more.
            recorder: whether to wait for the recorder, too.

        Raises:
            ReplayError: if somebody is missing; names who lacks what.
        """
        listeners = Listeners(self.node, self.robot, self._topics, recorder)
        first = begin = changed = time.monotonic()
        found, next_announcement, pause = (-1, -1), begin + ANNOUNCED_FIRST, ANNOUNCED_FIRST
        while not stop.is_set():
            missing, now = listeners.missing(), time.monotonic()
            connected = sum(p.get_subscription_count() for p in self._publishers.values())
            if (listeners.count(), connected) != found:
                found, changed = (listeners.count(), connected), now
            if not missing and connected >= found[0] and now - changed > SETTLED:
                return
            starting = bool(missing) and listeners.are_starting(missing)
            if starting:
                begin = now
            in_vain = starting and now - first > max(patience, LONGEST_START)
            if in_vain or now - begin > patience:
                raise ReplayError(
                    f'After {now - first:.0f} s these nodes of the namespace '
                    f"'{self.node.get_namespace()}' do not listen: {said(missing)}. Start them "
                    'first; their logs say why they are missing.',
                    kind='no_listener', missing=tuple(missing),
                )  # fmt: skip
            if missing and now > next_announcement:
                pause *= 2.0
                next_announcement = now + pause
                why = ', which start and may be compiling' if starting else ''
                self.node.get_logger().info(f'Waiting for {said(missing)}{why}.')
            time.sleep(LOOK_EVERY)

    def wait_for_results(self, stop: threading.Event) -> None:
        """Wait until the graph has nothing more to say about what was played."""
        last = time.monotonic()

        def note(_: bytes) -> None:
            nonlocal last
            last = time.monotonic()

        watches = [
            self.node.create_subscription(PointStamped, topic, note, RESULT, raw=True)
            for topic in (result_topic(self.node, name) for name in RESULTS)
        ]
        quiet = QUIET + RELIABLE_PATIENCE if self.ends_uneven else QUIET
        while not stop.is_set() and time.monotonic() - last < quiet:
            time.sleep(LOOK_EVERY)
        for watch in watches:
            self.node.destroy_subscription(watch)

    def play(self, stop: threading.Event, is_behind: Callable[[], bool] = lambda: False) -> None:
        """Publish everything at the times at which it was recorded, unless the graph is behind.

        It is waited for then, so that nothing is lost on a computer that is too slow.
        """
        begin, first = time.monotonic(), None
        for message in self.bag.messages(list(self._publishers)):
            first = message.received if first is None else first
            due = begin + (message.received - first) / NANOSECONDS / self.rate
            while (wait := due - time.monotonic()) > 0.0 and not stop.is_set():
                self.pass_time(message.received - round(wait * self.rate * NANOSECONDS))
                time.sleep(min(wait, LOOK_EVERY))
            while is_behind() and not stop.is_set():
                time.sleep(0.001)
            if stop.is_set():
                return
            self.joints += message.topic == self.joints_topic
            self.observe(message)
            raw = bytes(message.raw)
            self._played[message.topic].received(stamp_of_bytes(raw))
            self._publishers[message.topic].publish(raw)
            self.published += 1

    def close(self) -> None:
        """Close the bag."""
        self.bag.close()


PATIENCE = 300.0
"""Time that the graph is given to start, unless the parameter says otherwise [s]."""

TICK = 0.008
"""Recorded time between two messages on /clock [s]."""


class Player(Node):
    """Plays as soon as the graph in its namespace listens; ends when all is evaluated.

    Of the recording only what the robot publishes is played, so a recording that holds the results
    of the graph, too, does not mix with those of now.

    Attributes:
        failed: whether it could not play all of it.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('player', parameter_overrides=list(options.pop('overrides', ())))
        bag = fixed(self, 'bag', '', 'recording to play (rosbag2)')
        robot = fixed(self, 'robot', '', 'robot file (YAML), which names the topics')
        rate = fixed(self, 'rate', 1.0, 'times as fast as recorded', (0.01, 100.0))
        self._patience = fixed(
            self, 'patience', PATIENCE, 'time that the graph is given to start [s]', (0.0, 1e6)
        )
        self._recorder = fixed(self, 'wait_for_recorder', False, 'wait for the recorder, too')
        self.failed = False
        if not bag or not robot:
            raise RobotFileError(
                "The node 'player' needs the parameters bag and robot.", kind='no_robot_file'
            )
        self._player = BagPlayer(self, Path(bag).expanduser(), load_robot_file(robot), rate)
        self._player.observe = self._observe
        self._player.pass_time = self._publish_clock
        ahead = self._player.joints_in(DEPTH // 2)
        followed = {'joint_kinematics': JointTrajectory, RESULTS[0]: PointStamped}
        self._paces = [
            GraphPace(self, ahead, result_topic(self, name), kind)
            for name, kind in followed.items()
        ]
        self._clock_publisher = self.create_publisher(Clock, '/clock', 10)
        self._published = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def destroy_node(self) -> None:
        """Stop playing."""
        self._stop.set()
        self._thread.join(5.0)
        self._player.close()
        super().destroy_node()

    def _play(self) -> None:
        try:
            with until_shutdown():
                self._player.wait_for_listeners(self._stop, self._patience, self._recorder)
                self._player.play(self._stop, lambda: any(pace.is_behind for pace in self._paces))
                self.get_logger().info(f'Played {self._player.published} messages.')
                self._player.wait_for_results(self._stop)
        except Exception as error:
            self.failed = True
            known = isinstance(error, IzmpError)
            self.get_logger().error(str(error) if known else traceback.format_exc())
        finally:
            shut_down()

    def _observe(self, message: Message) -> None:
        self._publish_clock(message.received)
        if message.topic == self._player.joints_topic:
            for pace in self._paces:
                pace.published(stamp_of_bytes(message.raw))

    def _publish_clock(self, stamp: int) -> None:
        if 0 <= stamp - self._published < TICK * NANOSECONDS:
            return
        self._published = stamp
        self._clock_publisher.publish(Clock(clock=time_of(stamp)))
