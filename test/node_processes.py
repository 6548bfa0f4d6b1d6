"""Nodes as real processes, and what listens to them."""

import array
import ctypes
import fcntl
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
ROBOT = ROOT / 'robots' / 'biped31' / 'robot.yaml'
GRAPH = ('acd', 'angular_acceleration', 'mr_ad', 'localizer', 'ir_md', 'izmp')

PATIENCE = 300.0
"""How long a test waits for what comes in seconds, where the computer is busy or slow [s]."""

_steady = time.monotonic
"""The clock by which tests wait, also while nodes are given another one."""

MOST_DOMAINS = 16
"""ROS domains of this process, before it uses the first again: then the nodes there have ended."""

_domains = deque()
"""Those that it has taken, and their locked files."""


def free_domain():
    """Give a ROS domain that no other run of the tests on this computer uses."""
    if len(_domains) < MOST_DOMAINS:
        _take_domain()
    if not _domains:
        raise RuntimeError('All ROS domains are taken by other runs of the tests.')
    _domains.rotate(-1)
    return _domains[-1][0]


def _take_domain():
    """Take one more, if there is one, as the next to be given."""
    for domain in range(10, 96):  # the benchmarks take those beyond
        file = (Path(tempfile.gettempdir()) / f'izmp_test_domain_{domain}').open('w')
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            continue
        _domains.appendleft((domain, file))
        return


