"""Node player: the sensors of a recording, and /clock, for the graph beside it."""

import threading
import traceback
from pathlib import Path
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PointStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from izmp_dynamics.bags.batch import Message
from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.base.errors import IzmpError, RobotFileError
from izmp_dynamics.model.robot_file import load_robot_file
from izmp_dynamics.nodes.bag_player import RESULTS, BagPlayer
from izmp_dynamics.nodes.graph_pace import GraphPace
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.process import shut_down, until_shutdown
from izmp_dynamics.nodes.qos import DEPTH
from izmp_dynamics.nodes.receiving import stamp_of_bytes

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
        self._paces = GraphPace(self, ahead), GraphPace(self, ahead, RESULTS[0], PointStamped)
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
                self._player.play(self._stop, self._is_behind)
                self.get_logger().info(f'Played {self._player.published} messages.')
                self._player.wait_for_results(self._stop)
        except Exception as error:
            self.failed = True
            known = isinstance(error, IzmpError)
            self.get_logger().error(str(error) if known else traceback.format_exc())
        finally:
            shut_down()

    def _observe(self, message: Message) -> None:
        """Publish the time of a message; follow how far the graph has come."""
        self._publish_clock(message.received)
        if message.topic == self._player.joints_topic:
            for pace in self._paces:
                pace.published(stamp_of_bytes(message.raw))

    def _is_behind(self) -> bool:
        """Whether a node of the graph has more to do than it should."""
        return any(pace.is_behind for pace in self._paces)

    def _publish_clock(self, stamp: int) -> None:
        """Publish the time of the recording [ns]."""
        if 0 <= stamp - self._published < TICK * NANOSECONDS:
            return
        self._published = stamp
        sec, nanosec = divmod(stamp, NANOSECONDS)
        self._clock_publisher.publish(Clock(clock=Time(sec=sec, nanosec=nanosec)))
