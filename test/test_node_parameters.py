"""Parameters of the nodes: settings of the robot file, the URDF; and what diagnostics state."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import String

from izmp_dynamics.base.errors import IzmpError, RobotFileError
from izmp_dynamics.base.faults import Fault, Reason
from izmp_dynamics.nodes import health as health_module
from izmp_dynamics.nodes.health import AWAITED, ERROR, LEASE, OK, WARN, Health, Input
from izmp_dynamics.nodes.parameters import (
    setting_parameters,
    warn_of_unknown_parameters,
)
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.registry import SEPARATE, has, node_class
from izmp_dynamics.nodes.topic_node import TopicNode

from .node_processes import GRAPH, ROBOT


@pytest.fixture(scope='module')
def acd(ros):
    """The node acd in this process."""
    node = node_class('acd')(
        overrides=[Parameter('robot', value=str(ROBOT)), Parameter('acd.window', value=9)]
    )
    yield node
    node.destroy_node()


def test_every_setting_is_declared_with_its_description_and_range(acd):
    for item in setting_parameters(('acd', 'rates', 'pairing')):
        descriptor = acd.describe_parameter(item.name)
        assert item.metadata['description'] in descriptor.description
        assert item.metadata['unit'] in descriptor.description
    bus = acd.describe_parameter('rates.bus').floating_point_range[0]
    assert (bus.from_value, bus.to_value) == (1.0, 10_000.0)
    assert 'central' in acd.describe_parameter('acd.method').additional_constraints


def test_overrides_take_the_place_of_the_robot_file(acd):
    assert acd.robot.acd.window == 9
    assert acd.get_parameter('acd.method').value == 'central'


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('acd.method', 'best', "acd.method is 'best'; valid: central, paper, savitzky_golay"),
        ('acd.window', 8, 'window must be odd'),
        ('rates.actuator', -1.0, 'rates.actuator is -1.0; valid: '),
        ('rates.bus', 0.0, 'rates.bus'),
        ('robot', 'other.yaml', 'read-only'),
    ],
)
def test_a_bad_value_is_refused_with_the_reason(acd, name, value, reason):
    before = acd.robot
    (result,) = acd.set_parameters([Parameter(name, value=value)])
    assert not result.successful
    assert reason in result.reason
    assert acd.robot is before


def test_a_good_value_is_taken(acd):
    (result,) = acd.set_parameters([Parameter('rates.bus', value=250.0)])
    assert result.successful
    assert acd.robot.rates.bus == 250.0
    results = acd.set_parameters_atomically(
        [Parameter('acd.window', value=5), Parameter('acd.degree', value=4)]
    )
    assert results.successful
    assert (acd.robot.acd.window, acd.robot.acd.degree) == (5, 4)


@pytest.mark.parametrize(
    ('setting', 'others'),
    [
        ('filter.half_width', 'angular_acceleration, mr_ad, localizer, izmp'),
        ('pairing.max_gap', 'angular_acceleration, mr_ad, localizer, izmp'),
        ('acd.max_gap', 'ir_md'),
    ],
)
def test_what_holds_for_other_processes_as_well_is_refused(acd, setting, others):
    before, value = acd.robot, acd.get_parameter(setting).value
    (result,) = acd.set_parameters([Parameter(setting, value=0.2)])
    assert not result.successful
    assert f'also for {others}, which' in result.reason
    assert 'robot file' in result.reason
    assert 'composed:=true' in result.reason
    assert acd.robot is before
    assert acd.get_parameter(setting).value == value


def test_nodes_have_the_settings_that_they_use():
    """So that few hold for several nodes; these are the only ones."""
    names = {
        node: {item.name for item in setting_parameters(task.settings)}
        for node, task in SEPARATE.items()
    }
    assert tuple(names) == GRAPH
    shared = {
        name
        for node, mine in names.items()
        for other, theirs in names.items()
        if node != other
        for name in mine & theirs
    }
    assert shared == {
        'gravity', 'ir_md.difference', 'acd.max_gap', 'filter.half_width',
        'pairing.max_gap', 'noise.accelerometer', 'noise.gyroscope',
    }  # fmt: skip
    for node, mine in names.items():
        assert {name for name in set.union(*names.values()) if has(node, name)} == mine


@pytest.mark.parametrize('error', [TypeError, ValueError, ZeroDivisionError, KeyError])
def test_any_exception_in_the_callback_is_a_refusal(acd, error, monkeypatch):
    """Also one that is raised again when the old values are restored."""

    class Failing:
        """Raises whatever is done with it."""

        def __call__(self, *arguments):
            raise error('contrived')

        __contains__ = __call__

    before, value = acd.robot, acd.get_parameter('acd.window').value
    for place in ('configure', '_settings'):
        with monkeypatch.context() as patched:
            log = Mock()
            patched.setattr(acd, 'get_logger', lambda log=log: log)
            patched.setattr(acd, place, Failing())
            (result,) = acd.set_parameters([Parameter('acd.window', value=11)])
        assert not result.successful
        assert 'contrived' in result.reason
        assert error.__name__ in result.reason
        assert 'Traceback' in log.error.call_args_list[0].args[0]
        assert acd.robot is before
        assert acd.get_parameter('acd.window').value == value


def test_a_node_without_a_robot_file_says_what_it_needs(acd):
    with pytest.raises(RobotFileError, match=r'needs the parameter robot.*-p robot:='):
        node_class('acd')()


class Given:
    """A node to which parameters were given."""

    def __init__(self, *given):
        self._parameter_overrides = dict.fromkeys(given)
        self.own = {'acd.method': None, 'storage': None}
        self.has_parameter = self.own.__contains__
        self.log = Mock()

    def get_parameters_by_prefix(self, prefix):
        return self.own

    def get_logger(self):
        return self.log


@pytest.mark.parametrize(
    ('name', 'meant'),
    [
        ('filter.halfwidth', 'filter.half_width'),
        ('storag', 'storage'),
        ('robots', 'robot'),
        ('x', ''),
    ],
)
def test_a_parameter_that_does_not_exist_is_warned_of(name, meant):
    node = Given('acd.method', 'ground.source', 'use_sim_time', 'qos_overrides./a.b', name)
    warn_of_unknown_parameters(node)
    ((sentence,), _) = node.log.warning.call_args
    assert node.log.warning.call_count == 1
    assert sentence.startswith(f"There is no parameter '{name}', so it has no effect; ")
    assert (f"did you mean '{meant}'?" in sentence) == bool(meant)


class Watched:
    """Diagnostics by a clock of the test, of inputs that were asked for when they were added."""

    def __init__(self, monkeypatch):
        self.now, self.publishers = 1000.0, ['other']
        monkeypatch.setattr(health_module.time, 'monotonic', lambda: self.now)

    def of(self, *topics, **options):
        count, publishers = lambda topic: len(self.publishers), lambda topic: self.publishers
        self.health = Health('/izmp', 'biped', count, publishers, **options)
        self.inputs = [self.add(topic, sensor=True) for topic in topics]
        return self

    def add(self, topic, hint='start it.', **options):
        self.health.inputs.append(Input(topic, hint, last=self.now, **options))
        return self.health.inputs[-1]

    def status(self, later=0.0):
        self.now += later
        return self.health.status()

    def values(self, later=0.0):
        return {item.key: item.value for item in self.status(later).values}


@pytest.fixture
def watched(monkeypatch):
    return Watched(monkeypatch)


def test_diagnostics_name_the_worst_and_list_the_rest(watched):
    watched.of().health.count('joints', Reason.LOST, number=3)
    watched.health.remark('rate', 'error', 'The rate is odd.')
    status = watched.status()
    assert (status.level, status.message) == (ERROR, 'The rate is odd.')
    values = {item.key: item.value for item in status.values}
    assert values['joints.lost'] == '3'
    assert Fault(Reason.LOST).text in values['finding joints.lost']
    assert 'finding joints.lost' not in watched.values()


@pytest.mark.parametrize('composed', [True, False])
def test_what_is_advised_against_late_results_is_not_done_already(watched, composed):
    watched.of(composed=composed).health.aged(0.5)
    watched.now += 3.0
    watched.health.aged(0.5)
    late = watched.values()['finding late']
    assert ('Set composed:=true, lower the rates' in late) != composed
    assert 'ower the rates of the sensors or rates.bus' in late


def test_what_a_signal_lacked_before_its_first_sample_is_counted_without_a_finding(watched):
    entry = watched.of().add('/gps', signal='position')
    for stamp, number, found in ((10**9, '28', False), (4 * 10**9, '56', True)):
        entry.received(stamp)
        watched.health.count('position', Reason.NO_SAMPLE, number=28)
        values = watched.values()
        assert values['position.no_sample'] == number
        assert ('finding position.no_sample' in values) == found


def test_a_node_that_is_started_twice_publishes_twice():
    """Unlike one that has two publishers on the topic."""
    publishers = ((1, 1), (1, 2), (2, 1))  # process, and publisher there
    infos = [
        SimpleNamespace(
            node_namespace='/', node_name='driver', endpoint_gid=[process] * 12 + [0, 0, writer, 3]
        )
        for process, writer in publishers
    ]
    node = SimpleNamespace(get_publishers_info_by_topic=lambda topic: infos)
    assert TopicNode.publishers_of(node, '/joint_states') == ['/driver', '/driver']


def test_nodes_of_one_name_are_two_when_none_can_be_a_killed_one(watched):
    watched.of('/joint_states')
    one, same, other = '/driver', '/driver', '/second/driver'
    for nodes, later, mixed in (
        ([one, same], 0.0, False), ([one, same], LEASE - 1.0, False), ([one, same], 1.0, True),
        ([one], 1.0, False),  # the killed one is forgotten
        ([one, same], 1.0, False),  # and started again
        ([one, other], 1.0, True),
    ):  # fmt: skip
        watched.publishers = nodes
        watched.now += later
        watched.inputs[0].received(1)
        assert ('2 nodes publish /joint_states' in watched.status().message) == mixed


@pytest.mark.parametrize('came', [False, True])
def test_a_node_that_has_had_results_and_lost_its_publisher_does_not_start(watched, came):
    entry = watched.of(runs=lambda node: node == 'acd').add('/joint_kinematics', 'acd')
    watched.publishers = []
    if came:
        entry.received(1)
    status = watched.status(2 * AWAITED)
    assert status.level == (ERROR if came else OK)
    assert ('start the node acd.' if came else 'The node acd starts') in status.message


def test_topics_on_which_nothing_comes_are_named_together(watched):
    watched.of().publishers = []
    for topic in ('/joint_states', '/imu'):
        watched.add(topic, required=topic != '/imu')
    watched.health.remark('position', 'warning', 'There is no publisher of /gps.', '/gps')
    status = watched.status(5.0)
    assert status.message.startswith('No message on /gps, /joint_states, /imu: start what')
    assert sum(item.key.startswith('finding') for item in status.values) == 3
    assert 'No message on /gps, /joint_states, /imu' in watched.status(AWAITED).message
    watched.health.clear('position')
    watched.health.inputs.pop()
    assert watched.status().message.startswith('No message on /joint_states so far. It has no')


def test_what_has_never_come_is_an_error_only_after_a_while(watched):
    entry = watched.of().add('/joint_states')
    watched.now += 60.0  # the start compiled
    watched.health.begin()
    assert watched.status().level == OK
    status = watched.status(AWAITED - 0.1)
    assert status.level == OK
    assert status.message.startswith('No message on /joint_states so far.')
    assert watched.status(0.1).level == ERROR
    watched.health.begin()  # deactivated and activated again
    assert watched.status(5.0).level == OK
    entry.received(0)
    assert watched.status().level == OK
    assert watched.status(2.0).level == ERROR  # it came and stopped


@pytest.fixture
def at_work(watched):
    """Sensors and joint kinematics come until 1000.0 s, /clock until a quarter of a second later.

    The function gives the status at a later time: whether /clock goes on, what comes until then,
    and whether /clock still has a publisher.
    """

    def status(later, goes_on=False, coming=(), publishers=('player',)):
        watched.of('/imu', '/l_foot/wrench').publishers = publishers
        watched.inputs.append(watched.add('/joint_kinematics'))
        watched.health.outputs['/mr_ad/izmp'] = 3
        for entry in watched.inputs:
            entry.received(1)
        for look in range(round(4 * later) + 1):  # every quarter of a second
            watched.now += 0.25
            passed = round(1e9 * watched.now) if goes_on and look else 0
            watched.health.see_clock(10**9 + passed)
        for entry in watched.inputs:
            if entry.topic in coming:
                entry.received(2)
        return watched.status()

    return status


@pytest.mark.parametrize('later', [0.75, 2.0, 60.0])
def test_after_a_recording_no_message_is_missing(at_work, later):
    """Nor where another node hands out its last result a while later."""
    for coming in ((), ('/joint_kinematics',)):
        status = at_work(later, coming=coming)
        assert status.level == OK
        over = {item.key: item.value for item in status.values}.get('finding clock', '')
        assert ('a recording is over' in over) == (later > 1.0)
        assert status.message == ('waiting' if later > 1.0 else 'working')


@pytest.mark.parametrize(
    ('case', 'silent'),
    [
        ({'goes_on': True}, '/imu, /l_foot/wrench, /joint_kinematics'),
        ({'coming': ['/imu']}, '/l_foot/wrench, /joint_kinematics'),
    ],
)
def test_a_silent_sensor_is_an_error_while_time_goes_on_or_others_publish(at_work, case, silent):
    status = at_work(2.0, **case)
    assert status.level == ERROR
    assert f'No message on {silent}' in status.message


def test_when_a_simulation_goes_on_what_is_silent_has_a_second(watched):
    """Also where it is paused again, as one that makes single steps."""
    watched.of('/imu').inputs[0].received(1)
    stamp = 10**9
    for step in (0, 1, 0, 1, 0):
        stamp += step
        watched.health.see_clock(stamp)
        assert watched.status().level == OK
        for _ in range(200):
            watched.now += 0.25
            watched.health.see_clock(stamp)
        assert watched.status().level == OK
    for _ in range(5):
        stamp += 1
        watched.now += 0.25
        watched.health.see_clock(stamp)
    assert watched.status().level == ERROR


def test_a_simulation_that_has_died_is_said(at_work):
    """But not while a launch ends one process after the other."""
    assert at_work(AWAITED - 1.0, publishers=()).level == OK
    status = at_work(AWAITED, publishers=())
    assert status.level == WARN
    assert status.message.startswith('/clock has not advanced for 30 s: it has no publisher')


HEAVY = 1.5
"""What the first link of the other robot is heavier by [kg]."""


@pytest.fixture
def other(biped31):
    """The text of another URDF than the robot file names, and by how much it is heavier."""
    text = biped31.urdf_path.read_text(encoding='utf-8')
    before, mark, after = text.partition('<mass value="')
    mass, _, rest = after.partition('"')
    return f'{before}{mark}{float(mass) + HEAVY}"{rest}'


@pytest.fixture
def make(ros):
    """Make the node mr_ad with parameters."""
    nodes = []

    def make(**values):
        values = {'robot': str(ROBOT), **values}
        nodes.append(
            node_class('mr_ad')(overrides=[Parameter(name, value=v) for name, v in values.items()])
        )
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


def test_the_parameter_is_taken_instead_of_the_file(make, other):
    heavier = make(robot_description=other).model.total_mass - make().model.total_mass
    assert heavier == pytest.approx(HEAVY)


def test_the_topic_is_taken_instead_of_the_file(make, other):
    publisher = rclpy.create_node('robot_state_publisher')
    publisher.create_publisher(String, 'robot_description', LATCHED).publish(String(data=other))
    taken = make(robot_description_topic='robot_description').model
    publisher.destroy_node()
    assert taken.total_mass - make().model.total_mass == pytest.approx(HEAVY)


def test_two_urdfs_at_once_and_what_is_none_are_refused(make, other):
    with pytest.raises(IzmpError, match='both set'):
        make(robot_description=other, robot_description_topic='robot_description')
    with pytest.raises(IzmpError, match='not a URDF'):
        make(robot_description='<sdf/>')
