"""What `izmp live` looks at before it starts, and what it says."""

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import Mock

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import PointStamped
from std_msgs.msg import Float64

from izmp_dynamics.base.errors import BagError
from izmp_dynamics.model.robot_file import RobotFile
from izmp_dynamics.nodes.figures import FACTOR, LATE, Figures
from izmp_dynamics.nodes.health import Health
from izmp_dynamics.nodes.session import LiveSession, filter_sentence

ROBOT = RobotFile(urdf='robot.urdf')


def test_a_place_that_cannot_be_written_is_refused_before_ros_starts(tmp_path):
    file = tmp_path / 'file'
    file.touch()
    with pytest.raises(BagError, match='cannot be written: Not a directory'):
        LiveSession(tmp_path / 'robot.yaml', ROBOT, record=file / 'bag')
    with pytest.raises(BagError, match=f"'{tmp_path}' exists"):
        LiveSession(tmp_path / 'robot.yaml', ROBOT, record=tmp_path)
    assert not rclpy.ok()


def test_to_try_a_place_leaves_nothing_there(tmp_path):
    LiveSession(tmp_path / 'robot.yaml', ROBOT, record=tmp_path / 'new' / 'bag')
    assert not list(tmp_path.iterdir())


def test_it_is_said_which_filter_holds():
    assert filter_sentence(ROBOT).startswith('No filter is set: noise may move the margin')
    matched = replace(ROBOT, filter=replace(ROBOT.filter, half_width=0.016))
    assert 'by the matched filter of half-width 16 ms' in filter_sentence(matched)


@pytest.fixture
def takers():
    """Figures, and what takes the messages of each topic."""
    takers = dict[str, Callable]()
    node = Mock()
    node.create_subscription = lambda kind, topic, take, qos: takers.update({topic: take})
    return Figures(node), takers


@pytest.fixture
def said(takers):
    """Takes diagnostics of nodes (name, level, values); returns the summary."""
    figures, take = takers
    take['margin'](Float64(data=0.02))

    def say(*statuses):
        for name, level, values in statuses:
            pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
            status = DiagnosticStatus(name=name, level=level, values=pairs)
            take['/diagnostics'](DiagnosticArray(status=[status]))
        return figures.summary()

    return say


def test_nothing_is_said_if_all_is_in_time(said):
    graph = ('/izmp_dynamics', DiagnosticStatus.OK, {})
    simulation = ('/simulation', DiagnosticStatus.OK, {FACTOR: '0.98'})
    summary = said(graph, simulation)
    assert summary.startswith('Points: 0 IZMP')
    assert len(summary.splitlines()) == 3


def test_late_results_and_a_slow_simulation_are_said_in_words(said):
    late = 'Results are 0.52 s old (limit: 0.1 s): the computer is too slow.'
    graph = ('/izmp_dynamics', DiagnosticStatus.ERROR, {LATE: late})
    fresh = ('/izmp_dynamics', DiagnosticStatus.OK, {})
    begin = ('/simulation', DiagnosticStatus.OK, {FACTOR: '0.000'})
    slow = ('/simulation', DiagnosticStatus.WARN, {FACTOR: '0.230'})
    *_, third, fourth = said(fresh, begin, graph, slow, graph, slow).splitlines()
    assert third == f'Late in 2 of 3 s. {late}'
    assert fourth.startswith('The simulation ran at 0.23 of real time: ')


def test_what_the_graph_found_is_listed_at_the_end(said, takers):
    """But no faults of samples and no events, nor what held only for a moment at the start."""
    figures, take = takers
    light = 'The feet measure 68.8 % of the weight.'
    passing = {
        'finding position': 'There is no publisher of /gps.',
        'finding imu.no_sample': 'imu: no sample at this instant (5 times).',
        'finding feet[l_foot].lost': 'Lost.',
        'finding imu.raised': 'Raised.',
        'finding joints.joint_repaired[l_knee]': 'Repaired.',
        'finding no_message[/imu]': 'No message on /imu.',
        'finding push': 'Pushed.',
        'position': 'a value',
    }
    holds = {'finding mean_foot_force': light, 'finding imu': 'It reads 3.7 m/s².'}
    warn = DiagnosticStatus.WARN
    said(('/izmp_dynamics', warn, {'finding no_message[/imu]': 'No message so far.'}))
    take['mr_ad/izmp'](PointStamped())
    reports = [('/izmp_dynamics', warn, passing | holds)]
    del passing['finding position']
    reports += [('/izmp_dynamics', warn, {'finding mean_foot_force': 'Of before.'} | passing)]
    reports += [('/izmp_dynamics', warn, holds)]
    said(*reports)
    figures.over = True
    _, _, gap, first, *others = said(reports[0]).splitlines()
    assert gap.startswith('Largest gap')
    assert first == f'For 3 s: {light}'
    assert sorted(others) == [
        'For 2 s: It reads 3.7 m/s².',
        'For 2 s: Lost.',
        'For 2 s: No message on /imu.',
        'For 2 s: Raised.',
    ]


def test_the_age_of_a_result_follows_the_clock_of_a_simulation():
    ages, health = [], Health('node', 'robot', lambda topic: 0, now=lambda: 2 * 10**9)
    health.aged = ages.append
    health.published('/izmp', 10**9)
    health.published('/cop', 10**9)  # as old as the first result of that instant
    health.now = lambda: 4 * 10**9
    health.published('/izmp', 3 * 10**9 + 5 * 10**8)
    assert ages == [1.0, 0.5]
    assert health.outputs == {'/izmp': 2, '/cop': 1}
