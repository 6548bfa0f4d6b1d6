"""Nodes that take the URDF from robot_state_publisher instead of a path."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is missing')

import rclpy
from rclpy.parameter import Parameter
from std_msgs.msg import String

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes.qos import LATCHED
from izmp_dynamics.nodes.registry import node_class

from .node_processes import ROBOT, free_domain

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
def make(monkeypatch):
    """Make the node mr_ad with parameters."""
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    rclpy.init(args=['--ros-args', '--log-level', 'fatal'], domain_id=free_domain())
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
    rclpy.try_shutdown()


def test_the_parameter_is_taken_instead_of_the_file(make, other):
    heavier = make(robot_description=other).model.total_mass - make().model.total_mass
    assert heavier == pytest.approx(HEAVY)


def test_the_topic_is_taken_instead_of_the_file(make, other):
    publisher = rclpy.create_node('robot_state_publisher')
    publisher.create_publisher(String, 'robot_description', LATCHED).publish(String(data=other))
    taken = make(robot_description_topic='robot_description').model
    publisher.destroy_node()
    assert taken.total_mass - make().model.total_mass == pytest.approx(HEAVY)


def test_both_at_once_are_refused(make, other):
    with pytest.raises(IzmpError, match='both set'):
        make(robot_description=other, robot_description_topic='robot_description')


def test_what_is_no_urdf_is_refused(make):
    with pytest.raises(IzmpError, match='no URDF'):
        make(robot_description='<sdf/>')
