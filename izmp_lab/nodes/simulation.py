"""Node simulation: a robot moves in MuJoCo; publishes its sensors and /clock in lockstep."""

import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from izmp_dynamics.base.conventions import NANOSECONDS
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.messages import time_of
from izmp_dynamics.nodes.others import (
    ALWAYS,
    COMPOSED,
    LONGEST_START,
    RECORDER,
    GraphPace,
    Listeners,
    said,
)
from izmp_dynamics.nodes.parameters import fixed, result_topic, stated_robot
from izmp_dynamics.nodes.player import AHEAD
from izmp_dynamics.nodes.start_up import announced
from izmp_lab.nodes.motion import plan_gait
from izmp_lab.nodes.sensor_outputs import SensorOutputs
from izmp_lab.simulation.mujoco.model import build_mujoco
from izmp_lab.simulation.mujoco.plant import Execution, Sampling, with_feed_forward

CHUNK = 4
"""Steps of the physics that are computed at a time: one tick of the bus."""

AHEAD_OF_RESULTS = 60
"""Such turns by which the simulation may be ahead of the results in lockstep: half a second."""

SUBSCRIBED = 0.3
"""The joints must have had a subscriber for so long before the robot begins to move [s]."""

PATIENCE = 60.0
"""Time for which nodes of the graph that do not listen yet are waited for [s]."""

ANNOUNCED_EVERY = 30.0
"""Time after which it is said again who is waited for [s]."""

LOOK_EVERY = 0.1
"""Time between two looks at the subscribers [s]."""

GRAPH = {COMPOSED, *ALWAYS}
"""Nodes that are waited for together."""

BYSTANDERS = {'robot_state_publisher', RECORDER}
"""Nodes that listen to the joints, but need not see the robot move from the beginning."""


