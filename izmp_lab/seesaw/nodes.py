"""Node seesaw: robot and seesaw in MuJoCo; node balance: its controller, in lockstep at 100 Hz.

All messages of one tick, the state and the controller's answer to it, bear the same stamp.
"""

import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped, PoseStamped
from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState

from izmp_dynamics.base.conventions import NANOSECONDS, Array
from izmp_dynamics.base.errors import IzmpError, ModelError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.base.rotations import quaternion_of_matrix
from izmp_dynamics.nodes.health import diagnostic_array
from izmp_dynamics.nodes.messages import (
    header,
    point,
    quaternion,
    quaternion_of,
    rotation_matrix,
    stamp_of,
    time_of,
    transform_stamped,
    vector,
    vector3,
)
from izmp_dynamics.nodes.parameters import fixed
from izmp_dynamics.nodes.qos import RESULT
from izmp_dynamics.nodes.start_up import announced
from izmp_dynamics.nodes.transforms import WORLD, TransformBroadcaster
from izmp_dynamics.signals.imu import NORM_TOLERANCE
from izmp_lab.nodes.sensor_outputs import SensorOutputs
from izmp_lab.seesaw.balancing_robot import load_balancing_robot
from izmp_lab.seesaw.board import Seesaw as Board
from izmp_lab.seesaw.closed_loop import TICK, push_during, step_or_fall
from izmp_lab.seesaw.controller import MomentumController
from izmp_lab.seesaw.gains import CONTROLLERS, GAIN_SETS
from izmp_lab.seesaw.loop_check import require_stable
from izmp_lab.seesaw.mujoco_plant import MujocoSeesaw, SeesawRecorder
from izmp_lab.seesaw.mujoco_spec import BOARD
from izmp_lab.seesaw.state import BalanceState, RigidState
from izmp_lab.simulation.physics import Shove
from izmp_lab.simulation.simulated_run import SimulatedRun

STATE_TOPICS = ('state/joints', 'state/root', 'state/board')
"""JointState with positions and velocities, and the Odometry of root and board."""

TORQUES = 'torques'
"""JointState with efforts; its stamp is that of the state which it answers."""

STATE_TYPES = (JointState, Odometry, Odometry)


def state_messages(
    state: BalanceState, stamp: int, joint_names: tuple[str, ...], root: str
) -> tuple[JointState, Odometry, Odometry]:
    """Write a state; see STATE_TOPICS."""
    return (
        JointState(
            header=header(stamp, ''),
            name=list(joint_names),
            position=state.q.tolist(),
            velocity=state.qd.tolist(),
        ),
        _odometry(state.root, stamp, root),
        _odometry(state.board, stamp, BOARD),
    )


def state_of(
    joints: JointState, root: Odometry, board: Odometry, joint_names: tuple[str, ...], time: float
) -> BalanceState | str:
    """Read the messages of `state_messages`; say in a sentence what is wrong with them.

    Args:
        joints: the first message.
        root: the second.
        board: the third.
        joint_names: of the robot.
        time: since the start [s].
    """
    columns = _columns(joints, joint_names, 'position', 'velocity')
    if isinstance(columns, str):
        return columns
    q, qd = columns
    at_root, at_board = _rigid(root, 'root'), _rigid(board, BOARD)
    if isinstance(at_root, str):
        return at_root
    if isinstance(at_board, str):
        return at_board
    return BalanceState(time, at_root, q, qd, at_board)


def torques_message(torques: Array, stamp: int, joint_names: tuple[str, ...]) -> JointState:
    """Write the answer to a state."""
    return JointState(header=header(stamp, ''), name=list(joint_names), effort=torques.tolist())


def torques_of(message: JointState, joint_names: tuple[str, ...]) -> Array | str:
    """Read torques (n,) [N·m]; say in a sentence what is wrong with them."""
    columns = _columns(message, joint_names, 'effort')
    return columns if isinstance(columns, str) else columns[0]


def _columns(message: JointState, names: tuple[str, ...], *fields: str) -> list[Array] | str:
    order = {name: k for k, name in enumerate(message.name)}
    missing = [name for name in names if name not in order]
    if missing:
        more = f' and {len(missing) - 1} more' if len(missing) > 1 else ''
        return f"the message lacks the joint '{missing[0]}'{more}"
    found = []
    for field in fields:
        values = np.asarray(getattr(message, field), dtype=np.float64)
        if len(values) != len(order) or not np.isfinite(values).all():
            return f'{field} must hold {len(order)} finite numbers'
        found.append(values[[order[name] for name in names]])
    return found


def _odometry(body: RigidState, stamp: int, frame: str) -> Odometry:
    """Pose in the world, and twist in the axes of the body."""
    R = body.rotation
    message = Odometry(header=header(stamp, WORLD), child_frame_id=frame)
    message.pose.pose.position = point(body.position)
    message.pose.pose.orientation = quaternion_of(np.asarray(quaternion_of_matrix(R)))
    message.twist.twist.linear = vector3(R.T @ body.velocity)
    message.twist.twist.angular = vector3(R.T @ body.angular_velocity)
    return message


def _rigid(message: Odometry, name: str) -> RigidState | str:
    pose, twist = message.pose.pose, message.twist.twist
    position, turned = vector(pose.position), quaternion(pose.orientation)
    velocity, omega = vector(twist.linear), vector(twist.angular)
    if not np.isfinite([*position, *turned, *velocity, *omega]).all():
        return f'the pose and the velocity of the {name} must be finite numbers'
    if not abs(np.linalg.norm(turned) - 1.0) <= NORM_TOLERANCE:
        return f'the {name}: {Reason.NO_ROTATION.text}'
    R = rotation_matrix(turned)
    return RigidState(position, R, R @ velocity, R @ omega)


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
            self._clock_publisher.publish(ClockMessage(clock=time_of(stamp)))

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
