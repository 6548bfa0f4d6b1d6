"""The plugin's ROS node: samples on the topics of the robot file, trajectories, sentences."""

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PointStamped, WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import Imu, JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from izmp_dynamics.nodes.messages import stamp_of, vector
from izmp_lab.nodes import webots_sink
from izmp_lab.simulation.simulated_run import ImuSignals, SensorSignals
from izmp_lab.simulation.webots.options import Options

from ..node_processes import free_domain, wait_until
from .walking import FILE

SAMPLE = SensorSignals(
    joint_names=('a', 'b'),
    stamps=np.array([4_000_000]),
    q=np.array([[1.0, 2.0]]),
    effort=None,
    imu=ImuSignals(
        np.array([[1.0, 2.0, 3.0]]), np.array([[4.0, 5.0, 6.0]]), np.array([[0.0, 0.0, 0.0, 1.0]])
    ),
    accelerometers={'accelerometers/accelerometer_2': np.array([[7.0, 8.0, 9.0]])},
    position=np.array([[0.1, 0.2, 0.3]]),
    wrenches={'l_foot/wrench': np.arange(6.0)[None]},
)


class Other:
    """Another node, on the other side."""

    def __init__(self, domain):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('other', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.messages = {}

    def listen(self, msgtype, topic):
        received = self.messages.setdefault(topic, [])
        self.node.create_subscription(msgtype, topic, received.append, 10)

    def until(self, condition):
        def spun():
            self.executor.spin_once(0.02)
            return condition()

        assert wait_until(spun)


@pytest.fixture
def domain(monkeypatch):
    taken = free_domain()
    monkeypatch.setenv('ROS_DOMAIN_ID', str(taken))
    return taken


@pytest.fixture
def other(domain):
    other = Other(domain)
    yield other
    other.context.shutdown()


@pytest.fixture
def sink(domain):
    made, origin = webots_sink.make_sink(Options.of(FILE, {'namespace': 'anna'}))
    assert origin == 0
    yield made
    made.close()
    assert not rclpy.ok()


def test_a_sample_is_published_with_one_stamp(sink, other):
    for msgtype, topic in (
        (JointState, '/anna/joint_states'), (Imu, '/anna/imu'), (PointStamped, '/anna/gps'),
        (Imu, '/anna/accelerometers/accelerometer_1'),
        (Imu, '/anna/accelerometers/accelerometer_2'),
        (WrenchStamped, '/anna/l_foot/wrench'), (WrenchStamped, '/anna/r_foot/wrench'),
    ):  # fmt: skip
        other.listen(msgtype, topic)
    got = other.messages
    other.until(lambda: sink.node.count_subscribers('/anna/gps') == 1)

    def published():
        sink.publish(SAMPLE)
        return all(
            got[f'/anna/{topic}'] for topic in ('joint_states', 'imu', 'gps', 'l_foot/wrench')
        )

    other.until(published)
    other.until(lambda: got['/anna/accelerometers/accelerometer_2'])
    assert {stamp_of(message) for messages in got.values() for message in messages} == {4_000_000}
    joints = got['/anna/joint_states'][0]
    assert (joints.name, list(joints.position), list(joints.effort)) == (
        ['a', 'b'],
        [1.0, 2.0],
        [],
    )
    imu = got['/anna/imu'][0]
    assert imu.header.frame_id == 'imu_link'
    assert vector(imu.linear_acceleration).tolist() == [4.0, 5.0, 6.0]
    wrench = got['/anna/l_foot/wrench'][0].wrench
    assert vector(wrench.force).tolist() == [0.0, 1.0, 2.0]
    assert vector(wrench.torque).tolist() == [3.0, 4.0, 5.0]
    assert got['/anna/accelerometers/accelerometer_1'] == []  # not in the sample
    assert got['/anna/r_foot/wrench'] == []


def test_a_trajectory_is_handed_on_once(sink, other):
    publisher = other.node.create_publisher(JointTrajectory, '/anna/joint_trajectory', 10)
    other.until(publisher.get_subscription_count)
    points = [
        JointTrajectoryPoint(
            positions=[0.1 * row, 0.2], velocities=[1.0, 0.0],
            time_from_start=Duration(sec=row, nanosec=500_000_000),
        )
        for row in range(3)
    ]  # fmt: skip
    publisher.publish(JointTrajectory(joint_names=['a', 'b'], points=points))
    taken = []

    def came():
        trajectory = sink.trajectory()
        if trajectory is not None:
            taken.append(trajectory)
        return bool(taken)

    other.until(came)
    (trajectory,) = taken
    assert trajectory.joint_names == ('a', 'b')
    assert trajectory.times.tolist() == [0.5, 1.5, 2.5]
    np.testing.assert_allclose(trajectory.positions[:, 0], [0.0, 0.1, 0.2])
    assert trajectory.velocities.shape == (3, 2)
    assert sink.trajectory() is None


def test_a_ragged_trajectory_becomes_one_that_is_refused(sink):
    message = JointTrajectory(
        joint_names=['a', 'b'], points=[JointTrajectoryPoint(positions=[1.0])]
    )
    sink._take(message)
    trajectory = sink.trajectory()
    assert np.isnan(trajectory.positions).all()
    assert trajectory.velocities is None


def test_listeners_count_after_a_while(sink, other, monkeypatch):
    monkeypatch.setattr(webots_sink, 'SUBSCRIBED', 0.2)
    assert not sink.listened()
    other.listen(JointState, '/anna/joint_states')
    other.until(sink.listened)


def test_without_simulated_time_stamps_are_of_today(domain):
    sink, origin = webots_sink.make_sink(Options.of(FILE, {'use_sim_time': 'false'}))
    assert origin > 1_700_000_000_000_000_000
    sink.close()