class Simulation(Node):
    """Publishes every sample with the stamp of its instant; /clock has the same time.

    Physics and messages take turns, so a slow computer makes the simulation slower and not wrong;
    the diagnostics state the real-time factor. With the parameter `lockstep` it waits for the
    graph as well.

    Attributes:
        taken: counts the joint messages that the graph has taken; if set, the simulation waits
            for it, so that nothing is lost on a computer that is too slow.
        stamp: newest stamp that was published [ns].
        is_over: whether the motion is at its end.
        fall: how the robot fell; empty if it stands.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('simulation', parameter_overrides=list(options.pop('overrides', ())))
        robot = stated_robot(self)
        self.rate = fixed(self, 'rate', 1.0, 'simulated per real time, at most', (0.001, 1000.0))
        self._loop = fixed(self, 'loop', False, 'begin again at the end; time goes on')
        lockstep = fixed(self, 'lockstep', False, 'wait for the results of a graph that is slow')
        clock = fixed(self, 'publish_clock', True, 'publish /clock, not wall-clock stamps')
        self._sensors = SensorOutputs(self, robot)  # discovered while the walk is planned
        self._clock_publisher = (
            self.create_publisher(ClockMessage, '/clock', 10) if clock else None
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        with announced(self.get_logger(), 'Building the robot in MuJoCo'):
            self._plant = build_mujoco(robot)
        plan = plan_gait(self, robot, self._plant.physics.time_step)
        if plan.feed_forward is None:
            with announced(self.get_logger(), 'Planning the torques'):
                plan = with_feed_forward(plan, self._plant)
        self._plan = plan
        self.taken: Callable[[], int] | None = None
        delay = robot.filter.half_width or 0.0  # results come so much later in any case
        ahead = AHEAD_OF_RESULTS + round(delay / (CHUNK * self._plant.physics.time_step))
        self._pace = (
            GraphPace(self, ahead, result_topic(self, 'joint_kinematics')) if lockstep else None
        )
        self._published, self._turns, self._turns_waited = 0, 0, 0
        self.is_over = False
        self.fall = ''
        self._joints = self.resolve_topic_name(robot.joints.topic)
        self._listeners = Listeners(self, robot, self._sensors.topics)
        self._subscribed_since: float | None = None
        self._waiting_since: float | None = None
        self._next_look = 0.0
        self._run: Execution | None = None
        self.stamp = 0
        self._reported = (time.monotonic(), 0)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        period = CHUNK * self._plant.physics.time_step / self.rate
        self._timer = self.create_timer(period, self._advance, clock=self._steady)
        self.create_timer(1.0, self._report, clock=self._steady)

    def _advance(self) -> None:
        if self._run is None:
            self._begin_if_subscribed()
            return
        self._turns += 1
        if self._graph_is_behind:
            self._turns_waited += 1
            return
        run = self._run.advance(CHUNK)
        self._published += len(run)
        for row in range(len(run)):
            self._sensors.publish(run, row)
            self.stamp = int(run.stamps[row])
        if self._pace is not None:
            self._pace.published(self.stamp)
        self._publish_clock()
        self.fall = run.fall
        if not self._run.is_over:
            return
        if self.fall:
            self.get_logger().error(self.fall)
        if self._loop and not self.fall:
            sampling = Sampling(start=self.stamp + NANOSECONDS)
            self._run = Execution(self._plan, self._plant, sampling)
        else:
            self.is_over = True
            self._timer.cancel()

    @property
    def _graph_is_behind(self) -> bool:
        if self.taken is not None and self._published - self.taken() > AHEAD:
            return True
        return self._pace is not None and self._pace.is_behind

    def _begin_if_subscribed(self) -> None:
        """Wait for a subscriber, and if it is of the graph for all of that: nothing is lost."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_EVERY
        place = self.get_namespace()
        nodes = {
            (info.node_namespace, info.node_name)
            for info in self.get_subscriptions_info_by_topic(self._joints)
            if info.node_name not in BYSTANDERS
        }
        if not nodes:
            self._subscribed_since = self._waiting_since = None
            return
        self._waiting_since = self._waiting_since or now
        of_graph = any((place, name) in nodes for name in GRAPH)
        missing = self._listeners.missing() if of_graph else []
        starting = self._listeners.are_starting(missing)
        longest = LONGEST_START if starting else PATIENCE
        if missing and now < self._waiting_since + longest:
            self._subscribed_since = None
            log, why = self.get_logger(), ', which start and may be compiling' if starting else ''
            log.info(f'Waiting for {said(missing)}{why}.', throttle_duration_sec=ANNOUNCED_EVERY)
            return
        self._subscribed_since = self._subscribed_since or now
        if now - self._subscribed_since > SUBSCRIBED:
            if missing:
                self.get_logger().warning(f'The robot moves without {said(missing)}.')
            start = NANOSECONDS
            if self._clock_publisher is None:
                start = Clock(clock_type=ClockType.SYSTEM_TIME).now().nanoseconds
            self._run = Execution(self._plan, self._plant, Sampling(start=start))

    def _publish_clock(self) -> None:
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=time_of(self.stamp)))

    def _report(self) -> None:
        now, (then, stamp) = time.monotonic(), self._reported
        self._reported = (now, self.stamp)
        factor = (self.stamp - stamp) / NANOSECONDS / max(now - then, 1e-3) if stamp else 0.0
        moving = self._run is not None and not self.is_over
        slow = moving and stamp > 0 and factor < 0.9 * self.rate
        message = f'the simulation runs at {factor:.2f} of real time' if moving else 'not moving'
        if slow:
            waits = 2 * self._turns_waited > self._turns
            message += (
                ': it waits for the graph, which takes longer'
                if waits
                else ': the computer is too slow for it, or has other work'
            )
        self._turns = self._turns_waited = 0
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR
            if self.fall
            else DiagnosticStatus.WARN
            if slow
            else DiagnosticStatus.OK,
            name=self.get_fully_qualified_name(),
            message=self.fall or message,
            values=[KeyValue(key='real-time factor', value=f'{factor:.3f}')],
        )
        self._diagnostics.publish(diagnostic_array(self.get_clock().now().nanoseconds, status))
