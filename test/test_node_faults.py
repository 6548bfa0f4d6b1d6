"""Faults, with real processes: the graph goes on, publishes no NaN, and says what is wrong."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")
pytest.importorskip('visualization_msgs', reason='the message packages of ROS are missing')

from .node_processes import GRAPH, Listener, Processes, StandingRobot, probe, wait_until


@pytest.fixture(scope='module')
def graph(biped31, tmp_path_factory):
    """All nodes as processes of their own, and a robot that stands."""
    from diagnostic_msgs.msg import DiagnosticArray
    from geometry_msgs.msg import PointStamped, WrenchStamped

    processes = Processes(tmp_path_factory.mktemp('faults'))
    with processes, probe(processes) as node:
        for name in GRAPH:
            processes.start(name)
        topics = dict.fromkeys(('/mr_ad/izmp', '/ir_md/izmp', '/cop'), PointStamped)
        topics |= {'/mr_ad/contact_wrench': WrenchStamped, '/diagnostics': DiagnosticArray}
        listener = Listener(node, topics)
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


@pytest.mark.parametrize('name', GRAPH)
def test_a_killed_node_is_missed_and_comes_back(graph, name):
    processes, listener, _ = graph
    since = diagnostics(listener)
    processes.kill(name)
    missed = {
        'acd': 'No message on /joint_kinematics',
        'angular_acceleration': 'No message on /root_acceleration',
        'mr_ad': 'No message on /mr_ad/contact_wrench',
        'localizer': 'No message on /odom',
        'ir_md': 'No message on /ir_md/contact_wrench',
    }
    if name in missed:
        assert told(listener, missed[name], since)
        assert told(listener, f'start the node {name}', since)
    processes.start(name)
    assert goes_on(listener, '/ir_md/izmp', 60.0)
    assert goes_on(listener)


FAULTS = {
    'joint disappears': 'no trustworthy value at this instant',
    'NaN': 'value is not finite',
    'zero stamps': 'stamp is zero or negative',
    'duplicates': 'stamp occurs twice',
    'out of order': 'stamp is older than the sample before',
    'wrong frame': "name the frame 'somewhere'",
    'no IMU': 'No message on /imu',
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_of_the_sensors_is_told_and_passes(graph, fault):
    _, listener, robot = graph
    since = diagnostics(listener)
    robot.fault = fault
    assert told(listener, FAULTS[fault], since), fault
    robot.fault = ''
    assert goes_on(listener)
    assert goes_on(listener, '/cop')


def test_a_clock_that_is_set_back_begins_anew(graph):
    _, listener, robot = graph
    since, today = diagnostics(listener), time.time()
    robot.offset -= 100 * 10**9
    assert told(listener, 'time went back', since)
    assert goes_on(listener, '/ir_md/izmp', 60.0)
    robot.offset += 100 * 10**9
    assert wait_until(lambda: listener.messages['/mr_ad/izmp'][-1].header.stamp.sec > today - 50)
    assert goes_on(listener)


def test_a_burst_passes(graph):
    """Ten times as many messages as can be true at once, all with good stamps."""
    _, listener, robot = graph
    robot.burst = 500
    assert wait_until(lambda: robot.burst == 0)
    assert goes_on(listener)


def test_two_publishers_of_the_same_joints_are_told(graph, biped31):
    from .node_processes import second_joint_publisher

    _, listener, robot = graph
    since = diagnostics(listener)
    with second_joint_publisher(robot):
        assert told(listener, '2 nodes publish /joint_states', since)
    assert goes_on(listener)


def test_after_all_that_no_nan_was_published_and_nobody_crashed(graph):
    processes, listener, _ = graph
    for topic in ('/mr_ad/izmp', '/ir_md/izmp', '/cop', '/mr_ad/contact_wrench'):
        values = np.array(list(listener.values[topic].values()))
        assert len(values)
        assert np.isfinite(values).all()
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
