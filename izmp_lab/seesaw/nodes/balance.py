"""Node balance: the momentum controller of the seesaw, one answer to every state."""

from collections import Counter
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import ModelError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.messages import stamp_of
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.start_up import announced
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.closed_loop import TICK
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.gains import CONTROLLERS, GAIN_SETS
from izmp_lab.seesaw.loop_check import require_stable
from izmp_lab.seesaw.nodes.messages import (
    STATE_TOPICS,
    STATE_TYPES,
    TORQUES,
    state_of,
    torques_message,
)
from izmp_lab.seesaw.state import BalanceState


class Balance(Node):
    """Takes state/joints, state/root, state/board of one stamp; publishes torques of that stamp.

    A tick whose quadratic programme has no solution, or whose state cannot be used, repeats the
    last torques; the diagnostics count such ticks. They also say if the loop of controller and
    robot is unstable, which is checked at the start. A state that is published again is answered
    again; one that lacks a part when the next one begins is not answered.

    Attributes:
        controller: the controller.
        counts: states that could not be used, by reason.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('balance', parameter_overrides=list(options.pop('overrides', ())))
        robot = load_balancing_robot(fixed(self, 'robot', 'icub', 'icub or biped31'))
        kind = fixed(self, 'controller', 'mixed', f'one of: {", ".join(CONTROLLERS)}')
        which = fixed(self, 'gains', 'authors', f'one of: {", ".join(GAIN_SETS)}')
        reference = fixed(
            self,
            'reference',
            'constant',
            'of the CoM: constant, or sine:METRES:HERTZ to the sides',
        )
        self._names = robot.model.joint_names
        self.counts: Counter[str] = Counter()
        with announced(self.get_logger(), 'Compiling the controller and checking its stability'):
            self.controller = MomentumController.named(robot, kind, which, reference)
            self._unstable = self._check()
        self._begin: int | None = None
        self._stamp = self._answered = 0
        self._parts: dict[str, Any] = {}
        self._torques = self.create_publisher(JointState, TORQUES, RESULT)
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        for topic, msgtype in zip(STATE_TOPICS, STATE_TYPES, strict=True):
            self.create_subscription(msgtype, topic, partial(self._take, topic), RESULT)
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _check(self) -> str:
        """Say why the loop is unstable, if the plant has the friction of the robot; '' if not."""
        try:
            require_stable(self.controller, TICK)
        except ModelError as error:
            self.get_logger().warning(str(error))
            return str(error)
        return ''

    def _take(self, topic: str, message: Any) -> None:
        stamp = stamp_of(message)
        if stamp < self._stamp - NANOSECONDS:
            self._begin, self._stamp, self._answered, self._parts = None, 0, 0, {}
            self.controller.restart()
        if stamp < self._stamp:
            return
        if stamp > self._stamp:
            self._count_missing()
            self._stamp, self._parts = stamp, {}
        self._parts[topic] = message
        if len(self._parts) == len(STATE_TOPICS):
            self._answer(stamp, *(self._parts.pop(part) for part in STATE_TOPICS))

    def _count_missing(self) -> None:
        if self._parts:
            missing = [topic for topic in STATE_TOPICS if topic not in self._parts]
            self.counts.update(f'{topic}.{Fault(Reason.NO_SAMPLE).key}' for topic in missing)

    def _answer(self, stamp: int, joints: JointState, root: Odometry, board: Odometry) -> None:
        if self._begin is None:
            self._begin = stamp
        time = (stamp - self._begin) / NANOSECONDS
        state = state_of(joints, root, board, self._names, time)
        if isinstance(state, str):
            self.counts[state] += 1
            self.get_logger().warning(
                f'The last torques are held: {state}.', throttle_duration_sec=5.0
            )
            torques = self.controller.last.torques
        else:
            torques = self._torques_for(state)
        self._torques.publish(torques_message(torques, stamp, self._names))
        self._answered += 1

    def _torques_for(self, state: BalanceState) -> Array:
        command = self.controller.command(state)
        if not command.solved:
            self.get_logger().warning(
                f'No solution at {state.time:.2f} s; the last torques are held '
                f'({self.controller.unsolved} such ticks so far).',
                throttle_duration_sec=1.0,
            )
        return command.torques

    def _report(self) -> None:
        unsolved = self.controller.unsolved
        message = f'{self._answered} ticks answered, {unsolved} without a solution'
        if not self._answered:
            message = 'no state has come yet: start the node seesaw'
        if self._unstable:
            message = f'{message}. {self._unstable}'
        doubtful = unsolved or self.counts or self._unstable
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if doubtful else DiagnosticStatus.OK,
            name=self.get_fully_qualified_name(),
            message=message,
            values=[
                KeyValue(key=reason, value=str(number)) for reason, number in self.counts.items()
            ],
        )
        self._diagnostics.publish(diagnostic_array(self.get_clock().now().nanoseconds, status))
