"""Node seesaw: robot and seesaw in MuJoCo, in lockstep with a controller at 100 Hz."""

import time
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.messages import (
    header,
    point,
    quaternion_of,
    stamp_of,
    transform_stamped,
)
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.start_up import announced
from izmp_dynamics.nodes.transforms import WORLD, TransformBroadcaster
from izmp_lab.nodes.sensor_outputs import SensorOutputs
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw as Board
from izmp_lab.seesaw.closed_loop import TICK, push_during, step_or_fall
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder
from izmp_lab.seesaw.mujoco_spec import BOARD
from izmp_lab.seesaw.nodes.messages import (
    STATE_TOPICS,
    STATE_TYPES,
    TORQUES,
    state_messages,
    torques_of,
)
from izmp_lab.simulation.physics import Shove
from izmp_lab.simulation.simulated_run import SimulatedRun

NO_PUSH = 'none'
"""The parameter push without one; ros2 launch takes no empty text."""

LOOKS = 5
"""So often per tick it is looked whether the controller has answered."""

LARGEST_DELAY = 0.1
"""What is late by no more is caught up with [s]."""

ASK_AGAIN = 1.0
"""A state without an answer is published again after this time [s]."""


class Seesaw(Node):
    """Publishes the state, waits for the torques of its stamp, and goes on by one tick.

    The plant waits for the controller however long it takes, so a slow computer makes the
    simulation slower and not wrong. Sensors, the board's pose and the true CoP are published at
    500 Hz.

    Attributes:
        plant: robot and board.
        is_over: whether the time is up, or the robot fell.
        fall: how it fell; empty if it stands.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__('seesaw', parameter_overrides=list(options.pop('overrides', ())))
        robot = load_balancing_robot(fixed(self, 'robot', 'icub', 'icub or biped31'))
        push = fixed(
            self, 'push', NO_PUSH, 'NEWTONS:DIRECTION:START:DURATION on the torso; or none'
        )
        self._pushes = [] if push in ('', NO_PUSH) else [Shove.parse(push, robot.torso)]
        self._duration = fixed(self, 'duration', 60.0, 'of the run [s]')
        self._rate = fixed(self, 'rate', 1.0, 'simulated per real time, at most', (0.001, 1000.0))
        clock = fixed(self, 'publish_clock', True, 'publish /clock')
        self._recorder = SeesawRecorder()
        with announced(self.get_logger(), 'Building robot and seesaw in MuJoCo'):
            self.plant = MujocoSeesaw(robot, Board(), observer=self._recorder)
        self._sensors = SensorOutputs(self, self.plant.sensed.file)
        self._state = [
            self.create_publisher(msgtype, topic, RESULT)
            for topic, msgtype in zip(STATE_TOPICS, STATE_TYPES, strict=True)
        ]
        self._board = self.create_publisher(PoseStamped, f'{BOARD}/pose', RESULT)
        self._cop = self.create_publisher(PointStamped, 'ground_truth/cop_in_ground', RESULT)
        self._clock_publisher = (
            self.create_publisher(ClockMessage, '/clock', 10) if clock else None
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._transforms = TransformBroadcaster(self)
        self.create_subscription(JointState, TORQUES, self._take, RESULT)
        self.is_over, self.fall = False, ''
        self._answer: Array | None = None
        self._asked = self._due = 0.0
        self._tick = 0
        self._reported = (time.monotonic(), 0)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(TICK / self._rate / LOOKS, self._advance, clock=steady)
        self.create_timer(1.0, self._report, clock=steady)

    @property
    def _stamp(self) -> int:
        """Stamp of the present state [ns]."""
        return NANOSECONDS + self._tick * round(TICK * NANOSECONDS)

    def _advance(self) -> None:
        """Go on by a tick if the controller has answered; else ask it."""
        if self._answer is None:
            if time.monotonic() - self._asked > ASK_AGAIN:
                self._ask()
            return
        now = time.monotonic()
        if now < self._due:
            return
        self._due = max(self._due + TICK / self._rate, now - LARGEST_DELAY)
        torques, self._answer = self._answer, None
        fall = step_or_fall(self.plant, torques, push_during(self._pushes, self._tick))
        self._tick += 1
        self._publish(self._recorder.run(self.plant, 'seesaw', fall))
        if fall:
            self._end(fall)
        elif self._tick * TICK >= self._duration:
            self._end('')
        else:
            self._ask()

    def _end(self, fall: str) -> None:
        self.is_over, self.fall = True, fall
        self._timer.cancel()
        if fall:
            self.get_logger().error(fall)
        else:
            self.get_logger().info(f'{self._tick * TICK:g} s are over; the robot stands.')

    def _ask(self) -> None:
        robot = self.plant.robot
        messages = state_messages(
            self.plant.state, self._stamp, robot.model.joint_names, robot.model.root
        )
        for publisher, message in zip(self._state, messages, strict=True):
            publisher.publish(message)
        self._asked = time.monotonic()

    def _take(self, message: JointState) -> None:
        """Take torques; those of another stamp answer another question."""
        if stamp_of(message) != self._stamp or self.is_over:
            return
        torques = torques_of(message, self.plant.robot.model.joint_names)
        if isinstance(torques, str):
            self.get_logger().warning(
                f'These torques cannot be used: {torques}.', throttle_duration_sec=5.0
            )
            return
        self._answer = torques

    def _publish(self, run: SimulatedRun) -> None:
        ground = run.ground
        if ground is None:
            raise IzmpError('The seesaw does not move.', kind='ground_at_rest')
        cop, poses = run.cop_in_ground(), ground.quaternion_xyzw()
        for row, stamp in enumerate(run.stamps.tolist()):
            self._sensors.publish(run, row)
            pose = PoseStamped(header=header(stamp, WORLD))
            pose.pose.position = point(ground.position[row])
            pose.pose.orientation = quaternion_of(poses[row])
            self._board.publish(pose)
            if np.isfinite(cop[row]).all():
                self._cop.publish(PointStamped(header=header(stamp, BOARD), point=point(cop[row])))
        stamp = int(run.stamps[-1])
        self._transforms.send(
            transform_stamped(stamp, WORLD, BOARD, ground.rotation[-1], ground.position[-1])
        )
        if self._clock_publisher is not None:
            sec, nanosec = divmod(stamp, NANOSECONDS)
            self._clock_publisher.publish(ClockMessage(clock=Time(sec=sec, nanosec=nanosec)))

    def _report(self) -> None:
        now, (then, tick) = time.monotonic(), self._reported
        self._reported = (now, self._tick)
        factor = TICK * (self._tick - tick) / max(now - then, 1e-3)
        waits = not self.is_over and factor == 0.0
        level = (
            DiagnosticStatus.ERROR if self.fall
            else DiagnosticStatus.WARN if waits
            else DiagnosticStatus.OK
        )  # fmt: skip
        message = (
            f"waits for torques on '{self.resolve_topic_name(TORQUES)}': start the node balance"
            if waits
            else f'the simulation runs at {factor:.2f} of real time'
        )
        status = DiagnosticStatus(
            level=level,
            name=self.get_fully_qualified_name(),
            message=self.fall or ('the run is over' if self.is_over else message),
            values=[
                KeyValue(key='angle of the board [°]',
                         value=f'{np.degrees(self.plant.state.angle):.3f}'),
                KeyValue(key='real-time factor', value=f'{factor:.3f}'),
            ],
        )  # fmt: skip
        self._diagnostics.publish(diagnostic_array(self.get_clock().now().nanoseconds, status))
