"""Faults, with real processes: the graph goes on, publishes no NaN, and says what is wrong."""

import time

import numpy as np
import pytest

from izmp_dynamics.model.robot_model import load_model
from izmp_dynamics.nodes.messages import message_class
from izmp_dynamics.results.topics import TOPICS

from .node_processes import (
    GRAPH,
    PERIOD,
    Listener,
    Processes,
    StandingRobot,
    all_finite,
    probe,
    second_joint_publisher,
    wait_until,
)

SECOND = 10**9  # [ns]


OTHERS = {
    'support_polygon': 'geometry_msgs/msg/PolygonStamped',
    'markers': 'visualization_msgs/msg/MarkerArray',
    'diagnostics': 'diagnostic_msgs/msg/DiagnosticArray',
}
ELSEWHERE = (
    'feet/contact_probability',
    'feet/estimated_wrenches',
    'fall_probability',
    'fall_alarm',
)


def outputs():
    """Topics of results with their types; those on a moving ground are not published here.

    What motion and feet say together is the composed node's alone.
    """
    here = [t for t in TOPICS.values() if t.frame != 'ground' and t.part != 'fusion']
    found = {topic.name: topic.msgtype for topic in here}
    found = {name: kind for name, kind in found.items() if name not in ELSEWHERE} | OTHERS
    return {f'/{name}': message_class(kind) for name, kind in found.items()}


PATIENT = 'result_age_limit:=1000.0'
"""However slow the computer is, no message is skipped because it is old."""


@pytest.fixture(scope='module')
def graph(biped31, tmp_path_factory):
    """All nodes as processes of their own, what listens to them, and a robot that stands."""
    processes = Processes(tmp_path_factory.mktemp('faults'))
    with processes, probe(processes) as node:
        for name in GRAPH:
            processes.start(name, PATIENT)
        listener = Listener(node, outputs())
        robot = StandingRobot(node, biped31)
        with robot:
            assert wait_until(lambda: listener.messages['/ir_md/izmp']), 'no result'
            yield processes, listener, robot


def goes_on(listener, topic='/mr_ad/izmp'):
    """Whether new results come."""
    before = len(listener.messages[topic])
    return wait_until(lambda: len(listener.messages[topic]) > before + 20)


def found(listener, key, since):
    """Whether the diagnostics since then have a finding of this key."""

    def is_there():
        return any(
            item.key == f'finding {key}'
            for message in listener.messages['/diagnostics'][since:]
            for status in message.status
            if status.level != b'\x00'
            for item in status.values
        )

    return wait_until(is_there)


def diagnostics(listener):
    """How many diagnostics there are so far."""
    return len(listener.messages['/diagnostics'])


def received_again(listener, since):
    """Stamp from which on every node has received all its inputs, by their diagnostics [ns].

    They report once a second, so it may be as much late where one of them lacked an input. The
    diagnostics after the first `since` are those from the start of the node that was killed.
    """
    stamps = []

    def are_complete():
        newest = {}
        for message in listener.messages['/diagnostics'][since:]:
            for status in message.status:
                newest[status.name] = {item.key: item.value for item in status.values}
        inputs = [
            value
            for values in newest.values()
            for key, value in values.items()
            if key.endswith(' in')
        ]
        complete = newest.keys() == {f'/{name}' for name in GRAPH} and not any(
            key.startswith('finding no_message') for values in newest.values() for key in values
        )
        if not complete or not all('since stamp' in text for text in inputs):
            return False
        stamps.extend(text.rpartition(' ')[2] for text in inputs)
        return True

    assert wait_until(are_complete), 'not all nodes receive all their inputs'
    began = max(int(sec) * SECOND + int(rest) for sec, rest in (s.split('.') for s in stamps))
    return max([began, *(report + SECOND for report in lacking(listener, since))])


def lacking(listener, since):
    """Stamps of the reports in which a node lacks an input [ns], whose samples may come late."""
    for message in listener.messages['/diagnostics'][since:]:
        items = [item for status in message.status for item in status.values]
        if any(
            item.key.startswith('finding no_message')
            or (item.key.endswith(' in') and 'since stamp' not in item.value)
            for item in items
        ):
            yield message.header.stamp.sec * SECOND + message.header.stamp.nanosec


MISSED = {'acd': '/joint_kinematics', 'localizer': '/odom'}
"""The topic that others miss while a node does not run."""