class Processes:
    """Starts nodes as processes of their own and stops them at the end."""

    def __init__(self, folder):
        left = (name for name in os.environ if not name.endswith('DEFAULT_PROFILES_FILE'))
        self.environment = {name: os.environ[name] for name in left} | {
            'ROS_DOMAIN_ID': str(free_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'ROS_LOG_DIR': str(folder),
        }
        self.folder = folder
        self.running = {}
        self.statuses = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def start(self, name, *parameters):
        arguments = [sys.executable, '-m', 'izmp_dynamics.nodes', name, '--ros-args']
        for parameter in (f'robot:={ROBOT}', *parameters):
            arguments += ['-p', parameter]
        with (self.folder / f'{name}.log').open('a') as log:
            self.running[name] = subprocess.Popen(
                arguments,
                env=self.environment,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def kill(self, name):
        os.killpg(self.running.pop(name).pid, signal.SIGKILL)

    def stop(self):
        for process in self.running.values():
            os.killpg(process.pid, signal.SIGTERM)
        for name, process in self.running.items():
            try:
                self.statuses[name] = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.statuses[name] = 'killed'
        self.running = {}
        return self.statuses

    def log(self, name):
        return (self.folder / f'{name}.log').read_text()


def _end_with_parent():
    """Let this process be killed when the tests are: its domain is free then."""
    set_death_signal = 1  # PR_SET_PDEATHSIG of Linux
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


@contextmanager
def probe(processes, namespace=''):
    """A node of this process in the domain of the others, spun in a thread."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from izmp_dynamics.nodes.process import discover_quickly

    context = rclpy.Context()
    with patched_environment(processes.environment):
        discover_quickly()
        rclpy.init(context=context, domain_id=int(processes.environment['ROS_DOMAIN_ID']))
        node = rclpy.create_node('probe', context=context, namespace=namespace)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=_spin, args=(executor,), daemon=True)
    thread.start()
    try:
        yield node
    finally:
        context.try_shutdown()
        thread.join(PATIENCE)
        node.destroy_node()


def _spin(executor):
    try:
        executor.spin()
    except Exception:  # the context may end wherever it is
        if executor.context.ok():
            raise


@contextmanager
def patched_environment(environment):
    before = os.environ.copy()
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Listener:
    """Collects the results that come over DDS, by topic: stamp → values.

    Attributes:
        matched: by topic, when its publishers were last found or lost [ns].
    """

    def __init__(self, node, topics):
        from rclpy.event_handler import SubscriptionEventCallbacks

        from izmp_dynamics.nodes.messages import stamp_of
        from izmp_dynamics.nodes.qos import RESULT

        self.values = defaultdict(dict)
        self.messages = defaultdict(list)
        self.matched = {}
        self.subscriptions = []

        def take(topic, message):
            self.messages[topic].append(message)
            if hasattr(message, 'header'):
                self.values[topic][stamp_of(message)] = numbers(message)

        def match(topic, _):
            self.matched[topic] = time.time_ns()

        for topic, msgtype in topics.items():
            self.subscriptions.append(
                node.create_subscription(
                    msgtype, topic, partial(take, topic), RESULT,
                    event_callbacks=SubscriptionEventCallbacks(matched=partial(match, topic)),
                )
            )  # fmt: skip


def all_finite(message):
    """Whether no number of a message is NaN or infinite."""
    if isinstance(message, float):
        return math.isfinite(message)
    if isinstance(message, list | tuple):
        return all(map(all_finite, message))
    if isinstance(message, np.ndarray | array.array):
        return bool(np.isfinite(message).all())
    fields = getattr(message, 'get_fields_and_field_types', dict)()
    return all(all_finite(getattr(message, name)) for name in fields)


def numbers(message):
    """The payload of a message as an array."""
    for name in ('point', 'vector'):
        if hasattr(message, name):
            value = getattr(message, name)
            return np.array([value.x, value.y, value.z])
    if hasattr(message, 'wrench'):
        force, torque = message.wrench.force, message.wrench.torque
        return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
    return np.array([])


def wait_until(condition):
    """Spin-free waiting; returns whether the condition came true."""
    end = _steady() + PATIENCE
    while _steady() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


PERIOD = 0.04
"""Time between the samples of the standing robot [s]."""

_STEP = round(PERIOD * 1e9)
STAMP_AT = 4
"""Where a serialized message with a header has its stamp: after the mark of the encoding."""


class StandingRobot:
    """Publishes the sensors of a robot that stands straight; faults can be switched on.

    The messages are serialized once; only their stamps are new in each sample.

    Attributes:
        fault: which; empty if there is none.
        offset: of the stamps against the clock [ns].
        last: newest sound stamp [ns].
        sent: stamps of all sound samples [ns].
        count: samples so far.
    """

    def __init__(self, node, robot):
        from geometry_msgs.msg import PointStamped, WrenchStamped
        from sensor_msgs.msg import Imu, JointState

        from izmp_dynamics.model.robot_model import load_model
        from izmp_dynamics.nodes.qos import SENSOR

        self.node, self.robot = node, robot
        self.model = load_model(robot.urdf_path, robot.root)
        self.fault, self.offset = '', 0
        self.last, self.sent, self.count = 0, [], 0
        self.wire = {}
        self.joints = node.create_publisher(JointState, 'joint_states', SENSOR)
        self.imu = node.create_publisher(Imu, 'imu', SENSOR)
        self.accelerometers = [
            node.create_publisher(Imu, sensor.topic, SENSOR) for sensor in robot.accelerometers
        ]
        self.gps = node.create_publisher(PointStamped, 'gps', SENSOR)
        self.feet = [
            node.create_publisher(WrenchStamped, foot.wrench.topic, SENSOR) for foot in robot.feet
        ]
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join(PATIENCE)

    def run(self):
        stamp = time.time_ns()
        while not self.stop.is_set():
            self.sample(stamp + self.offset)
            stamp = max(stamp + _STEP, time.time_ns() - _STEP)
            time.sleep(max(0.0, (stamp - time.time_ns()) * 1e-9))

    def sample(self, stamp):
        """Publish one sample of everything."""
        stamp = self.corrupted_stamp(stamp)
        for publisher, message in self.messages():
            publisher.publish(stamped(message, stamp))

    def corrupted_stamp(self, stamp):
        self.count += 1
        if self.fault == 'zero stamps' and self.count % 5 == 0:
            return 0
        self.last = stamp
        self.sent.append(stamp)
        return stamp

    def messages(self):
        """Publishers and serialized messages of the present fault."""
        fault = self.fault
        if fault not in self.wire:
            from rclpy.serialization import serialize_message

            self.wire[fault] = [
                (publisher, bytearray(serialize_message(message)))
                for publisher, message in self._messages(fault)
            ]
        return self.wire[fault]

    def _messages(self, fault):
        from geometry_msgs.msg import Point, PointStamped, Vector3, WrenchStamped
        from sensor_msgs.msg import Imu, JointState

        from izmp_dynamics.nodes.messages import header

        names = list(self.model.joint_names)[fault == 'joint disappears' :]
        yield self.joints, JointState(name=names, position=[0.0] * len(names))
        up = Vector3(z=float('nan') if fault == 'NaN' else self.robot.gravity)
        frame = 'somewhere' if fault == 'wrong frame' else 'imu_link'
        imu = Imu(header=header(0, frame), linear_acceleration=up)
        imu.orientation.w = 1.0
        if fault != 'no IMU':
            yield self.imu, imu
        for sensor, publisher in zip(self.robot.accelerometers, self.accelerometers, strict=True):
            force = Vector3(z=self.robot.gravity)
            yield publisher, Imu(header=header(0, sensor.frame), linear_acceleration=force)
        yield self.gps, PointStamped(header=header(0, 'world'), point=Point(z=1.0))
        weight = self.model.total_mass * self.robot.gravity
        for foot, publisher in zip(self.robot.feet, self.feet, strict=True):
            wrench = WrenchStamped(header=header(0, foot.wrench.frame))
            wrench.wrench.force.z = 0.5 * weight
            yield publisher, wrench

    def publish_joints(self, stamp, publisher=None):
        """Publish the joints alone."""
        _, message = self.messages()[0]
        (publisher or self.joints).publish(stamped(message, stamp))


def stamped(message, stamp):
    """Serialized message with a stamp [ns]."""
    message = message.copy()
    struct.pack_into('<iI', message, STAMP_AT, *divmod(stamp, 10**9))
    return bytes(message)


@contextmanager
def second_joint_publisher(robot, node):
    """Another node publishes the same joints, at a tenth of the rate."""
    from sensor_msgs.msg import JointState

    from izmp_dynamics.nodes.qos import SENSOR

    publisher = node.create_publisher(JointState, '/joint_states', SENSOR)
    stop = threading.Event()

    def run():
        while not stop.wait(10 * PERIOD):
            robot.publish_joints(robot.last + round(0.3e9 * PERIOD), publisher)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)
