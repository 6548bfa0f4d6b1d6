"""Faults, with real processes: the graph goes on, publishes no NaN, and says what is wrong."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
pytest.importorskip('visualization_msgs', reason='the message packages of ROS are missing')

from izmp_dynamics.sensing.faults import Reason

from .node_processes import (
    GRAPH,
    Listener,
    Processes,
    StandingRobot,
    all_finite,
    probe,
    wait_until,
)

SECOND = 10**9  # [ns]


def outputs():
    """Every topic that the graph publishes, but for TF."""
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import (
        AccelStamped,
        PointStamped,
        PolygonStamped,
        TwistStamped,
        Vector3Stamped,
        WrenchStamped,
    )
    from nav_msgs.msg import Odometry
    from std_msgs.msg import Float64
    from trajectory_msgs.msg import JointTrajectory
    from visualization_msgs.msg import MarkerArray

    return {
        '/mr_ad/izmp': PointStamped,
        '/ir_md/izmp': PointStamped,
        '/cop': PointStamped,
        '/com': PointStamped,
        '/mr_ad/contact_wrench': WrenchStamped,
        '/ir_md/contact_wrench': WrenchStamped,
        '/feet/contact_wrench': WrenchStamped,
        '/external_wrench': WrenchStamped,
        '/mr_ad/momentum_rate': WrenchStamped,
        '/ir_md/momentum_rate': WrenchStamped,
        '/joint_kinematics': JointTrajectory,
        '/root_acceleration': AccelStamped,
        '/root_twist': TwistStamped,
        '/odom': Odometry,
        '/support_polygon': PolygonStamped,
        '/margin': Float64,
        '/gap': Vector3Stamped,
        '/markers': MarkerArray,
        '/diagnostics': DiagnosticArray,
    }


@pytest.fixture(scope='module')
def graph(biped31, tmp_path_factory):
    """All nodes as processes of their own, and a robot that stands."""
    processes = Processes(tmp_path_factory.mktemp('faults'))
    with processes, probe(processes) as node:
        for name in GRAPH:
            processes.start(name)
        listener = Listener(node, outputs())
        robot = StandingRobot(node, biped31)
        with robot:
            assert wait_until(lambda: listener.messages['/ir_md/izmp'], 60), 'no result'
            yield processes, listener, robot


def goes_on(listener, topic='/mr_ad/izmp', timeout=30.0):
    """Whether new results come."""
    before = len(listener.messages[topic])
    return wait_until(lambda: len(listener.messages[topic]) > before + 20, timeout)


def told(listener, words, since, timeout=30.0):
    """Whether the diagnostics since then hold the words."""

    def found():
        return any(
            words in value
            for message in listener.messages['/diagnostics'][since:]
            for status in message.status
            if status.level != b'\x00'
            for value in (status.message, *(item.value for item in status.values))
        )

    return wait_until(found, timeout)


def diagnostics(listener):
    """How many diagnostics there are so far."""
    return len(listener.messages['/diagnostics'])


def heard_again(listener, name, since, timeout=60.0):
    """Stamp from which on a node has heard all its inputs, as it says itself [ns].

    Args:
        listener: has its diagnostics.
        name: of the node.
        since: how many diagnostics are from before its start.
    """

    def stamps():
        for message in listener.messages['/diagnostics'][since:]:
            for status in message.status:
                inputs = [item.value for item in status.values if item.key.endswith(' in')]
                if status.name == f'/{name}' and all('since stamp' in text for text in inputs):
                    return [text.rpartition(' ')[2] for text in inputs]
        return []

    assert wait_until(stamps, timeout), f'{name} does not hear all its inputs'
    return max(int(sec) * SECOND + int(rest) for sec, rest in (s.split('.') for s in stamps()))


MISSED = {
    'acd': 'No message on /joint_kinematics',
    'angular_acceleration': 'No message on /root_acceleration',
    'mr_ad': 'No message on /mr_ad/contact_wrench',
    'localizer': 'No message on /odom',
    'ir_md': 'No message on /ir_md/contact_wrench',
}


@pytest.mark.parametrize('name', GRAPH)
def test_a_killed_node_is_missed_and_comes_back(graph, name):
    """Less than a second of the data is lost from when the new process hears its inputs."""
    processes, listener, _ = graph
    topic = '/ir_md/izmp' if name in ('localizer', 'ir_md') else '/mr_ad/izmp'
    since = diagnostics(listener)
    processes.kill(name)
    if name in MISSED:
        assert told(listener, MISSED[name], since)
        assert told(listener, f'start the node {name}', since)
    before, since = max(listener.values[topic]), diagnostics(listener)
    processes.start(name)
    discovered = heard_again(listener, name, since)
    assert wait_until(lambda: max(listener.values[topic]) > before, 60.0)
    first = min(stamp for stamp in listener.values[topic] if stamp > before)
    assert first - discovered < SECOND
    assert goes_on(listener, '/ir_md/izmp', 60.0)
    assert goes_on(listener)


FAULTS = {
    'joint disappears': f'l_hip_yaw: {Reason.JOINT_FAULTY.text}',
    'NaN': Reason.NOT_FINITE.text,
    'zero stamps': Reason.STAMP_UNSET.text,
    'duplicates': Reason.STAMP_TWICE.text,
    'out of order': Reason.STAMP_BACKWARDS.text,
    'wrong frame': "name the frame 'somewhere'",
    'no IMU': 'No message on /imu',
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_of_the_sensors_is_told_and_passes(graph, fault):
    _, listener, robot = graph
    since = diagnostics(listener)
    robot.fault = fault
    assert told(listener, FAULTS[fault], since), fault
    if fault == 'no IMU':  # for ten seconds
        end = robot.last + 10 * SECOND
        assert wait_until(lambda: robot.last > end, 60.0)
    robot.fault = ''
    assert goes_on(listener)
    assert goes_on(listener, '/ir_md/izmp')
    assert goes_on(listener, '/cop')


def test_a_clock_that_is_set_back_begins_anew(graph):
    _, listener, robot = graph
    since, today = diagnostics(listener), time.time()
    robot.offset -= 100 * 10**9
    assert told(listener, Reason.CLOCK_SET_BACK.text, since)
    assert goes_on(listener, '/ir_md/izmp', 60.0)
    robot.offset += 100 * 10**9
    assert wait_until(lambda: listener.messages['/mr_ad/izmp'][-1].header.stamp.sec > today - 50)
    assert goes_on(listener)


def test_a_burst_of_ten_queues_passes(graph):
    """80 s of all sensors at once: what the queues cannot hold is counted, the newest counts."""
    from izmp_dynamics.nodes.qos import DEPTH

    _, listener, robot = graph
    since = diagnostics(listener)
    robot.burst = 10 * DEPTH
    assert wait_until(lambda: robot.burst == 0, 60.0)
    end = robot.last
    assert told(listener, 'came in a burst', since)
    assert told(listener, 'message lost', since)
    assert wait_until(lambda: max(listener.values['/mr_ad/izmp']) > end, 60.0)
    assert wait_until(lambda: max(listener.values['/ir_md/izmp']) > end, 60.0)
    assert goes_on(listener)


def test_two_publishers_of_the_same_joints_are_told(graph, biped31):
    from .node_processes import second_joint_publisher

    processes, listener, robot = graph
    since = diagnostics(listener)
    with probe(processes) as other, second_joint_publisher(robot, other):
        assert told(listener, '2 nodes publish /joint_states', since)
    assert goes_on(listener)


def test_after_all_that_no_nan_was_published_and_nobody_crashed(graph):
    processes, listener, _ = graph
    for topic in outputs():
        messages = list(listener.messages[topic])
        assert messages, topic
        assert all(map(all_finite, messages)), topic
    for name, process in processes.running.items():
        assert process.poll() is None, processes.log(name)
        assert 'Traceback' not in processes.log(name)


def test_a_standing_robot_has_its_izmp_below_its_com(graph, biped31):
    """After all that, the numbers are still right."""
    from izmp_dynamics.model.robot_model import load_model

    _, listener, _ = graph
    since = len(listener.messages['/mr_ad/izmp'])
    assert wait_until(lambda: len(listener.messages['/mr_ad/izmp']) > since + 20)
    point = listener.messages['/mr_ad/izmp'][-1].point
    model = load_model(biped31.urdf_path, biped31.root)
    com = model.com(np.zeros(model.dof))
    np.testing.assert_allclose([point.x, point.y], com[:2], atol=1e-3)
