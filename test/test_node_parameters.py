"""Settings of the robot file as ROS parameters."""

import pytest

pytest.importorskip('rclpy', reason="rclpy is missing: pip install '.[ros]'")

import rclpy
from rclpy.parameter import Parameter

from izmp_dynamics.errors import RobotFileError
from izmp_dynamics.nodes.acd import Acd
from izmp_dynamics.nodes.health import ERROR, Health
from izmp_dynamics.nodes.parameters import setting_parameters, value_of, with_values
from izmp_dynamics.sensing.faults import Fault, Reason

from .node_processes import ROBOT, free_domain


@pytest.fixture(scope='module')
def acd():
    """The node acd in this process."""
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
    node = Acd(overrides=[Parameter('robot', value=str(ROBOT)), Parameter('acd.window', value=9)])
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_every_setting_is_declared_with_its_description_and_range(acd):
    for item in setting_parameters(('acd', 'rates', 'low_pass', 'pairing')):
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
        ('low_pass.cutoff', -1.0, 'low_pass.cutoff is -1.0; valid: 0.01 to'),
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


def test_a_node_without_a_robot_file_says_what_it_needs(acd):
    with pytest.raises(RobotFileError, match=r'needs the parameter robot.*-p robot:='):
        Acd()


def test_values_are_changed_together(biped31):
    changed = with_values(biped31, {'acd.window': 5, 'acd.degree': 4, 'gravity': 9.8})
    assert value_of(changed, 'acd.window') == 5
    assert changed.gravity == 9.8
    with pytest.raises(RobotFileError, match='window must be odd'):
        with_values(biped31, {'acd.window': 3, 'acd.degree': 4})


def test_diagnostics_name_the_worst_and_list_the_rest():
    health = Health('/acd', 'biped31', lambda topic: 0)
    health.count('joints', Reason.LOST, number=3)
    health.remark('rate', ERROR, 'The rate is odd.')
    status = health.status()
    assert status.level == ERROR
    assert status.message == 'The rate is odd.'
    values = {item.key: item.value for item in status.values}
    assert values['joints.lost'] == '3'
    assert Fault(Reason.LOST).text in values['finding joints.lost']
    assert 'finding joints.lost' not in {item.key for item in health.status().values}