def test_killed_nodes_are_missed_and_come_back(graph):
    """Less than a second of the samples is lost from when all receive their inputs again."""
    processes, listener, robot = graph
    topics, since = ('/mr_ad/izmp', '/ir_md/izmp'), diagnostics(listener)
    for name in MISSED:
        processes.kill(name)
    for topic in MISSED.values():
        assert found(listener, f'no_message[{topic}]', since)
    before, since = [max(listener.values[topic]) for topic in topics], diagnostics(listener)
    for name in MISSED:
        processes.start(name, PATIENT)
    for topic, last in zip(topics, before, strict=True):
        assert wait_until(lambda t=topic, last=last: max(listener.values[t]) > last)
    complete = received_again(listener, since)
    for topic, last in zip(topics, before, strict=True):
        discovered = max(complete, listener.matched[topic])
        first = min(stamp for stamp in list(listener.values[topic]) if stamp > last)
        assert sum(discovered <= stamp < first for stamp in robot.sent) * PERIOD < 1.0
        assert goes_on(listener, topic)


FAULTS = {
    'joint disappears': 'joints.joint_faulty[l_hip_yaw]',
    'NaN': 'imu.not_finite',
    'zero stamps': 'joints.stamp_unset',
    'wrong frame': 'frame[/imu]',
    'no IMU': 'no_message[/imu]',
}
"""Fault of the sensors → key of the finding."""


@pytest.mark.parametrize('fault', FAULTS)
def test_a_fault_of_the_sensors_is_reported_and_passes(graph, fault):
    _, listener, robot = graph
    since = diagnostics(listener)
    robot.fault = fault
    assert found(listener, FAULTS[fault], since), fault
    if fault == 'no IMU':  # for longer than anything is waited for
        end = robot.last + 3 * SECOND
        assert wait_until(lambda: robot.last > end)
    robot.fault = ''
    assert goes_on(listener)
    assert goes_on(listener, '/ir_md/izmp')
    assert goes_on(listener, '/cop')


def test_a_clock_that_is_set_back_resets_the_nodes(graph):
    _, listener, robot = graph
    since, today = diagnostics(listener), time.time()
    robot.offset -= 100 * 10**9
    assert found(listener, 'joints.clock_set_back', since)
    assert goes_on(listener, '/ir_md/izmp')
    robot.offset += 100 * 10**9
    assert wait_until(lambda: listener.messages['/mr_ad/izmp'][-1].header.stamp.sec > today - 50)
    assert goes_on(listener)


def test_two_publishers_of_the_same_joints_are_reported(graph):
    processes, listener, robot = graph
    since = diagnostics(listener)
    with probe(processes, '/second') as other, second_joint_publisher(robot, other):
        assert found(listener, 'publishers[/joint_states]', since)
    assert goes_on(listener)


def test_the_odometry_of_another_node_is_reported_and_left_out(graph):
    """With its own frames and stamps, as any mobile robot has it on this topic."""
    from nav_msgs.msg import Odometry

    from izmp_dynamics.nodes.messages import header

    processes, listener, robot = graph
    since = diagnostics(listener)
    with probe(processes, '/base') as other:
        publisher = other.create_publisher(Odometry, '/odom', 10)
        beside = []

        def goes_on_beside():
            stamp = robot.last + SECOND // 2  # by a clock of its own
            publisher.publish(Odometry(header=header(stamp, 'odom'), child_frame_id='base_link'))
            if listener.messages['/odom'][-1].child_frame_id == 'base_link' or beside:
                beside.append([len(listener.messages[f'/{m}/izmp']) for m in ('mr_ad', 'ir_md')])
            return beside and beside[-1][0] > beside[0][0] + 100

        assert wait_until(goes_on_beside)
        of_mr_ad, of_ir_md = np.subtract(beside[-1], beside[0])
        assert of_ir_md > 0.8 * of_mr_ad
        assert found(listener, 'publishers[/odom]', since)


def test_after_all_that_the_numbers_are_right_and_nobody_crashed(graph, biped31):
    """A standing robot has its IZMP below its CoM; no NaN was published."""
    processes, listener, robot = graph
    assert goes_on(listener)
    assert not any('fusion' in name for name, _ in robot.node.get_topic_names_and_types())
    point = listener.messages['/mr_ad/izmp'][-1].point
    model = load_model(biped31.urdf_path, biped31.root)
    com = model.com(np.zeros(model.dof))
    np.testing.assert_allclose([point.x, point.y], com[:2], atol=1e-3)
    for topic in outputs():
        messages = list(listener.messages[topic])
        assert messages, topic
        assert all(map(all_finite, messages)), topic
    for name, process in processes.running.items():
        assert process.poll() is None, processes.log(name)
        assert 'Traceback' not in processes.log(name)
