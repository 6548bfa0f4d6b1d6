"""Managed nodes: configured, activated, paused and cleaned up, by themselves or by a manager."""

import threading
import weakref

import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from izmp_dynamics.base.errors import IzmpError
from izmp_dynamics.nodes import graph_node
from izmp_dynamics.nodes.registry import node_class

from .command_line import loaded_by
from .node_processes import ROBOT, Processes, StandingRobot, probe, wait_until

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


@pytest.fixture
def make(ros):
    """Make a node; its parameters are given by name."""
    made = []

    def make(name, robot=ROBOT, **values):
        given = {'robot': str(robot)} | values
        overrides = [Parameter(key.replace('__', '.'), value=given[key]) for key in given]
        made.append(node_class(name)(overrides=overrides))
        return made[-1]

    yield make
    for node in made:
        node.destroy_node()


def entities(node):
    return [*node.publishers, *node.subscriptions]


def test_a_node_needs_nothing_that_only_pypi_has():
    """Nor what bags are read with."""
    arguments = ['--ros-args', '--log-level', 'fatal', '-p', f'robot:={ROBOT}']
    program = (
        'import rclpy; from izmp_dynamics.nodes.registry import node_class; '
        f'rclpy.init(args={arguments}); node_class("composed")().destroy_node()'
    )
    (modules,) = loaded_by(program)
    libraries = {module.partition('.')[0] for module in modules}
    assert 'numba' in libraries
    assert 'scipy.linalg' not in modules  # numba only looks whether it is there
    assert not libraries & {'rosbags', 'mcap', 'matplotlib', 'mujoco', 'shapely'}


def test_a_destroyed_node_has_left_the_graph(ros):
    node = node_class('mr_ad')(overrides=[Parameter('autostart', value=False)])
    other = Node('other')
    assert wait_until(lambda: {'mr_ad', 'other'} <= set(other.get_node_names()))
    node.destroy_node()
    names = other.get_node_names()
    other.destroy_node()
    assert 'other' in names
    assert 'mr_ad' not in names


@pytest.mark.parametrize('name', ['acd', 'izmp', 'composed'])
def test_cleanup_frees_what_configure_makes_and_configure_makes_it_again(make, name):
    node = make(name, autostart=False)
    before = len(entities(node))
    assert node.trigger_configure() == SUCCESS
    model, number = weakref.ref(node.model), len(entities(node))
    assert number > before
    assert node.trigger_cleanup() == SUCCESS
    assert model() is None
    assert len(entities(node)) == before
    assert node.trigger_configure() == SUCCESS
    assert len(entities(node)) == number


def test_a_node_is_active_at_once_unless_a_manager_is_to_do_it(make):
    assert make('mr_ad').is_active
    waiting = make('mr_ad', autostart=False)
    assert not waiting.is_active
    assert not waiting.is_configured
    with pytest.raises(IzmpError, match='There is no robot file'):
        make('mr_ad', 'absent.yaml')


def test_what_cannot_be_configured_stays_unconfigured_until_it_can(make, tmp_path):
    """The robot file is read by configure; a setting that was tried out is forgotten."""
    file = tmp_path / 'robot.yaml'
    node = make('acd', file, autostart=False)
    for text in ('acd: {method: wrong}', f'urdf: {ROBOT.with_name("absent.urdf")}'):
        file.write_text(text)
        assert node.trigger_configure() == FAILURE
        assert not node.is_configured
        assert not node.has_parameter('acd.method')
    file.write_text(
        ROBOT.read_text().replace('biped31.urdf', str(ROBOT.with_name('biped31.urdf')))
    )
    assert node.trigger_configure() == SUCCESS
    node.set_parameters([Parameter('acd.method', value='savitzky_golay')])
    assert node.robot.acd.method == 'savitzky_golay'
    assert node.trigger_cleanup() == SUCCESS
    assert node.trigger_configure() == SUCCESS
    assert node.robot.acd.method == node.get_parameter('acd.method').value == 'central'


def test_a_transition_that_the_state_does_not_allow_is_answered(make):
    """Where rclpy raises an error."""
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    node = make('mr_ad', autostart=False)
    (service,) = [each for each in node.services if each.srv_name.endswith('/change_state')]

    def change(number):
        request = ChangeState.Request(transition=Transition(id=number))
        return service.callback(request, ChangeState.Response()).success

    assert not change(Transition.TRANSITION_ACTIVATE)
    assert change(Transition.TRANSITION_CONFIGURE)
    assert not change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)


def test_new_settings_compile_while_messages_are_taken(make, monkeypatch):
    node, free = make('acd'), []

    def takes_a_message():
        free.append(node._lock.acquire(blocking=False))
        if free[-1]:
            node._lock.release()

    def compiles(rig, **what):
        receiver = threading.Thread(target=takes_a_message)
        receiver.start()
        receiver.join()
        assert rig.robot.acd.method == 'savitzky_golay'

    monkeypatch.setattr(graph_node, 'compile_stages', compiles)
    (result,) = node.set_parameters([Parameter('acd.method', value='savitzky_golay')])
    assert result.successful
    assert free[0]
    (result,) = node.set_parameters([Parameter('acd.method', value='backward')])
    assert 'valid: central, paper, savitzky_golay' in result.reason


def test_a_manager_starts_pauses_and_ends_the_graph(tmp_path, biped31):
    from geometry_msgs.msg import PointStamped
    from lifecycle_msgs.srv import ChangeState

    from izmp_dynamics.nodes.messages import stamp_of

    points = []
    with Processes(tmp_path) as processes, probe(processes) as node:
        processes.start('composed', 'autostart:=false')
        node.create_subscription(PointStamped, '/mr_ad/izmp', points.append, 1000)
        client = node.create_client(ChangeState, '/izmp_dynamics/change_state')
        assert wait_until(client.service_is_ready), processes.log('composed')

        def change(label):
            request = ChangeState.Request()
            request.transition.label = label
            future = client.call_async(request)
            assert wait_until(future.done), processes.log('composed')
            return future.result().success

        def listens():
            return node.count_subscribers('/joint_states') > 0

        def evaluates():
            """Whether results come, of now."""
            number = len(points)
            return wait_until(lambda: len(points) > number + 20)

        with StandingRobot(node, biped31) as robot:
            assert not listens()
            assert change('configure')
            assert wait_until(listens)
            assert not points
            assert change('activate')
            assert evaluates()
            assert change('deactivate')
            last, begin = robot.last, robot.count
            assert wait_until(lambda: robot.count > begin + 50)
            assert all(stamp_of(point) <= last for point in points)  # others were under way
            assert not change('configure')
            assert change('activate')
            assert evaluates()
            assert change('deactivate')
            assert change('cleanup')
            assert wait_until(lambda: not listens())
            assert change('configure')
            assert change('activate')
            assert evaluates()
            assert change('shutdown')
            assert wait_until(lambda: not listens())
    assert processes.statuses == {'composed': 0}
    assert 'Traceback' not in processes.log('composed')
